import { median } from "../../stats/order-statistics.js";
import {
  fitVariancePrior,
  mean,
  moderate,
  robustVariance,
  squaresAboutMean,
  type VarianceEstimate,
  winsorizedMoments,
} from "../../stats/variance.js";
import type { CellComparison } from "../comparison.js";

/**
 * The noise between processes: each run is a process, and the logarithm of a cell's median varies between them. Part of
 * that is specific to the cell; the rest is an offset that all cells of a kind share in a process.
 */

/**
 * One cell's logarithms of speed, one for each run, grouped by consecutive runs (the baseline's, the candidate's first
 * ones, the confirming ones). Every cell has the same groups in the same order; groups without measurements are empty.
 */
export interface NoisyCell {
  /** Cells of one kind are assumed to have similar noise. */
  kind: string;
  groups: readonly (readonly number[])[];
}

/** The noise of one cell. Its variance is that of the logarithm of one run's median. */
export interface CellNoise extends VarianceEstimate {
  /** Addition to that variance for the mean of several runs, because their offsets are correlated. */
  offsetVariance: number;
  /** The variance for detecting outliers, without the outliers' own part. */
  robustVariance: number;
  source: NonNullable<CellComparison["spread"]>["source"];
}

/** Fewest cells of a kind that allow fitting a prior of its variance. */
const fewestForPrior = 4;
/** Fewest cells of a kind that separate an offset from a cell's own noise. */
const fewestForOffset = 3;

/** Smallest assumed noise: a run's median is not more exact than 0.01 %. */
const leastVariance = 1e-8;

/**
 * Consecutive processes are correlated: the offsets of pageable and of staged copies have lag-1 correlations of 0.43 on
 * average in the recorded runs (results/nvidia-h200/noise.json). The variance of a mean of many such values is (1 + r)
 * / (1 - r) times that of independent ones (first-order autoregression).
 */
export const offsetCorrelation = 0.43;

/**
 * The correlation of the host's own copies: 0.14 in the recorded occasions, and 0.2 without the bias of short series.
 */
const hostCorrelation = 0.2;

function offsetInflation(kind: string): number {
  const correlation = kind === "host" ? hostCorrelation : offsetCorrelation;
  return (1 + correlation) / (1 - correlation);
}

/**
 * The noise of each cell, in their order; null if unknown. `recorded` is the fallback if these runs are too few: the
 * noise of other runs, by kind.
 */
export function estimateNoise(
  cells: readonly NoisyCell[],
  recorded: Readonly<Record<string, VarianceEstimate>> | null,
): (CellNoise | null)[] {
  const noise = new Array<CellNoise | null>(cells.length).fill(null);
  for (const kind of new Set(cells.map((cell) => cell.kind))) {
    const indices = [...cells.keys()].filter((i) => cells[i]!.kind === kind);
    const ofKind = noiseOfKind(
      kind,
      indices.map((i) => cells[i]!.groups),
      recorded?.[kind] ?? null,
    );
    indices.forEach((index, i) => {
      noise[index] = ofKind[i]!;
    });
  }
  return noise;
}

type Groups = NoisyCell["groups"];

function noiseOfKind(
  kind: string,
  cells: readonly Groups[],
  recorded: VarianceEstimate | null,
): (CellNoise | null)[] {
  const scales = robustVariances(cells, recorded);
  const own = cells.map((groups, i) => {
    const scale = scales[i]?.variance ?? 0;
    return pooledVariance(groups, (group) => winsorizedMoments(group, scale).sumOfSquares);
  });
  const variances = withPrior(own, recorded);
  const offset = offsetVarianceOf(cells);
  // A cell that was measured once has the noise of its kind, if these runs show it.
  const known = own.filter((estimate) => estimate !== null).length;
  return variances.map((estimate, i) => {
    if (estimate === null) return null;
    const variance = Math.max(leastVariance, estimate.variance);
    return {
      variance,
      degreesOfFreedom: estimate.degreesOfFreedom,
      offsetVariance: Math.min(variance, offset ?? variance) * (offsetInflation(kind) - 1),
      robustVariance: scales[i]!.variance,
      source: own[i] === null && known < fewestForPrior ? "recorded" : "these runs",
    };
  });
}

