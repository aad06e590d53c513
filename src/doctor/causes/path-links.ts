import { linkLimitGBps } from "../../results/device-facts.js";
import type { DeviceExamination, DeviceMeasurements } from "../examination.js";
import type { PciPort } from "../facts/pci-path.js";

/** One link of a device's path, with what it has now and what both its ends support together. */
export interface PathLink {
  /** "0000:01:00.0" of the end that is nearer to the device. */
  below: string;
  /** The end that is nearer to the CPU; null where sysfs does not show it. */
  above: string | null;
  isDevices: boolean;
  now: LinkSpeed;
  best: LinkSpeed;
}

/** PCIe generation and width, each null where it is not known. */
export interface LinkSpeed {
  generation: number | null;
  width: number | null;
}

/** A device's links, with limits in GB/s, each null where it is not known. */
export interface PathLinks {
  links: readonly PathLink[];
  /** The least of all links as they are, and as they could be. */
  asIs: number | null;
  best: number | null;
  /** What card and slot could do together, whatever lies above the slot: what an expectation is for. */
  expectedFor: number | null;
  /** Of the card in the best slot. */
  card: number | null;
  cardSpeed: LinkSpeed;
  /** What is said of links, and is left out here, as copies were faster than it allows: "0000:15:00.0: gen1 x1". */
  refuted: readonly string[];
}

/** Copies do not use PCIe: the device is part of the CPU's chip, or joined to it by NVLink-C2C. */
export function copiesPastPcie({ facts, health }: Pick<DeviceExamination, "facts" | "health">): boolean {
  return facts.integrated || ((health.before ?? health.underLoad)?.c2cLinks ?? 0) > 0;
}

/** Largest error of a clock; copies faster than a link by more show that the link is another one. */
const mostOfLimit = 1.05;

/** Whether copies were faster than such a link can carry, so that it cannot be theirs. */
export function isRefuted(speed: LinkSpeed, { pinned, nodes }: MeasuredRates): boolean {
  const rates = [pinned, ...nodes.map(({ rates }) => rates)].flatMap(({ h2d, d2h }) => [h2d ?? 0, d2h ?? 0]);
  return Math.max(...rates) > (limitOf(speed) ?? Number.POSITIVE_INFINITY) * mostOfLimit;
}

type MeasuredRates = Pick<DeviceMeasurements, "pinned" | "nodes">;

/**
 * A device's links, from its own up to the root port. What NVML says of the device's own, under load, goes before what
 * sysfs does: at rest, devices lower its speed. Hypervisors make bridges up, with links that carry nothing: what the
 * measured rates refute is left out.
 */
export function linksOf({
  health,
  path: { ports },
  measured,
}: Pick<DeviceExamination, "health" | "path" | "measured">): PathLinks {
  const [device] = ports;
  const underLoad = health.underLoad?.link ?? null;
  const refuted: string[] = [];
  const ifPossible = (where: string, speed: LinkSpeed): LinkSpeed => {
    if (!isRefuted(speed, measured)) return speed;
    refuted.push(`${where}: ${speedText(speed)}`);
    return { generation: null, width: null };
  };
  const told: PathLink = {
    below: device?.name ?? "the device",
    above: ports[1]?.name ?? null,
    isDevices: true,
    // The port above tells the same of this link, and its own best is the slot's.
    now: {
      generation: underLoad?.generation ?? null,
      width: underLoad?.width ?? lesser(device?.width, ports[1]?.width),
    },
    best: {
      generation: lesser(underLoad?.maxGeneration ?? device?.maxGeneration, ports[1]?.maxGeneration),
      width: lesser(underLoad?.maxWidth ?? device?.maxWidth, ports[1]?.maxWidth),
    },
  };
  const links = [told, ...linksAbove(ports)].map((link) => ({
    ...link,
    now: ifPossible(link.below, link.now),
    best: ifPossible(link.below, link.best),
  }));
  const cardSpeed = ifPossible("the card", {
    generation: health.underLoad?.cardMaxGeneration ?? device?.maxGeneration ?? null,
    // NVML has only what card and slot can do together.
    width: device?.maxWidth ?? underLoad?.maxWidth ?? null,
  });
  return {
    links,
    asIs: leastLimit(links.map(({ now }) => now)),
    best: leastLimit(links.map(({ best }) => best)),
    expectedFor: limitOf(
      ifPossible("card and slot", {
        generation: underLoad?.maxGeneration ?? device?.maxGeneration ?? null,
        width: underLoad?.maxWidth ?? device?.maxWidth ?? null,
      }),
    ),
    card: limitOf(cardSpeed),
    cardSpeed,
    refuted: [...new Set(refuted)],
  };
}

/**
 * Above the device's own link, which ends at the first port above it, each switch has an upstream port whose link leads to
 * the next one's downstream port or to the root port. In between, within the switch, there is no link.
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

/** The lesser of two that may not be known; null where neither is. */
function lesser(a: number | null | undefined, b: number | null | undefined): number | null {
  if (a == null || b == null) return a ?? b ?? null;
  return Math.min(a, b);
}

/** What a link of that speed carries, in GB/s; null where it is not known. */
export function limitOf({ generation, width }: LinkSpeed): number | null {
  return linkLimitGBps(generation, width);
}

function leastLimit(speeds: readonly LinkSpeed[]): number | null {
  const limits = speeds.flatMap((speed) => limitOf(speed) ?? []);
  return limits.length === 0 ? null : Math.min(...limits);
}

/** "gen5 x16"; what is not known is left out. */
export function speedText({ generation, width }: LinkSpeed): string {
  return [generation === null ? null : `gen${generation}`, width === null ? null : `x${width}`]
    .filter((part) => part !== null)
    .join(" ");
}
