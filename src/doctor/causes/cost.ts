import { formatGBps } from "../../draw/numbers.js";
import type { Cost } from "../diagnosis.js";
import {
  betterRates,
  type DeviceExamination,
  eachWay,
  type LinkDirection,
  linkDirections,
  type Rates,
  shortfallGBps,
} from "../examination.js";
import { linksOf } from "./path-links.js";

export const directionName: Readonly<Record<LinkDirection, string>> = {
  h2d: "to the device",
  d2h: "from the device",
};

/** A device's name in sentences. */
export function nameOf({ facts }: DeviceExamination): string {
  return `device ${facts.ordinal} (${facts.name})`;
}

/** Smaller relative differences between NUMA nodes may be chance, unless the reference's tolerance is narrower. */
const nodeTolerance = 0.1;

/** Losses in GB/s by direction; 0 or null without one, or if unknown. */
type Losses = Partial<Readonly<Record<LinkDirection, number | null>>>;

/**
 * Joins the losses of both directions into one cost: the smaller loss for both, if the larger is at most twice that;
 * otherwise the larger one for its direction. Null without a loss.
 */
export function costOf(losses: Losses, basis: Cost["basis"], copies: Cost["copies"] = "pinned"): Cost | null {
  const [toDevice, fromDevice] = [losses.h2d ?? 0, losses.d2h ?? 0];
  const [least, most] = [Math.min(toDevice, fromDevice), Math.max(toDevice, fromDevice)];
  if (!(most > 0)) return null;
  if (least * 2 >= most) return { direction: "both", gigabytesPerSecond: least, basis, copies };
  return { direction: toDevice > fromDevice ? "h2d" : "d2h", gigabytesPerSecond: most, basis, copies };
}

/**
 * The NUMA node with the largest gain over the first copies and over the device's own node, in GB/s and at least 0 for
 * each direction; null if no gain exceeds chance.
 */
export function findFasterNode({
  measured,
  path,
  reference,
}: Pick<DeviceExamination, "measured" | "path" | "reference">) {
  const own = measured.nodes
    .filter(({ node }) => node === path.numaNode)
    .reduce((best, { rates }) => betterRates(best, rates), measured.pinned);
  const gainOf = (rates: Rates, direction: LinkDirection) =>
    Math.max(0, (rates[direction] ?? 0) - (own[direction] ?? Number.POSITIVE_INFINITY));
  const [best] = measured.nodes
    .map(({ node, rates }) => ({ node, gains: eachWay((way) => gainOf(rates, way)) }))
    .sort((a, b) => b.gains.h2d + b.gains.d2h - (a.gains.h2d + a.gains.d2h));
  const isMore = (direction: LinkDirection) =>
    best !== undefined &&
    best.gains[direction] > (own[direction] ?? 0) * Math.min(reference?.tolerance ?? 1, nodeTolerance);
  return best !== undefined && linkDirections.some(isMore) ? best : null;
}

/** Whether copies are slower than the present link and NUMA node explain. */
export function isSlow(device: DeviceExamination): boolean {
  const { asIs, expectedFor } = linksOf(device);
  const share = asIs === null || expectedFor === null ? 1 : Math.min(1, asIs / expectedFor);
  const gains = findFasterNode(device)?.gains;
  return linkDirections.some(
    (direction) => shortfallGBps(device, direction, { share, gainGBps: gains?.[direction] ?? 0 }) !== null,
  );
}

/** Whether copies reach a healthy machine's rate in both directions; false if unknown. */
export function reachesExpectation(device: DeviceExamination): boolean {
  const { expected, measured } = device;
  return linkDirections.every(
    (way) => expected[way] !== null && measured.pinned[way] !== null && shortfallGBps(device, way) === null,
  );
}

export function gigabytes(rateGBps: number): string {
  return `${formatGBps(rateGBps)} GB/s`;
}

/** The rates of both directions in words: "27.3 GB/s to the device, 25.0 GB/s back"; unknown ones are left out. */
export function ratesText({ h2d, d2h }: Rates): string {
  const parts = [
    h2d === null ? null : `${gigabytes(h2d)} to the device`,
    d2h === null ? null : `${gigabytes(d2h)} back`,
  ];
  return parts.filter((part) => part !== null).join(", ") || "not measured";
}
