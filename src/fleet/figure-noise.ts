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
 * How far below its group's centre the figure of a healthy GPU may be. The logarithm of a figure has two errors:
 *
 * - that of its machine: normal, with the spread of the group's own figures (median absolute deviation), moderated by the
 *   recorded spread between machines if there are few figures;
 * - that of its one process. One process in some thousands is off by far more than the spread of the others suggests, and
 *   a fleet is some thousand processes: by itself, it cannot distinguish such a process from a slow GPU. The size of these
 *   errors is recorded (`recordedSpread`), outliers included, with the tail of Student's t for its degrees of freedom.
 *
 * However the two depend on each other, P(sum > d) is at most P(first > w d) + P(second > (1 - w) d), for every w: the
 * smallest of these bounds is the p-value.
 */
export interface FigureNoise {
  /** Variances of a figure's logarithm. */
  betweenMachines: VarianceEstimate;
  ofProcess: VarianceEstimate;
}

/** The few recorded machines count for at most this many degrees of freedom next to a group's own figures. */
const mostRecordedDegrees = 4;

/** The variance of a median of n normal values is that of a mean of 2 n / pi. */
const medianInflation = Math.PI / 2;

/**
 * Largest share of a process's variance that all its cells have in common: medians over 20 cells of the 45 recorded
 * processes have 4 to 12 % of the variance of one cell (results/nvidia-h200/noise.json), of which 8 % remain in any
 * median of 20.
 */
const sharedByCells = 0.1;

/**
 * A median over cells is far off only if half of the cells are. So its tail is thinner: it has one more degree of
 * freedom for each of this many cells. In medians over 10 and 20 cells of the recorded processes none is off by more
 * than 7 and 3 standard deviations; of those over 3 cells one is off by 10, because outliers hit neighbouring cells.
 */
const cellsATail = 5;
const mostTails = 3;

const tailsOfMedian = (cells: number) => Math.max(1, Math.min(mostTails, cells / cellsATail));

/** The recorded noise of such figures on such GPUs; with several cells, that of their median. */
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

/** The noise of figures of one kind of memory that is wider than any recorded. */
export interface WiderNoise {
  /** Ratio of its variance to the recorded one. */
  factor: number;
  /** Degrees of freedom of the Student's t with this tail. */
  degreesOfFreedom: number;
}

/**
 * Figures with this many times the recorded variance do not have the recorded noise, even if they are few. With 2.5, up
 * to 2 % of small fleets with heavy tails accused a healthy GPU (results/bench-fleet.txt).
 */
const leastFactor = 2;

/**
 * The tails that are distinguished; the first is assumed for noise that nobody has recorded, until enough figures show
 * another.
 */
const tails = [2, 3, 4, 6, 10, 30];
const enoughForTail = 30;
/** The heaviest tail is chosen whose log likelihood is within this of the best: 3.32 is the 99 % interval of one parameter. */
const asLikely = 3.32;

interface CellResiduals {
  kind: FigureKind;
  residuals: readonly number[];
}

/**
 * The variance of residuals; null if they show none. If most of them are 0, the others alone would make it, and the
 * figures of healthy GPUs that agree would hide the slow one.
 */
function ownVariance(cells: readonly (readonly number[])[]): VarianceEstimate | null {
  const distances = cells.flat().map(Math.abs);
  return distances.length === 0 || median(distances) === 0 ? null : robustVariance(cells);
}

/** The residuals in units of the recorded deviation. */
function scaledToRecorded({ kind, residuals }: CellResiduals, deviceNames: readonly string[]): number[] {
  const { betweenMachines, ofProcess } = recordedNoise(kind, deviceNames, 1);
  const deviation = Math.sqrt(betweenMachines.variance + ofProcess.variance);
  return residuals.map((residual) => residual / deviation);
}

/**
 * The factor by which the noise of one kind of memory exceeds the recorded one, at least `atLeast`, and its tail; null if
 * it is as recorded. The recorded tail does not apply to such noise, and in a fleet's thousands of figures the largest
 * error decides which GPU is accused. The tail is the heaviest likely one for the figures above their centre, scaled to
 * their median absolute deviation: faults make no GPU faster, so slow GPUs do not affect it.
 */
