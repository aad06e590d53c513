import type { Memory } from "../settings/choices.js";
import { studentQuantile } from "../stats/hypothesis-tests.js";
import type { VarianceEstimate } from "../stats/variance.js";
import type { Cell, Distribution } from "./cell-schema.js";

/**
 * The noise of a GPU by kind, outliers included: a fallback for comparisons whose runs do not show their own. From 45
 * processes on an NVIDIA H200 (results/nvidia-h200/noise.json; `node bench/regress/recorded-spread.mjs` prints these
 * lines); it says little about another machine, and unrecorded kinds are absent. Variance and degrees of freedom are
 * computed as in `outlierSpread()` of compare/evidence/noise.ts. `fitVariancePrior()` would leave 1.3 to 2.2 degrees of freedom,
 * because most cells of a kind are far quieter than a few, and its logarithms give weight to the quiet ones: a pinned
 * cell would have to lose 44 % before one run could be called slower than another. With these values none of the
 * recorded runs is slower than another, and a pinned cell that loses 10 % is found; a pageable cell must lose a third
 * and a staged one two thirds, because single processes are off by nearly as much.
 */
export const recordedSpread: Readonly<Record<string, VarianceEstimate>> = {
  pageable: { variance: 1.08e-3, degreesOfFreedom: 6.9 },
  staged: { variance: 3.36e-3, degreesOfFreedom: 5.0 },
  pinned: { variance: 1.88e-6, degreesOfFreedom: 4.4 },
};

/** The recorded GPUs: on others, single runs do not show how far the next may be. */
const recordedGpus: readonly string[] = ["NVIDIA H200"];

/** Whether the recordings apply to runs on these devices, of which there is at least one. */
export function areRecorded(deviceNames: readonly string[]): boolean {
  return deviceNames.length > 0 && deviceNames.every((name) => recordedGpus.includes(name));
}

/** A median, and the interval in which other processes on the same machine find it, in the unit of the measurement. */
export interface IntervalEstimate {
  median: number;
  low: number;
  high: number;
}

const tailOf95Percent = 0.025;

/**
 * The 95 % interval that can be claimed for a figure; null without an interval, and for 0, which has no ratios. For
 * several processes it is the interval between them. One process does not show how others differ, so its own interval
 * is widened by the recorded spread to a prediction interval for another process with an equally wide interval.
 * Unrecorded kinds have at least the spread of pinned memory, and other machines at least the recorded one.
 */
export function claimedInterval(
  memory: Memory,
  { median, low, high, processMedians }: Distribution,
): IntervalEstimate | null {
  if (median === 0) return null;
  if (processMedians != null) {
    if (low !== null && high !== null) return { median, low, high };
    return around(median, spreadHalfWidth(memory) * Math.sqrt(1 + 1 / processMedians.length));
  }
  if (low === null || high === null) return null;
  const spread = spreadHalfWidth(memory);
  const widened = (within: number) => Math.exp(Math.SQRT2 * Math.hypot(spread, within));
  return {
    median,
    low: median / widened(Math.log(median / low)),
    high: median * widened(Math.log(high / median)),
  };
}

/**
 * The same for a rate of scattered blocks. The spread between processes depends on what the copies wait for: a kernel
 * waits only for the link, like pinned copies; gathering waits for the CPU's copies, like staged ones. Calls for blocks
 * of pinned memory wait for a CPU to the extent that they are slower than the link: that share has the spread of
 * pageable copies. `linkGBps` is the rate of large copies; undefined if unknown.
 */
export function claimedBlockRate(
  { blockWay, memory }: Pick<Cell, "blockWay" | "memory">,
  rate: Distribution,
  linkGBps: number | undefined,
): IntervalEstimate | null {
  if (rate.median <= 0) return null;
  if (blockWay === "gather") return claimedInterval("staged", rate);
  if (blockWay === "kernel") return claimedInterval("pinned", rate);
  const ofCpu = claimedInterval("pageable", rate);
  const ofLink = claimedInterval("pinned", rate);
  if (memory !== "pinned" || linkGBps === undefined || ofCpu === null || ofLink === null) return ofCpu;
  const cpuShare = Math.min(1, Math.max(0, 1 - rate.median / linkGBps));
  const between = (link: number, cpu: number) => link * (cpu / link) ** cpuShare;
  return { median: rate.median, low: between(ofLink.low, ofCpu.low), high: between(ofLink.high, ofCpu.high) };
}

function around(median: number, logHalfWidth: number): IntervalEstimate {
  return { median, low: median / Math.exp(logHalfWidth), high: median * Math.exp(logHalfWidth) };
}

/** Half the width of the 95 % interval of one process's logarithm. */
function spreadHalfWidth(memory: Memory): number {
  const { variance, degreesOfFreedom } = recordedSpread[memory] ?? recordedSpread.pinned!;
  return studentQuantile(tailOf95Percent, degreesOfFreedom) * Math.sqrt(variance);
}

/**
 * The ratio of two figures with its 95 % interval, from the figures' own intervals (G. Y. Zou and A. Donner,
 * "Construction of confidence limits about effect measures: a general approach", Statistics in Medicine 27, 2008, on
 * logarithms). The two are assumed to be independent, so common noise makes the interval too wide, but never too
 * narrow.
 */
export function ratioInterval(one: IntervalEstimate, other: IntervalEstimate): IntervalEstimate {
  const ratio = one.median / other.median;
  const below = Math.hypot(Math.log(one.median / one.low), Math.log(other.high / other.median));
  const above = Math.hypot(Math.log(one.high / one.median), Math.log(other.median / other.low));
  return { median: ratio, low: ratio / Math.exp(below), high: ratio * Math.exp(above) };
}
