import {
  recordedOccasionNoise,
  standInFor,
  times,
  varianceFactorOfBound,
} from "../compare/evidence/occasion-noise.js";
import { parseCellId } from "../results/cell-id.js";
import { areRecorded, recordedSpread } from "../results/claimed-interval.js";
import { logGamma, studentQuantile, studentTail } from "../stats/hypothesis-tests.js";
import { median } from "../stats/order-statistics.js";
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

const tailsOfMedian = (cells: number) => Math.max(1, Math.min(mostTails, cells / cellsATail));

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
      degreesOfFreedom: ofCell.degreesOfFreedom * tailsOfMedian(cells),
    },
  };
}

/** What figures of one kind of memory show of their noise, where it is wider than any that was recorded. */
export interface WiderNoise {
  /** Of variances: theirs over the recorded one. */
  factor: number;
  /** Of the Student's t whose tail they have. */
  degreesOfFreedom: number;
}

/**
 * Figures with this many times the recorded variance are not of its noise, however few they are. With 2.5, heavy tails in small fleets
 * had up to 2 % of these accuse a healthy GPU (results/bench-fleet.txt).
 */
const leastFactor = 2;

/** Tails that are told apart; the first is assumed of noise that nobody has recorded, until enough figures show another. */
const tails = [2, 3, 4, 6, 10, 30];
const enoughForTail = 30;
/** Of tails whose likelihoods are within this (natural logarithm) of the best one's, the heaviest is taken: 3.32 is the 99 % interval of one parameter. */
const asLikely = 3.32;

interface CellResiduals {
  kind: FigureKind;
  residuals: readonly number[];
}

/** The residuals in units of the recorded deviation. */
function scaledToRecorded({ kind, residuals }: CellResiduals, deviceNames: readonly string[]): number[] {
  const { betweenMachines, ofProcess } = recordedNoise(kind, deviceNames, 1);
  const deviation = Math.sqrt(betweenMachines.variance + ofProcess.variance);
  return residuals.map((residual) => residual / deviation);
}

/**
 * How much wider the noise of cells of one kind of memory is than the recorded one, at least `atLeast`, and how heavy its tail;
 * null where it is as recorded. A recorded tail says nothing of such noise, and a fleet has thousands of figures: what one of
 * them is off by decides who is accused. The tail is the heaviest that is likely for the figures above their centre, scaled to
 * their median absolute deviation: faults make no GPU faster, so slow ones have no part in it.
 */
export function widerNoise(
  cells: readonly CellResiduals[],
  deviceNames: readonly string[],
  atLeast = 0,
): WiderNoise | null {
  const scaled = cells.map((cell) => scaledToRecorded(cell, deviceNames));
  const factor = Math.max(atLeast, robustVariance(scaled)?.variance ?? 0);
  if (factor < leastFactor) return null;
  const gains = cells.flatMap(({ residuals }) => {
    const deviation = median(residuals.map(Math.abs));
    return deviation === 0 ? [] : residuals.flatMap((drop) => (drop < 0 ? -drop / deviation : []));
  });
  return { factor, degreesOfFreedom: gains.length < enoughForTail ? tails[0]! : heaviestLikelyTail(gains) };
}

/** Figures from which on their median absolute deviation shows wider noise by itself; of fewer, half lie near a median of few. */
const enoughForDeviation = 30;

/** The sum of squares of few figures of recorded noise exceeds this times its expectation in one fleet of several hundred. */
const leastScatter = 4;
/** One figure counts as no more than so many recorded deviations: that it alone is off is not the noise of all. */
const mostDeviations = 6;

/**
 * By how much the noise of few figures is wider than recorded, when those that are called slow are left out: the others are
 * said to be healthy, so all of their scatter is noise; 0 if it may be the recorded one. `spare`: how many of a cell's residuals show
 * noise.
 */
