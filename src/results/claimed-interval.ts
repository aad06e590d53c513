import type { Memory } from "../settings/choices.js";
import { studentQuantile } from "../stats/hypothesis-tests.js";
import type { VarianceEstimate } from "../stats/variance.js";
import type { Cell, Distribution } from "./cell-schema.js";

/**
 * The noise of a GPU, outliers included, by kind: what to fall back on where the compared runs say nothing of their
 * own. From 45 processes on an NVIDIA H200 (results/nvidia-h200/noise.json; `node bench/regress/recorded-spread.mjs`
 * prints these lines); it says little of another machine, and kinds that were not recorded are absent.
 *
 * Variance and degrees of freedom are made as in `outlierSpread()` of compare/noise.ts. `fitVariancePrior()` would
 * leave 1.3 to 2.2 degrees of freedom: most cells of a kind are far quieter than a few, its logarithms weigh the quiet
 * ones, and a pinned cell would have to lose 44 % before one run could be called slower than another. With these values
 * none of the recorded runs is slower than another, and a pinned cell that loses 10 % is found; a pageable cell must
 * lose a third and a staged one two thirds, for single processes are off by nearly as much.
 */
export const recordedSpread: Readonly<Record<string, VarianceEstimate>> = {
  pageable: { variance: 1.08e-3, degreesOfFreedom: 6.9 },
  staged: { variance: 3.36e-3, degreesOfFreedom: 5.0 },
  pinned: { variance: 1.88e-6, degreesOfFreedom: 4.4 },
};

/** GPUs that the recordings cover: of another one, single runs say nothing of how far the next may be. */
const recordedGpus: readonly string[] = ["NVIDIA H200"];

/** Whether what was recorded stands for runs on these devices, of which there is at least one. */
export function areRecorded(deviceNames: readonly string[]): boolean {
  return deviceNames.length > 0 && deviceNames.every((name) => recordedGpus.includes(name));
}

/** A median, and the interval in which other processes of the same machine find it, in the unit of what was measured. */
export interface IntervalEstimate {
  median: number;
  low: number;
  high: number;
}

const tailOf95Percent = 0.025;

/**
 * What may be claimed of a figure, at 95 %; null without an interval, and for 0, around which there is no ratio. Of several processes it is the interval between
 * them. One process does not know how others differ from it: its own interval is widened by the recorded spread, as a
 * prediction of the figure that another process with as wide an interval finds. Kinds that were not recorded have at
 * least the spread of pinned memory, and machines that were not that of the recording at least the recorded one.
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
 * The same of a rate of scattered blocks. How far processes differ depends on what it waits for: a kernel waits for the link
 * alone, as pinned copies do; gathering for what a CPU copies, as staged ones do. Calls for blocks of pinned memory wait for a
 * CPU as far as they are slower than the link: that share has the spread of pageable copies. `linkGBps` is what large copies
 * reach; undefined where that is not known.
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

/** Half the width of the 95 % interval that one process's logarithm has. */
function spreadHalfWidth(memory: Memory): number {
  const { variance, degreesOfFreedom } = recordedSpread[memory] ?? recordedSpread.pinned!;
  return studentQuantile(tailOf95Percent, degreesOfFreedom) * Math.sqrt(variance);
}

/**
 * The ratio of two figures with its 95 % interval, from the two figures' own (G. Y. Zou and A. Donner, "Construction
 * of confidence limits about effect measures: a general approach", Statistics in Medicine 27, 2008, on logarithms): the
 * two are taken to vary independently, so that what they share makes the interval too wide and never too narrow.
 */
export function ratioInterval(one: IntervalEstimate, other: IntervalEstimate): IntervalEstimate {
  const ratio = one.median / other.median;
  const below = Math.hypot(Math.log(one.median / one.low), Math.log(other.high / other.median));
  const above = Math.hypot(Math.log(one.high / one.median), Math.log(other.median / other.low));
  return { median: ratio, low: ratio / Math.exp(below), high: ratio * Math.exp(above) };
}
