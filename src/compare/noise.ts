import { median } from "../stats/order-statistics.js";
import {
  fitVariancePrior,
  moderate,
  robustVariance,
  squaresAboutMean,
  type VarianceEstimate,
  winsorizedMoments,
} from "../stats/variance.js";

/**
 * The noise between processes, of logarithms of their medians: an independent part of each cell, and an offset that
 * all cells of a memory kind share in a process.
 */

/**
 * One cell's logarithms, one a process, in a group for each set of processes that ran one after the other (the
 * baseline's, the candidate's, the confirmation's): the same groups, in the same order, for every cell, and empty
 * ones where it was not measured.
 */
export interface NoisyCell {
  memory: string;
  groups: readonly (readonly number[])[];
}

export interface CellNoise extends VarianceEstimate {
  /** What the processes' correlated offsets add to the variance of one figure where several are averaged. */
  offsetVariance: number;
  /** The variance by which samples are winsorized; outliers have no part in it. */
  robustVariance: number;
  source: "these runs" | "recorded";
}

/** Cells of a kind from which a prior of its variance can be fitted. */
const fewestForPrior = 4;
/** Cells of a kind below which an offset cannot be told from a cell's own noise. */
const fewestForOffset = 3;

/** A process's median is not known better than to 0.01 %: no spread is taken to be below. */
const leastVariance = 1e-8;

/**
 * Processes that follow one another are alike: the offsets of pageable and of staged copies have lag-1 correlations
 * of 0.43 on average in the recorded runs (results/nvidia-h200/noise.json). The variance of a mean of such values is larger than that of
 * independent ones by (1 + r) / (1 - r) (first-order autoregression, many values).
 */
export const offsetCorrelation = 0.43;
const offsetInflation = (1 + offsetCorrelation) / (1 - offsetCorrelation);

/**
 * The noise of each cell, in their order; null where nothing is known of it. `recorded` is what to fall back on
 * where these runs are too few: the spread of other runs, by memory kind.
 */
export function estimateNoise(
  cells: readonly NoisyCell[],
  recorded: Readonly<Record<string, VarianceEstimate>> | null,
): (CellNoise | null)[] {
  const noise = new Array<CellNoise | null>(cells.length).fill(null);
  for (const memory of new Set(cells.map((cell) => cell.memory))) {
    const indices = [...cells.keys()].filter((i) => cells[i]!.memory === memory);
    const ofKind = noiseOfKind(
      indices.map((i) => cells[i]!.groups),
      recorded?.[memory] ?? null,
    );
    indices.forEach((index, i) => {
      noise[index] = ofKind[i]!;
    });
  }
  return noise;
}

type Groups = NoisyCell["groups"];

function noiseOfKind(cells: readonly Groups[], recorded: VarianceEstimate | null): (CellNoise | null)[] {
  const scales = withPrior(cells.map(robustVariance), recorded);
  const own = cells.map((groups, i) => scatterOf(groups, scales[i]?.variance ?? 0));
  const variances = withPrior(own, recorded);
  const offset = offsetVarianceOf(cells);
  // A cell without spread of its own still has that of its kind, where these runs tell it.
  const known = own.filter((estimate) => estimate !== null).length;
  return variances.map((estimate, i) => {
    if (estimate === null) return null;
    const variance = Math.max(leastVariance, estimate.variance);
    return {
      variance,
      degreesOfFreedom: estimate.degreesOfFreedom,
      offsetVariance: Math.min(variance, offset ?? variance) * (offsetInflation - 1),
      robustVariance: scales[i]!.variance,
      source: own[i] === null && known < fewestForPrior ? "recorded" : "these runs",
    };
  });
}

/**
 * Each estimate after the prior of its kind, where there are cells enough to fit one. The recorded spread is for cells
 * without an estimate alone: another machine's must not pull at what these runs say of themselves.
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

/** Pooled variance within the groups, from the winsorized samples; null where no group has two. */
function scatterOf(groups: Groups, variance: number): VarianceEstimate | null {
  const usable = groups.filter(({ length }) => length > 1);
  const degreesOfFreedom = usable.reduce((sum, { length }) => sum + length - 1, 0);
  if (degreesOfFreedom === 0) return null;
  const squares = usable.reduce((sum, group) => sum + winsorizedMoments(group, variance).sumOfSquares, 0);
  return { variance: squares / degreesOfFreedom, degreesOfFreedom };
}

/**
 * Variance of the offsets that the cells of a kind share in a process, from their median over the cells; null where
 * there are too few cells, or processes, to tell.
 */
function offsetVarianceOf(cells: readonly Groups[]): number | null {
  if (cells.length < fewestForOffset) return null;
  let squares = 0;
  let degreesOfFreedom = 0;
  for (const g of cells[0]!.keys()) {
    const length = Math.max(...cells.map((groups) => groups[g]!.length));
    // A cell that some of the processes lack cannot be lined up with the others.
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