export function scatterOfHealthy(
  cells: readonly (CellResiduals & { spare: number })[],
  deviceNames: readonly string[],
): number {
  const degreesOfFreedom = cells.reduce((sum, { spare }) => sum + spare, 0);
  if (degreesOfFreedom === 0 || degreesOfFreedom >= enoughForDeviation) return 0;
  const scaled = cells.flatMap((cell) => scaledToRecorded(cell, deviceNames));
  const factor =
    scaled.reduce((sum, value) => sum + Math.min(Math.abs(value), mostDeviations) ** 2, 0) / degreesOfFreedom;
  return factor < leastScatter ? 0 : factor;
}

/** Of values in units of their median absolute deviation. */
function heaviestLikelyTail(values: readonly number[]): number {
  const likelihoods = tails.map((nu) => {
    const quartile = studentQuantile(0.25, nu);
    const constant =
      logGamma((nu + 1) / 2) - logGamma(nu / 2) - Math.log(nu * Math.PI) / 2 + Math.log(quartile);
    return values.reduce(
      (sum, value) => sum + constant - ((nu + 1) / 2) * Math.log1p((value * quartile) ** 2 / nu),
      0,
    );
  });
  const most = Math.max(...likelihoods);
  return tails[likelihoods.findIndex((likelihood) => likelihood >= most - asLikely)]!;
}

/** The variance that wider noise has in figures of a kind. */
function widened(
  { factor, degreesOfFreedom }: WiderNoise,
  recorded: FigureNoise,
  cells: number,
): VarianceEstimate {
  return {
    variance: factor * (recorded.betweenMachines.variance + recorded.ofProcess.variance),
    degreesOfFreedom: degreesOfFreedom * tailsOfMedian(cells),
  };
}

/** The noise of a figure beside a level that allows for the differences between machines: what its one process is off by. */
export function processNoise(
  kind: FigureKind,
  deviceNames: readonly string[],
  wider: WiderNoise | null,
): FigureNoise {
  const recorded = recordedNoise(kind, deviceNames, 1);
  const { betweenMachines, ofProcess } = recorded;
  const own = wider === null ? { ...betweenMachines, variance: 0 } : widened(wider, recorded, 1);
  return { betweenMachines: own, ofProcess };
}

/**
 * The noise of figures of one kind, from logarithms of what healthy GPUs (or nodes) reach relative to their centre, slow
 * ones among them: fewer than half. `residuals` may be empty. `cells`: each is a median over so many cells of a GPU.
 */
export function noiseOf(
  residuals: readonly number[],
  kind: FigureKind,
  deviceNames: readonly string[],
  { cells = 1, wider = null }: { cells?: number; wider?: WiderNoise | null } = {},
): FigureNoise {
  const recorded = recordedNoise(kind, deviceNames, cells);
  const { betweenMachines: prior, ofProcess } = recorded;
  const own = robustVariance([residuals]);
  const least = wider === null ? null : widened(wider, recorded, cells);
  if (own === null) return { betweenMachines: least ?? prior, ofProcess };
  const moderated = moderate(own, prior);
  // What a group shows to be noisier than the recorded machines is so: that does not pull it down.
  const variance = Math.max(own.variance, moderated.variance) * (1 + medianInflation / residuals.length);
  if (least === null) {
    return { betweenMachines: { variance, degreesOfFreedom: moderated.degreesOfFreedom }, ofProcess };
  }
  return {
    betweenMachines: {
      variance: Math.max(variance, least.variance),
      degreesOfFreedom: Math.min(moderated.degreesOfFreedom, least.degreesOfFreedom),
    },
    ofProcess,
  };
}

/** The noise of a median of figures: of so many values, with the thinner tail that it has. */
export function ofMedian({ betweenMachines, ofProcess }: FigureNoise, values: number): FigureNoise {
  const part = ({ variance, degreesOfFreedom }: VarianceEstimate) => ({
    variance: (variance * medianInflation) / values,
    degreesOfFreedom: degreesOfFreedom * Math.max(1, values / 2),
  });
  return { betweenMachines: part(betweenMachines), ofProcess: part(ofProcess) };
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
