import type { OtherProgram } from "../host/other-programs.js";
import type { DeviceActivity, DeviceFacts, DeviceHealth } from "../native/device-contract.js";
import { leastLostShare } from "../results/over-time.js";
import { median } from "../stats/order-statistics.js";
import type { Found } from "./diagnosis.js";
import type { MachineFacts } from "./facts/machine-facts.js";
import type { PciPath } from "./facts/pci-path.js";

/** Facts and measurements in which causes are looked for. Rates are decimal GB/s; unknown values are null. */
export interface Examination {
  emulated: boolean;
  machine: MachineFacts;
  devices: readonly DeviceExamination[];
  /** Skipped experiments and why: "copies from pageable memory of device 1: no time was left". */
  omitted?: readonly string[];
  /** Why the driver does not start, in which case there are no devices; null if it does. */
  startFailure?: Found | null;
}

/** The directions over a device's link. */
export const linkDirections = ["h2d", "d2h"] as const;
export type LinkDirection = (typeof linkDirections)[number];

/** Calls `of` for each direction. */
export function eachWay<T>(of: (way: LinkDirection) => T): Record<LinkDirection, T> {
  return { h2d: of("h2d"), d2h: of("d2h") };
}

/** A figure such as a rate for each direction; null if not measured. */
export type Rates = Readonly<Record<LinkDirection, number | null>>;

export interface DeviceExamination {
  facts: DeviceFacts;
  path: PciPath;
  /** NVML's report before the first copy, during many, and after the last; null without one. */
  health: { before: DeviceHealth | null; underLoad: DeviceHealth | null; after: DeviceHealth | null };
  /** Errors that the path's ports counted during copies; null if unknown. */
  correctableErrors: number | null;
  /** Other programs that have the device open; null if unknown. */
  others: readonly OtherProgram[] | null;
  /** Limit of the link under load. */
  limitGBps: number | null;
  /** Rate of plain pinned copies on healthy machines with this GPU and link. */
  expected: Rates;
  /** The same while all devices copy; absent if not recorded for this number of devices. */
  expectedTogether?: Rates;
  /** Source of the expectation, and how far below it is still healthy (0.05 is 5 %); null without one. */
  reference: { source: string; tolerance: number } | null;
  measured: DeviceMeasurements;
  /** Use by other processes just before the examination; null if NVML does not report it. */
  activityBefore: DeviceActivity | null;
  /** Number of compared copies with wrong data. */
  wrongCopies: number;
  copied?: CopyCounts;
  /** Why the examination is incomplete, as a clause: "cuMemcpy… failed with …"; otherwise null. */
  failure: string | null;
  failureKind: FailureKind;
}

/**
 * What failed: the device itself; memory ran out, on the device or the host; another process holds the device, or its
 * compute mode forbids contexts; another device, whose failure ended all experiments; or something else.
 */
export type FailureKind = "device" | "memory" | "in-use" | "another" | "other";

/** Number of copies whose rates count, number of compared ones, and all bytes carried by the link. */
export interface CopyCounts {
  made: number;
  proven: number;
  /** Compared copies by direction. */
  provenH2d: number;
  provenD2h: number;
  bytes: number;
}

/** Measured and expected rates. */
export type Compared = Pick<DeviceExamination, "expected" | "expectedTogether" | "measured" | "reference">;

/** Tolerance for expectations without their own: a larger relative drop of pinned copies is not chance. */
export const usualTolerance = 0.05;

/**
 * Shortfall in GB/s of plain pinned copies from `share` of a healthy machine's rate, if they were faster by `gainGBps`;
 * null within the tolerance, or if a rate is unknown.
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

/** The same for copies of all devices at once, with twice the tolerance, because only one machine was recorded. */
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
 * The higher rate of each direction from two measurements. Disturbances only slow copies down, because the link limits
 * them, while faults lower both measurements.
 */
export function betterRates(first: Rates, second: Rates): Rates {
  return eachWay((way) => {
    const [a, b] = [first[way], second[way]];
    return a === null || b === null ? (a ?? b) : Math.max(a, b);
  });
}

/**
 * Share of time lost to slow copies, from rates of samples with equal bytes: 1 - bytes over time / median. 0 if only
 * one sample was slow, as interrupts cause on any machine; null without samples.
 */
export function slowShareOf(rates: readonly number[]): number | null {
  if (rates.length === 0) return null;
  const shareOf = (some: readonly number[]) =>
    1 - some.length / some.reduce((sum, rate) => sum + 1 / rate, 0) / median(some);
  const withoutSlowest = rates.toSorted((a, b) => a - b).slice(1);
  const comesAgain = withoutSlowest.length > 0 && shareOf(withoutSlowest) >= leastLostShare;
  return comesAgain ? shareOf(rates) : 0;
}

/** Results of experiments; null, or with null rates, if impossible or not needed. */
export interface DeviceMeasurements {
  /** Plain pinned copies by one worker, near the device: of 64 MiB, or 16 MiB if memory is short. */
  pinned: Rates;
  /** The first of two measurements, if it was slow; absent if one was enough. */
  firstLook?: Rates;
  /** Share of time lost to slow copies: `slowShareOf()`. Absent if not measured. */
  slowShare?: Rates;
  /** Share of a pinned copy's time that its call takes: an asynchronous call returns at once. */
  hostShare?: Rates;
  /** Pinned copies while the other direction also copies. */
  bothWays?: Rates;
  pageable: Rates;
  /** Copies from registered memory; `refused`: the driver's reason for not registering it. */
  registered: { rates: Rates; refused: string | null };
  /** Pinned copies while all devices copy; null if not measured. */
  together: Rates | null;
  /** Pinned copies with workers and memory on each NUMA node. */
  nodes: readonly { node: number; rates: Rates }[];
  /** NUMA nodes, except the default one, that should have been measured but could not be; absent until then. */
  untriedNodes?: readonly number[];
  /** Median latency of a pinned copy of 4 KiB: back to back, and after some milliseconds of rest. */
  latency: { backToBackUs: number; afterRestUs: number } | null;
}
