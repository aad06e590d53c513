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

/**
 * The part of a process's variance that all its cells share, at most: medians over 20 cells of the 45 recorded processes have
 * 4 to 12 % of the variance of one cell (results/nvidia-h200/noise.json), of which 8 % are what a median of 20 leaves.
 */
const sharedByCells = 0.1;

/**
 * A median over cells is off by far only if half of them are: the tail of its distribution is as much thinner, and with it the degrees of
 * freedom more, by one for each so many cells. In medians over 10 and 20 cells of the recorded processes none is off by more
 * than 7 and 3 standard deviations; of those over 3 cells one is by 10, as outliers hit neighbouring cells.
 */
const cellsATail = 5;
const mostTails = 3;

/** What is recorded of such figures on such GPUs; of the median over several cells, if they are. */
function recordedNoise(kind: FigureKind, deviceNames: readonly string[], cells: number): FigureNoise {
  const recorded = standInFor(parseCellId(`d0/${kind.cell}`), kind.unit);
  const factor = areRecorded(deviceNames) ? 1 : varianceFactorOfBound;
  const { shared, own } = recordedOccasionNoise[recorded]!;
  const ofCell = recordedSpread[recorded]!;
  const left = Math.min(1, medianInflation / cells);
  const betweenMachines = {
    variance: shared.variance + left * own.variance,
    degreesOfFreedom: Math.min(mostRecordedDegrees, shared.degreesOfFreedom + own.degreesOfFreedom),
  };
  return {
    betweenMachines: times(betweenMachines, factor),
    ofProcess: {
      variance: ofCell.variance * factor * (sharedByCells + (1 - sharedByCells) * left),
      degreesOfFreedom: ofCell.degreesOfFreedom * Math.max(1, Math.min(mostTails, cells / cellsATail)),
    },
  };
}

/** The noise of a figure beside a level that allows for the differences between machines: what its one process is off by. */
export function processNoise(kind: FigureKind, deviceNames: readonly string[]): FigureNoise {
  const { betweenMachines, ofProcess } = recordedNoise(kind, deviceNames, 1);
  return { betweenMachines: { ...betweenMachines, variance: 0 }, ofProcess };
}

/**
 * The noise of figures of one kind, from logarithms of what healthy GPUs (or nodes) reach relative to their centre, slow
 * ones among them: fewer than half. `residuals` may be empty. `cells`: each is a median over so many cells of a GPU.
 */
export function noiseOf(
  residuals: readonly number[],
  kind: FigureKind,
  deviceNames: readonly string[],
  cells = 1,
): FigureNoise {
  const { betweenMachines: prior, ofProcess } = recordedNoise(kind, deviceNames, cells);
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

/** Of losses that are said to be found, so many are missed. */
const missed = 0.01;

/**
 * The least relative loss (0.1 is 10 %) that is found in all but `missed` of the cases, where figures are called slow that have
 * lost `threshold` or more with a chance below `level`: what is called slow, and what a slow figure may be higher by. Null
 * where that takes more than nearly all of it.
 */
export function leastLossFound(noise: FigureNoise, level: number, threshold: number): number | null {
  const shown = leastLossShown(noise, level, threshold);
  const above = leastLossShown(noise, missed, 0);
  if (shown === null || above === null) return null;
  const loss = 1 - (1 - shown) * (1 - above);
  return loss < largestLoss ? loss : null;
}

/**
 * The least relative loss of a figure, no less than `threshold`, at which the chance is below `level`; null where that
 * takes more than nearly all of it.
 */
export function leastLossShown(noise: FigureNoise, level: number, threshold: number): number | null {
  const isShown = (loss: number) => chanceOfDrop(-Math.log1p(-loss), noise) < level;
  if (isShown(threshold)) return threshold;
  if (!isShown(largestLoss)) return null;
  let [low, high] = [threshold, largestLoss];
  while (high - low > 1e-4) {
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
