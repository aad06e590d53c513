import { counted } from "../draw/words.js";
import { linkLimitGBps } from "../results/device-facts.js";
import { kindName } from "./cells-together.js";
import { cellText } from "./fleet-wording.js";
import { cellOfKey, type DeviceFigures, kindOf, type NodeFigures, type NodeGroup } from "./node-figures.js";

/** Rounding and overlapping samples may exceed the limit by this factor. */
const tolerated = 1.02;

/**
 * The group's nodes without the figures of GPUs whose pinned copies mostly exceed the limit of the group's widest link: the
 * clock of such a machine is wrong. If more than half of the GPUs exceed the limit, the link is misread, and all figures
 * count.
 */
export function withoutImpossible(group: NodeGroup): readonly NodeFigures[] {
  const { nodes } = group;
  const { limit, exceeding, isMost } = excess(group);
  if (exceeding.size === 0 || isMost) return nodes;
  return nodes.map((node) => {
    const wrong = node.devices.filter((device) => exceeding.has(device));
    if (wrong.length === 0) return node;
    const keysOf = new Map(wrong.map((device) => [device, impossibleKeys(device, limit)]));
    const figures = wrong.flatMap((device) =>
      keysOf.get(device)!.map((key) => ({ key, figure: device.figures.get(key)! })),
    );
    const most = figures.reduce((one, other) => (other.figure > one.figure ? other : one));
    const which = wrong.length === 1 ? "" : "up to ";
    const impossible = `GPU ${wrong.map(({ ordinal }) => ordinal).join(", ")}: ${which}${+most.figure.toPrecision(3)} GB/s in ${cellText(kindOf(most.key))} is more than its link carries (${+limit.toPrecision(3)} GB/s), so ${figures.length === 1 ? "this figure does" : `${figures.length} such figures do`} not count; look at the machine's clock`;
    const devices = node.devices.map((device) => {
      const keys = keysOf.get(device) ?? [];
      return { ...device, figures: new Map([...device.figures].filter(([key]) => !keys.includes(key))) };
    });
    return { ...node, devices, impossible };
  });
}

/** The limit of the widest link of a group in GB/s, and the GPUs that exceed it; none if the link is unknown. */
function excess({ nodes }: NodeGroup) {
  const all = nodes.flatMap(({ devices }) => devices);
  const limits = all.flatMap(
    ({ linkCapability: link }) => linkLimitGBps(link?.generation ?? null, link?.width ?? null) ?? [],
  );
  const limit = limits.reduce((most, one) => Math.max(most, one), 0);
  const exceeding = new Set(limits.length === 0 ? [] : all.filter((device) => hasWrongClock(device, limit)));
  return { limit, exceeding, isMost: 2 * exceeding.size > all.length };
}

/** A sentence on a group of which most GPUs exceed their link; none without. */
export function misreadLink(group: NodeGroup): string[] {
  const { limit, exceeding, isMost } = excess(group);
  if (!isMost) return [];
  return [
    `${counted(exceeding.size, "GPU")} copied more than their link carries (${+limit.toPrecision(3)} GB/s): NVML misreports the link, or the clocks are wrong, so shares of healthy rates are not valid.`,
  ];
}

function impossibleKeys({ figures }: DeviceFigures, limit: number): string[] {
  return [...figures].flatMap(([key, figure]) => {
    if (figure <= tolerated * limit) return [];
    const { moved, unit } = kindOf(key);
    const crossesLink = (moved === "h2d" || moved === "d2h") && cellOfKey(key).memory !== "device";
    return unit === "GB/s" && crossesLink ? [key] : [];
  });
}

/** A wrong clock makes all copies faster: most of the fast ones, which are pinned. A single figure is noise, and shows how wide that is. */
function hasWrongClock(device: DeviceFigures, limit: number): boolean {
  const pinned = [...device.figures.keys()].filter((key) => kindName({ kind: kindOf(key) }) === "pinned");
  return 2 * impossibleKeys(device, limit).length > pinned.length;
}