export function widerNoise(
  cells: readonly CellResiduals[],
  deviceNames: readonly string[],
  atLeast = 0,
): WiderNoise | null {
  const scaled = cells.map((cell) => scaledToRecorded(cell, deviceNames));
  const factor = Math.max(atLeast, ownVariance(scaled)?.variance ?? 0);
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
/** Most recorded deviations that one figure counts as: if it alone is off, that is not the noise of all. */
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

/** Takes values in units of their median absolute deviation. */
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

/** The variance of wider noise in figures of a kind. */
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

/**
 * The noise of a figure relative to a level that already allows for differences between machines: the error of its one
 * process.
 */
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
 * The noise of figures of one kind, from the logarithms of healthy GPUs' (or nodes') figures relative to their centre;
 * fewer than half of them may be slow ones. `residuals` may be empty. `cells`: each is a median over this many cells of
 * a GPU.
 */
export function noiseOf(
  residuals: readonly number[],
  kind: FigureKind,
  deviceNames: readonly string[],
  { cells = 1, wider = null }: { cells?: number; wider?: WiderNoise | null } = {},
): FigureNoise {
  const recorded = recordedNoise(kind, deviceNames, cells);
  const { betweenMachines: prior, ofProcess } = recorded;
  const own = ownVariance([residuals]);
  const least = wider === null ? null : widened(wider, recorded, cells);
  if (own === null) return { betweenMachines: least ?? prior, ofProcess };
  const moderated = moderate(own, prior);
  // A group that is noisier than the recorded machines keeps its own variance.
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

/** The noise of a median of this many figures, with its thinner tail. */
export function ofMedian({ betweenMachines, ofProcess }: FigureNoise, values: number): FigureNoise {
  const part = ({ variance, degreesOfFreedom }: VarianceEstimate) => ({
    variance: (variance * medianInflation) / values,
    degreesOfFreedom: degreesOfFreedom * Math.max(1, values / 2),
  });
  return { betweenMachines: part(betweenMachines), ofProcess: part(ofProcess) };
}

const weights = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/** Largest chance that a healthy figure's logarithm is `drop` or more below its centre; 1 without a drop. */
export function chanceOfDrop(drop: number, { betweenMachines, ofProcess }: FigureNoise): number {
  if (!(drop > 0)) return 1;
  const tail = (part: number, { variance, degreesOfFreedom }: VarianceEstimate) =>
    variance === 0 ? 0 : studentTail(part / Math.sqrt(variance), degreesOfFreedom);
  const bounds = weights.map((w) => tail(w * drop, betweenMachines) + tail((1 - w) * drop, ofProcess));
  return Math.min(1, ...bounds);
}

/** No figure of the same thing loses more than this share of its centre. */
const largestLoss = 0.99;

/** Share of losses of the stated size that are missed. */
const missed = 0.01;

/**
 * The smallest relative loss (0.1 is 10 %) that is found in all but `missed` of the cases. A figure is called slow if
 * it lost at least `threshold` with a chance below `level`, and a slow figure may be above its true value. Null if even
 * nearly a whole loss is not found.
 */
export function leastLossFound(noise: FigureNoise, level: number, threshold: number): number | null {
  const shown = leastLossShown(noise, level, threshold);
  const above = leastLossShown(noise, missed, 0);
  if (shown === null || above === null) return null;
  const loss = 1 - (1 - shown) * (1 - above);
  return loss < largestLoss ? loss : null;
}

/**
 * The smallest relative loss of a figure, at least `threshold`, whose chance is below `level`; null if even nearly a
 * whole loss is not enough.
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

/** The standard deviation of a healthy figure's logarithm, with both parts. */
export function deviationOf({ betweenMachines, ofProcess }: FigureNoise): number {
  return Math.sqrt(betweenMachines.variance + ofProcess.variance);
}
