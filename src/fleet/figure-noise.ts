import {
  recordedOccasionNoise,
  standInFor,
  times,
  varianceFactorOfBound,
} from "../compare/evidence/recorded-occasions.js";
import { parseCellId } from "../results/cell-id.js";
import { areRecorded, recordedSpread } from "../results/recorded-spread.js";
import { studentTail } from "../stats/hypothesis-tests.js";
import { moderate, robustVariance, type VarianceEstimate } from "../stats/variance.js";
import type { FigureKind } from "./fleet-document.js";

/**
 * How far below its group's centre the figure of a healthy GPU may lie. The logarithm of a figure has two parts:
 *
 * - what its machine differs by from the others: normal, with the spread that the group's own figures show (median absolute
 *   deviation), which the recorded spread between machines moderates where these are few;
 * - what its one process was off by. A process in some thousand is off by far more than the spread of the others tells, and a
 *   fleet is some thousand processes: it cannot tell such a one from a slow GPU by itself. How far they go is taken from
 *   recordings, as `recordedSpread` has it, outliers included, with the tail of Student's t for its degrees of freedom.
 *
 * Whatever the two depend on, P(both together > d) is at most P(first > w d) + P(second > (1 - w) d), for every w: the least
 * of these bounds is the p-value.
 */
export interface FigureNoise {
  /** Variances of the logarithm of a figure. */
  betweenMachines: VarianceEstimate;
  ofProcess: VarianceEstimate;
}

/** The few machines that were recorded count for no more than so many degrees of freedom beside a group's own figures. */
const mostRecordedDegrees = 4;

/** The error of a median of n normal values is that of a mean of 2 n / pi. */
const medianInflation = Math.PI / 2;

/** What is recorded of such figures on such GPUs. */
function recordedNoise(kind: FigureKind, deviceNames: readonly string[]): FigureNoise {
  const recorded = standInFor(parseCellId(`d0/${kind.cell}`), kind.unit);
  const factor = areRecorded(deviceNames) ? 1 : varianceFactorOfBound;
  const { shared, own } = recordedOccasionNoise[recorded]!;
  const betweenMachines = {
    variance: shared.variance + own.variance,
    degreesOfFreedom: Math.min(mostRecordedDegrees, shared.degreesOfFreedom + own.degreesOfFreedom),
  };
  return {
    betweenMachines: times(betweenMachines, factor),
    ofProcess: times(recordedSpread[recorded]!, factor),
  };
}

/**
 * The noise of figures of one kind, from logarithms of what healthy GPUs (or nodes) reach relative to their centre, slow
 * ones among them: fewer than half. `residuals` may be empty.
 */
export function noiseOf(
  residuals: readonly number[],
  kind: FigureKind,
  deviceNames: readonly string[],
): FigureNoise {
  const { betweenMachines: prior, ofProcess } = recordedNoise(kind, deviceNames);
  const own = robustVariance([residuals]);
  if (own === null) return { betweenMachines: prior, ofProcess };
  const moderated = moderate(own, prior);
  // What a group shows to be noisier than the recorded machines is so: that does not pull it down.
  const variance = Math.max(own.variance, moderated.variance) * (1 + medianInflation / residuals.length);
  return {
    betweenMachines: { variance, degreesOfFreedom: moderated.degreesOfFreedom },
    ofProcess,
  };
}

const weights = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/** The chance, at most, that a healthy figure's logarithm lies `drop` or more below its centre; 1 for no drop. */
export function chanceOfDrop(drop: number, { betweenMachines, ofProcess }: FigureNoise): number {
  if (!(drop > 0)) return 1;
  const tail = (part: number, { variance, degreesOfFreedom }: VarianceEstimate) =>
    variance === 0 ? 0 : studentTail(part / Math.sqrt(variance), degreesOfFreedom);
  const bounds = weights.map((w) => tail(w * drop, betweenMachines) + tail((1 - w) * drop, ofProcess));
  return Math.min(1, ...bounds);
}

/** A figure is never lower than this share of its centre and still one of the same thing. */
const largestLoss = 0.99;

/**
 * The least relative loss of a figure (0.1 is 10 %), no less than `threshold`, at which the chance is below `level`; null
 * where that takes more than nearly all of it.
 */
export function leastLossShown(noise: FigureNoise, level: number, threshold: number): number | null {
  const isShown = (loss: number) => chanceOfDrop(-Math.log1p(-loss), noise) < level;
  if (isShown(threshold)) return threshold;
  if (!isShown(largestLoss)) return null;
  let [low, high] = [threshold, largestLoss];
  while (high - low > 1e-3) {
    const middle = (low + high) / 2;
    if (isShown(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** The standard deviation of a healthy figure's logarithm, both parts together. */
export function deviationOf({ betweenMachines, ofProcess }: FigureNoise): number {
  return Math.sqrt(betweenMachines.variance + ofProcess.variance);
}
