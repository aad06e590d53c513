import type { DeviceActivity, DeviceFacts, DeviceHealth } from "../native/device-contract.js";
import type { OtherProgram } from "../results/other-programs.js";
import { leastLostShare } from "../results/over-time.js";
import type { DirectionMoved } from "../settings/choices.js";
import { median } from "../stats/order-statistics.js";
import type { MachineFacts } from "./facts/machine-facts.js";
import type { PciPath } from "./facts/pci-path.js";

/** All that was read and measured of a machine: what causes are looked for in. Rates are decimal GB/s; null where unknown. */
export interface Examination {
  emulated: boolean;
  /** Why kernels cannot be used; null where they can. */
  kernelsOff: string | null;
  machine: MachineFacts;
  devices: readonly DeviceExamination[];
  /** Experiments that were left out, and why: "copies from pageable memory of device 1: no time was left". */
  omitted?: readonly string[];
}

/** A rate for each direction; null where it was not measured. */
export type Rates = Readonly<Record<DirectionMoved, number | null>>;

/** What was read and measured of one device. */
export interface DeviceExamination {
  facts: DeviceFacts;
  path: PciPath;
  /** As NVML tells: before the first copy, in the middle of many, and afterwards. Null where it does not. */
  health: { before: DeviceHealth | null; underLoad: DeviceHealth | null; after: DeviceHealth | null };
  /** Errors that the path's ports counted while copies ran; null where sysfs does not count them. */
  correctableErrors: number | null;
  /** Other programs that have the device open; null where they are not told. */
  others: readonly OtherProgram[] | null;
  /** What the link, as it is under load, can carry of payload. */
  limitGBps: number | null;
  /** What healthy machines of this GPU and link reach with plain pinned copies. */
  expected: Rates;
  /** The same while all of several devices copy; absent where nobody has recorded that with so many. */
  expectedTogether?: Rates;
  /**
   * Where the expectation comes from, how far below it copies are still healthy (0.05 is 5 %), and whether it is of this
   * kind of GPU, as unless it says that it is not; null without one.
   */
  reference?: { source: string; tolerance: number; isOfKind?: boolean } | null;
  measured: DeviceMeasurements;
  /** What it did for any process just before it was examined; null if NVML does not report it. */
  activityBefore?: DeviceActivity | null;
  /** Copies whose data came back wrong, of all that were compared. */
  wrongCopies?: number;
  copied?: CopyCounts;
  /** Why it could not be examined to its end, as a clause: "cuMemcpy… failed with …"; null where it was. */
  failure?: string | null;
  /** Whether that is for want of memory, the device's or the host's, which says nothing of the device. */
  outOfMemory?: boolean;
  /** Whether another device's failure ended the examination of this one, which says nothing of it. */
  failedForAnother?: boolean;
}

/** Copies whose rates count, how many of these were compared, and all bytes that the link carried meanwhile. */
export interface CopyCounts {
  made: number;
  proven: number;
  /** Of those that were compared, the ones of one direction alone. */
  provenH2d: number;
  provenD2h: number;
  bytes: number;
}

/** Where no reference says: what lies so far below an expectation, of pinned copies of a size, is no chance any more. */
const usualTolerance = 0.05;

/**
 * How many GB/s plain pinned copies of a direction are below what healthy machines reach; null where they are not beyond
 * the reference's tolerance, or where one of both figures is not known.
 */
export function shortfallGBps(
  { expected, measured, reference }: Pick<DeviceExamination, "expected" | "measured" | "reference">,
  direction: DirectionMoved,
): number | null {
  const [wanted, found] = [expected[direction], measured.pinned[direction]];
  if (wanted === null || found === null) return null;
  const shortfall = wanted - found;
  return shortfall > wanted * (reference?.tolerance ?? usualTolerance) ? shortfall : null;
}

/**
 * The same for copies of all devices at once. They were recorded on one machine alone: twice the tolerance of a device by
 * itself.
 */
export function shortfallTogetherGBps(
  {
    expectedTogether,
    measured,
    reference,
  }: Pick<DeviceExamination, "expectedTogether" | "measured" | "reference">,
  direction: DirectionMoved,
): number | null {
  const [wanted, found] = [expectedTogether?.[direction] ?? null, measured.together?.[direction] ?? null];
  if (wanted === null || found === null) return null;
  const shortfall = wanted - found;
  return shortfall > wanted * 2 * (reference?.tolerance ?? 0) ? shortfall : null;
}

/**
 * The higher rate of each direction, of two looks at the same copies. What disturbs copies for a moment makes them slower and
 * never faster, as their link limits them: so the higher median is closer to what the machine does, and a fault lowers both.
 */
export function betterRates(first: Rates, second: Rates): Rates {
  const better = (direction: DirectionMoved) => {
    const [a, b] = [first[direction], second[direction]];
    return a === null || b === null ? (a ?? b) : Math.max(a, b);
  };
  return { h2d: better("h2d"), d2h: better("d2h"), d2d: better("d2d"), p2p: better("p2p") };
}

/**
 * The share of the time that slow copies took from the others, by the rates of samples of as many bytes each: 1 - bytes
 * over time / median. 0 if a single sample took it, as an interrupt makes one on any machine; null without samples.
 */
export function slowShareOf(rates: readonly number[]): number | null {
  if (rates.length === 0) return null;
  const shareOf = (some: readonly number[]) =>
    1 - some.length / some.reduce((sum, rate) => sum + 1 / rate, 0) / median(some);
  const withoutSlowest = rates.toSorted((a, b) => a - b).slice(1);
  const comesAgain = withoutSlowest.length > 0 && shareOf(withoutSlowest) >= leastLostShare;
  return comesAgain ? shareOf(rates) : 0;
}

/** The experiments. Each is null, or has null rates, where it was not made: what it tests could not be, or is not in doubt. */
export interface DeviceMeasurements {
  /** Plain pinned copies of 64 MiB by one worker, near the device. */
  pinned: Rates;
  /** The first of two looks at the same copies, which was slow; absent where one look was enough. */
  firstLook?: Rates;
  /** Share of the time of these that slow copies took: `slowShareOf()`. Absent where it was not measured. */
  slowShare?: Readonly<Record<"h2d" | "d2h", number | null>>;
  /** Of the time of a pinned copy, what the call that begins it takes: an asynchronous one returns at once. */
  hostShare?: Readonly<Record<"h2d" | "d2h", number | null>>;
  /** Pinned copies while the other direction copies too. */
  bothWays?: Rates;
  pageable: Rates;
  /** From memory that was registered; `refused` is the driver's reason. */
  registered: { rates: Rates; refused: string | null };
  /** While all devices copy at the same time. */
  together: Rates | null;
  /** Pinned copies with workers and memory on each NUMA node. */
  nodes: readonly { node: number; rates: Rates }[];
  /** Median latency of a pinned copy of 4 KiB, one after the other and each after some milliseconds of rest. */
  latency: { backToBackUs: number; afterRestUs: number } | null;
}
