import type { OtherProgram } from "../host/other-programs.js";
import type { DeviceActivity, DeviceFacts, DeviceHealth } from "../native/device-contract.js";
import { leastLostShare } from "../results/over-time.js";
import { median } from "../stats/order-statistics.js";
import type { Found } from "./diagnosis.js";
import type { MachineFacts } from "./facts/machine-facts.js";
import type { PciPath } from "./facts/pci-path.js";

/**
 * Facts and measurements of a machine, in which causes are looked for. Rates are decimal GB/s; unknown values are null.
 */
export interface Examination {
  emulated: boolean;
  machine: MachineFacts;
  devices: readonly DeviceExamination[];
  /** Experiments that were left out, and why: "copies from pageable memory of device 1: no time was left". */
  omitted?: readonly string[];
  /** Why the driver does not start; null if it does. Then there are no devices. */
  startFailure?: Found | null;
}

/** The directions over a device's link. */
export const linkDirections = ["h2d", "d2h"] as const;
export type LinkDirection = (typeof linkDirections)[number];

/** What `of` says of each direction. */
export function eachWay<T>(of: (way: LinkDirection) => T): Record<LinkDirection, T> {
  return { h2d: of("h2d"), d2h: of("d2h") };
}

/** A figure, most often a rate, for each direction; null if not measured. */
export type Rates = Readonly<Record<LinkDirection, number | null>>;

export interface DeviceExamination {
  facts: DeviceFacts;
  path: PciPath;
  /** NVML's report before the first copy, in the middle of many, and afterwards; null without one. */
  health: { before: DeviceHealth | null; underLoad: DeviceHealth | null; after: DeviceHealth | null };
  /** Errors counted by the path's ports during copies; null if sysfs does not count them. */
  correctableErrors: number | null;
  /** Other programs that have the device open; null if unknown. */
  others: readonly OtherProgram[] | null;
  /** The limit of the link under load. */
  limitGBps: number | null;
  /** The rate of healthy machines with this GPU and link for plain pinned copies. */
  expected: Rates;
  /** The same while all devices copy; absent if that was not recorded for this number of devices. */
  expectedTogether?: Rates;
  /** The source of the expectation, and how far below it copies are still healthy (0.05 is 5 %); null without one. */
  reference: { source: string; tolerance: number } | null;
  measured: DeviceMeasurements;
  /** Its activity for other processes just before the examination; null if NVML does not report it. */
  activityBefore: DeviceActivity | null;
  /** Number of compared copies with wrong data. */
  wrongCopies: number;
  copied?: CopyCounts;
  /** Why the examination is incomplete, as a clause: "cuMemcpy… failed with …"; null if it is complete. */
  failure: string | null;
  /** What failed; "other" without a failure. */
  failureKind: FailureKind;
}

/**
 * What failed: the device itself; memory ran out, on the device or the host; another process holds the device, or its
 * compute mode forbids contexts; another device, whose failure ended all; or something else.
 */
export type FailureKind = "device" | "memory" | "in-use" | "another" | "other";

/** Copies whose rates count, how many of these were compared, and all bytes that the link carried meanwhile. */
export interface CopyCounts {
  made: number;
  proven: number;
  /** Compared copies of one direction. */
  provenH2d: number;
  provenD2h: number;
  bytes: number;
}

/** What copies reached, and what is expected of them. */
export type Compared = Pick<DeviceExamination, "expected" | "expectedTogether" | "measured" | "reference">;

/** Tolerance for expectations without their own: a larger relative drop of pinned copies is not chance. */
export const usualTolerance = 0.05;

/**
 * How many GB/s plain pinned copies of a direction are below healthy machines, or below `share` of their rate, if they
 * were faster by `gainGBps`; null within the reference's tolerance, or if either figure is unknown.
 */
export function shortfallGBps(
  { expected, measured, reference }: Compared,
  direction: LinkDirection,
  { share = 1, gainGBps = 0 } = {},
): number | null {
  const [usual, found] = [expected[direction], measured.pinned[direction]];
  if (usual === null || found === null) return null;
  return beyond(usual * share, found + gainGBps, reference?.tolerance ?? usualTolerance);
}

/** The same for copies of all devices at once. They were recorded on only one machine, so the tolerance is doubled. */
export function shortfallTogetherGBps(
  { expectedTogether, measured, reference }: Compared,
  direction: LinkDirection,
): number | null {
  const [usual, found] = [expectedTogether?.[direction] ?? null, measured.together?.[direction] ?? null];
  if (usual === null || found === null) return null;
  return beyond(usual, found, 2 * (reference?.tolerance ?? 0));
}

function beyond(usual: number, found: number, tolerance: number): number | null {
  return usual - found > usual * tolerance ? usual - found : null;
}

/**
 * The higher rate of each direction, of two measurements of the same copies. A disturbance only slows copies down,
 * because their link limits them. So the higher median is closer to the machine's rate, and a fault lowers both.
 */
export function betterRates(first: Rates, second: Rates): Rates {
  return eachWay((way) => {
    const [a, b] = [first[way], second[way]];
    return a === null || b === null ? (a ?? b) : Math.max(a, b);
  });
}

/**
 * The share of time lost to slow copies, from the rates of samples with equal bytes: 1 - bytes over time / median. 0 if
 * a single sample was slow, as an interrupt causes on any machine; null without samples.
 */
export function slowShareOf(rates: readonly number[]): number | null {
  if (rates.length === 0) return null;
  const shareOf = (some: readonly number[]) =>
    1 - some.length / some.reduce((sum, rate) => sum + 1 / rate, 0) / median(some);
  const withoutSlowest = rates.toSorted((a, b) => a - b).slice(1);
  const comesAgain = withoutSlowest.length > 0 && shareOf(withoutSlowest) >= leastLostShare;
  return comesAgain ? shareOf(rates) : 0;
}

/**
 * The results of the experiments. Each is null, or has null rates, if it was not made: it was impossible, or not
 * needed.
 */
export interface DeviceMeasurements {
  /** Plain pinned copies of 64 MiB by one worker, near the device. */
  pinned: Rates;
  /** The slow first one of two measurements of the same copies; absent if one was enough. */
  firstLook?: Rates;
  /** Share of their time lost to slow copies: `slowShareOf()`. Absent if not measured. */
  slowShare?: Rates;
  /** The share of a pinned copy's time that its call takes: an asynchronous call returns at once. */
  hostShare?: Rates;
  /** Pinned copies while the other direction also copies. */
  bothWays?: Rates;
  pageable: Rates;
  /** Copies from registered memory; `refused` is the driver's reason. */
  registered: { rates: Rates; refused: string | null };
  /** While all devices copy at the same time. */
  together: Rates | null;
  /** Pinned copies with workers and memory on each NUMA node. */
  nodes: readonly { node: number; rates: Rates }[];
  /** Nodes other than the default one that were to be measured and could not be; absent before that. */
  untriedNodes?: readonly number[];
  /** Median latency of a pinned copy of 4 KiB, one after the other and each after some milliseconds of rest. */
  latency: { backToBackUs: number; afterRestUs: number } | null;
}
