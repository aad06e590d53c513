import { linkLimitGBps } from "../../results/device-facts.js";
import type { DeviceExamination, DeviceMeasurements } from "../examination.js";
import type { PciPort } from "../facts/pci-path.js";

/** A link on a device's path: its present speed, and the best that both ends support. */
export interface PathLink {
  /** Address of the end nearer to the device: "0000:01:00.0". */
  below: string;
  /** The end nearer to the CPU; null if sysfs does not show it. */
  above: string | null;
  isDevices: boolean;
  now: LinkSpeed;
  best: LinkSpeed;
}

interface LinkSpeed {
  generation: number | null;
  width: number | null;
}

/** Whether copies bypass PCIe: the device is part of the CPU's chip or connected by NVLink-C2C. */
export function copiesPastPcie({ facts, health }: Pick<DeviceExamination, "facts" | "health">): boolean {
  return facts.integrated || ((health.before ?? health.underLoad)?.c2cLinks ?? 0) > 0;
}

/** Copies faster than a link's limit by this factor refute its reported speed; smaller excesses may be clock errors. */
const mostOfLimit = 1.05;

/** Whether copies were faster than this link speed allows, so that it is wrong. */
export function isRefuted(speed: LinkSpeed, { pinned, nodes }: MeasuredRates): boolean {
  const rates = [pinned, ...nodes.map(({ rates }) => rates)].flatMap(({ h2d, d2h }) => [h2d ?? 0, d2h ?? 0]);
  return Math.max(...rates) > (limitOf(speed) ?? Number.POSITIVE_INFINITY) * mostOfLimit;
}

type MeasuredRates = Pick<DeviceMeasurements, "pinned" | "nodes">;

/** Speed of the device's own link under load; null if unknown or refuted by faster copies. */
export function speedNow({
  facts,
  health,
  path,
  measured,
}: Pick<DeviceExamination, "facts" | "health" | "path" | "measured">): {
  generation: number;
  width: number;
} | null {
  const link = health.underLoad?.link ?? facts.link;
  const generation = link?.generation ?? path.ports[0]?.generation ?? null;
  const width = link?.width ?? path.ports[0]?.width ?? null;
  const isKnown = generation !== null && width !== null && !isRefuted({ generation, width }, measured);
  return isKnown ? { generation, width } : null;
}

/**
 * A device's links up to the root port, and their limits in GB/s, each null if unknown. NVML's speed under load
 * replaces that of sysfs for the device's own link, which may be lower at rest. Leaves out links refuted by the
 * measured rates: hypervisors invent bridges.
 */
export function linksOf({
  health,
  path: { ports },
  measured,
}: Pick<DeviceExamination, "health" | "path" | "measured">) {
  const [device] = ports;
  const underLoad = health.underLoad?.link ?? null;
  const refuted: string[] = [];
  const ifPossible = (where: string, speed: LinkSpeed): LinkSpeed => {
    if (!isRefuted(speed, measured)) return speed;
    refuted.push(`${where}: ${speedText(speed)}`);
    return { generation: null, width: null };
  };
  const own: PathLink = {
    below: device?.name ?? "the device",
    above: ports[1]?.name ?? null,
    isDevices: true,
    // The port above reports the same link, and its own best speed is the slot's.
    now: {
      generation: underLoad?.generation ?? null,
      width: underLoad?.width ?? lesser(device?.width, ports[1]?.width),
    },
    best: {
      generation: lesser(underLoad?.maxGeneration ?? device?.maxGeneration, ports[1]?.maxGeneration),
      width: lesser(underLoad?.maxWidth ?? device?.maxWidth, ports[1]?.maxWidth),
    },
  };
  const links = [own, ...linksAbove(ports)].map((link) => ({
    ...link,
    now: ifPossible(link.below, link.now),
    best: ifPossible(link.below, link.best),
  }));
  const cardSpeed = ifPossible("the card", {
    generation: health.underLoad?.cardMaxGeneration ?? device?.maxGeneration ?? null,
    // NVML knows only the best of card and slot together.
    width: device?.maxWidth ?? underLoad?.maxWidth ?? null,
  });
  return {
    links,
    /** Lowest limit of all links, now and at best. */
    asIs: leastLimit(links.map(({ now }) => now)),
    best: leastLimit(links.map(({ best }) => best)),
    /** Limit of card and slot, without bridges above the slot; expectations refer to it. */
    expectedFor: limitOf(
      ifPossible("card and slot", {
        generation: underLoad?.maxGeneration ?? device?.maxGeneration ?? null,
        width: underLoad?.maxWidth ?? device?.maxWidth ?? null,
      }),
    ),
    /** The card's limit in the best slot. */
    card: limitOf(cardSpeed),
    cardSpeed,
    /** Ignored links, because copies were faster: "0000:15:00.0: gen1 x1". */
    refuted: [...new Set(refuted)],
  };
}

/**
 * Links above the device's own one, which ends at the first port above. Each switch has an upstream port, whose link
 * leads to a downstream port of the next switch or to the root port. There is no link within a switch.
 */
function linksAbove(ports: readonly PciPort[]): PathLink[] {
  const links: PathLink[] = [];
  for (let i = 2; i + 1 < ports.length; i += 2) {
    const [below, above] = [ports[i]!, ports[i + 1]!];
    links.push({
      below: below.name,
      above: above.name,
      isDevices: false,
      now: {
        generation: lesser(below.generation, above.generation),
        width: lesser(below.width, above.width),
      },
      best: {
        generation: lesser(below.maxGeneration, above.maxGeneration),
        width: lesser(below.maxWidth, above.maxWidth),
      },
    });
  }
  return links;
}

export function lesser(a: number | null | undefined, b: number | null | undefined): number | null {
  if (a == null || b == null) return a ?? b ?? null;
  return Math.min(a, b);
}

/** Rate limit of a link in GB/s; null if unknown. */
export function limitOf({ generation, width }: LinkSpeed): number | null {
  return linkLimitGBps(generation, width);
}

function leastLimit(speeds: readonly LinkSpeed[]): number | null {
  const limits = speeds.flatMap((speed) => limitOf(speed) ?? []);
  return limits.length === 0 ? null : Math.min(...limits);
}

/** "gen5 x16"; unknown parts are left out. */
export function speedText({ generation, width }: LinkSpeed): string {
  return [generation === null ? null : `gen${generation}`, width === null ? null : `x${width}`]
    .filter((part) => part !== null)
    .join(" ");
}
