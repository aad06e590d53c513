import type { Cost } from "../diagnosis.js";
import { betterRates, type DeviceExamination, type Rates, shortfallGBps } from "../examination.js";
import { linksOf } from "./path-links.js";

/** The directions that a device's link carries. */
export const linkDirections = ["h2d", "d2h"] as const;
export type LinkDirection = (typeof linkDirections)[number];

export const directionName: Readonly<Record<LinkDirection, string>> = {
  h2d: "to the device",
  d2h: "from the device",
};

/** What a device's copies are called where nothing else is said of them. */
export function nameOf({ facts }: DeviceExamination): string {
  return `device ${facts.ordinal} (${facts.name})`;
}

/** Rates of one machine's nodes that differ by less may do so by chance, or where a reference's tolerance is narrower, by that. */
const nodeTolerance = 0.1;

/** What is lost in each direction, in GB/s; null or 0 where nothing is, or where it is not known. */
export type Losses = Partial<Readonly<Record<LinkDirection, number | null>>>;

/**
 * The losses as one cost: of both directions, with the lesser loss, where the other loses at most twice as much; else of the
 * direction that loses more. Null where nothing is lost.
 */
export function costOf(losses: Losses, basis: Cost["basis"], copies: Cost["copies"] = "pinned"): Cost | null {
  const [toDevice, fromDevice] = [losses.h2d ?? 0, losses.d2h ?? 0];
  const [least, most] = [Math.min(toDevice, fromDevice), Math.max(toDevice, fromDevice)];
  if (!(most > 0)) return null;
  if (least * 2 >= most) return { direction: "both", gigabytesPerSecond: least, basis, copies };
  return { direction: toDevice > fromDevice ? "h2d" : "d2h", gigabytesPerSecond: most, basis, copies };
}

/**
 * What a direction loses to `gain` times what is expected, in GB/s; null within the reference's tolerance, and where it is
 * not known.
 */
export function lossOf(
  { expected, measured, reference = null }: DeviceExamination,
  direction: LinkDirection,
  gain: number,
): number | null {
  const wanted = expected[direction] === null ? null : expected[direction] * gain;
  return shortfallGBps({ expected: { ...expected, [direction]: wanted }, measured, reference }, direction);
}

/** A NUMA node with which copies are faster. */
export interface FasterNode {
  node: number;
  /** By how many GB/s, each direction at least 0. */
  gains: Readonly<Record<LinkDirection, number>>;
}

/**
 * The node that gains most over the device's own, of which the first copies were too, or over where the system placed
 * these; null where none gains more than chance.
 */
export function findFasterNode({
  measured,
  path,
  reference,
}: Pick<DeviceExamination, "measured" | "path" | "reference">): FasterNode | null {
  const own = measured.nodes
    .filter(({ node }) => node === path.numaNode)
    .reduce((best, { rates }) => betterRates(best, rates), measured.pinned);
  const gainOf = (rates: Rates, direction: LinkDirection) =>
    Math.max(0, (rates[direction] ?? 0) - (own[direction] ?? Number.POSITIVE_INFINITY));
  const [best] = measured.nodes
    .map(({ node, rates }) => ({ node, gains: { h2d: gainOf(rates, "h2d"), d2h: gainOf(rates, "d2h") } }))
    .sort((a, b) => b.gains.h2d + b.gains.d2h - (a.gains.h2d + a.gains.d2h));
  const isMore = (direction: LinkDirection) =>
    best !== undefined &&
    best.gains[direction] > (own[direction] ?? 0) * Math.min(reference?.tolerance ?? 1, nodeTolerance);
  return best !== undefined && linkDirections.some(isMore) ? best : null;
}

/**
 * How far pinned copies are below what a healthy machine reaches, beyond what the link as it is, or another NUMA node,
 * explains already; null for a direction where they are not, or where it is not known.
 */
function unexplainedLosses(device: DeviceExamination): Losses {
  const { asIs, expectedFor } = linksOf(device);
  const linkShare = asIs === null || expectedFor === null ? 1 : Math.min(1, asIs / expectedFor);
  const gains = findFasterNode(device)?.gains ?? { h2d: 0, d2h: 0 };
  const { expected, measured, reference = null } = device;
  const lossIn = (direction: LinkDirection) => {
    const [wanted, found] = [expected[direction], measured.pinned[direction]];
    if (wanted === null || found === null) return null;
    return shortfallGBps(
      {
        expected: { ...expected, [direction]: wanted * linkShare },
        measured: { ...measured, pinned: { ...measured.pinned, [direction]: found + gains[direction] } },
        reference,
      },
      direction,
    );
  };
  return { h2d: lossIn("h2d"), d2h: lossIn("d2h") };
}

/** Whether copies are slower than the link as it is, and another NUMA node, explain. */
export function isSlow(device: DeviceExamination): boolean {
  const { h2d, d2h } = unexplainedLosses(device);
  return Math.max(h2d ?? 0, d2h ?? 0) > 0;
}

/** Whether it is known that copies reach, in each direction that was measured, what a healthy machine does. */
export function reachesExpectation(device: DeviceExamination): boolean {
  const known = linkDirections.filter(
    (direction) => device.expected[direction] !== null && device.measured.pinned[direction] !== null,
  );
  return known.length > 0 && known.every((direction) => shortfallGBps(device, direction) === null);
}

/** A rate for people, rounded down, so that none looks better than it is: "27.3 GB/s", "0.98 GB/s". */
export function gigabytes(rateGBps: number): string {
  const scale = rateGBps >= 10 ? 10 : 100;
  return `${(Math.floor(rateGBps * scale * (1 + 1e-12)) / scale).toFixed(Math.log10(scale))} GB/s`;
}

/** The rates of both directions for people: "27.3 GB/s to the device, 25.0 GB/s back"; what is not known is left out. */
export function ratesText({ h2d, d2h }: Pick<Rates, LinkDirection>): string {
  const parts = [
    h2d === null ? null : `${gigabytes(h2d)} to the device`,
    d2h === null ? null : `${gigabytes(d2h)} back`,
  ];
  return parts.filter((part) => part !== null).join(", ") || "not measured";
}