/**
 * The variance of one run's median for each cell of a kind (the groups of each): robust against outliers, and moderated
 * by the other cells; null if unknown.
 */
export function robustVariances(
  cells: readonly Groups[],
  recorded: VarianceEstimate | null,
): (VarianceEstimate | null)[] {
  return withPrior(cells.map(robustVariance), recorded);
}

/**
 * Each estimate shrunk towards its kind's, if enough cells allow fitting a prior. Recorded noise only replaces missing
 * estimates, because another machine's must not affect these runs' own.
 */
function withPrior(
  estimates: readonly (VarianceEstimate | null)[],
  recorded: VarianceEstimate | null,
): (VarianceEstimate | null)[] {
  const known = estimates
    .filter((estimate) => estimate !== null)
    .map(({ variance, degreesOfFreedom }) => ({
      variance: Math.max(leastVariance, variance),
      degreesOfFreedom,
    }));
  const prior = known.length >= fewestForPrior ? fitVariancePrior(known) : null;
  return estimates.map((estimate) => {
    if (estimate === null) return prior ?? recorded;
    return prior === null ? estimate : moderate(estimate, prior);
  });
}

/** The variance within the groups, from each group's sum of squares; null if no group has two runs. */
function pooledVariance(
  groups: Groups,
  squaresOf: (group: readonly number[]) => number,
): VarianceEstimate | null {
  const usable = groups.filter(({ length }) => length > 1);
  const degreesOfFreedom = usable.reduce((sum, { length }) => sum + length - 1, 0);
  if (degreesOfFreedom === 0) return null;
  const squares = usable.reduce((sum, group) => sum + squaresOf(group), 0);
  return { variance: squares / degreesOfFreedom, degreesOfFreedom };
}

/**
 * The variance of the offsets that cells of a kind share in a process. A run's offset is the median over the cells of
 * its distances to each cell's own median. Null with too few cells or runs.
 */
function offsetVarianceOf(cells: readonly Groups[]): number | null {
  if (cells.length < fewestForOffset) return null;
  let squares = 0;
  let degreesOfFreedom = 0;
  for (const g of cells[0]!.keys()) {
    const length = Math.max(...cells.map((groups) => groups[g]!.length));
    // A cell that some runs lack cannot be compared across runs.
    const aligned = cells.map((groups) => groups[g]!).filter((group) => group.length === length);
    if (length < 2 || aligned.length < fewestForOffset) continue;
    const residuals = aligned.map((group) => {
      const centre = median(group);
      return group.map((value) => value - centre);
    });
    const offsets = Array.from({ length }, (_, p) => median(residuals.map((row) => row[p]!)));
    squares += squaresAboutMean(offsets);
    degreesOfFreedom += length - 1;
  }
  return degreesOfFreedom === 0 ? null : squares / degreesOfFreedom;
}

/** Fewest runs for a robust centre: with one or two, an outlier moves the side's figure. */
export const fewestForCentre = 3;

/** Degrees of freedom over all cells of a kind from which these runs show the noise with its outliers. */
const fewestDegrees = 20;

/**
 * The variance of the logarithm of one run's median with outliers, for the cells of a kind (the groups of each), any of
 * which may have the outliers of another. It is the mean of the cells' variances, with 4 + 2 / c² degrees of freedom,
 * those of a scaled inverse chi-square distribution with the cells' coefficient of variation c; or the recorded noise
 * if that is larger. Null if neither is known.
 */
export function outlierSpread(
  cells: readonly Groups[],
  recorded: VarianceEstimate | null,
): VarianceEstimate | null {
  const own = cells
    .map((groups) => pooledVariance(groups, squaresAboutMean))
    .filter((estimate) => estimate !== null);
  const degrees = own.reduce((sum, { degreesOfFreedom }) => sum + degreesOfFreedom, 0);
  if (degrees < fewestDegrees || own.length < 2) return recorded;
  const variance = mean(own.map((estimate) => estimate.variance));
  const scatter = mean(own.map((estimate) => (estimate.variance - variance) ** 2));
  const these = {
    variance,
    degreesOfFreedom: scatter === 0 ? degrees : Math.min(degrees, 4 + (2 * variance ** 2) / scatter),
  };
  return recorded !== null && recorded.variance > these.variance ? recorded : these;
}
