import { areRecorded } from "../../results/claimed-interval.js";
import { median } from "../../stats/order-statistics.js";
import {
  mean,
  moderate,
  robustVariance,
  squaresAboutMean,
  sumOf,
  type VarianceEstimate,
  winsorizedMoments,
} from "../../stats/variance.js";
import type { CellComparison } from "../comparison.js";
import { fewestOccasions } from "../occasions.js";
import { robustVariances } from "./noise.js";

/**
 * The noise between occasions. Consecutive runs share the machine's state; only runs of another hour show how it
 * differs then. On each occasion, the logarithm of a cell's speed has an offset that all cells of its kind share, and
 * one of its own.
 */

/** Variances of one occasion's offsets, in squared logarithms. */
export interface OccasionNoise {
  /** Variance of the offset that all cells of a kind share on an occasion. */
  shared: VarianceEstimate;
  /** Variance of a cell's own offset about the shared one. */
  own: VarianceEstimate;
}

/**
 * One source's record of several occasions: for each cell of a kind, the centre of its log speeds on each occasion, in
 * the same order. The centres may be relative to any level.
 */
export type OccasionCentres = readonly (readonly number[])[];

/** Fewest cells that separate the shared offset from each cell's own. */
const fewestCells = 3;

/** Degrees of freedom from which a machine's own occasions replace recorded noise. */
const enoughDegrees = 6;

/**
 * Fewest occasions among which outliers are winsorized: of five, three that are close by chance would make outliers of
 * the other two.
 */
export const fewestForOutliers = 8;

/**
 * The noise between occasions of one kind, from all sources (a baseline's sessions, each machine of a history), each
 * with its own levels and weighted by its degrees of freedom. `start` is a machine's initial noise. It adds the degrees
 * of freedom that the machine's own occasions lack, for each of both variances separately (`completed()`); with
 * `isStartAlone` it counts only without own occasions. The method is a two-way analysis of variance, cell and occasion;
 * an occasion's shared offset is the median over the cells. Outlying occasions are winsorized so that a disturbed one
 * does not hide a later loss. The centres' own errors are included, so the estimate is rather too large.
 */
export function estimateOccasionNoise(
  sources: readonly OccasionCentres[],
  start: OccasionNoise,
  { isStartAlone = false }: { isStartAlone?: boolean } = {},
): OccasionNoise {
  const known = sources.map(ofSource).filter((noise) => noise !== null);
  const [first, ...others] = known;
  if (first === undefined) return start;
  const own = others.reduce(moderateBoth, first);
  if (isStartAlone) return own;
  return { shared: completed(own.shared, start.shared), own: completed(own.own, start.own) };
}

/**
 * If a machine's own occasions are noisier than the initial noise, only they count: the initial noise must not hide
 * that.
 */
function completed(own: VarianceEstimate, start: VarianceEstimate): VarianceEstimate {
  const missing = Math.min(enoughDegrees - own.degreesOfFreedom, start.degreesOfFreedom);
  if (missing <= 0 || own.variance > start.variance) return own;
  return moderate(own, { variance: start.variance, degreesOfFreedom: missing });
}

function moderateBoth(one: OccasionNoise, other: OccasionNoise): OccasionNoise {
  return { shared: moderate(one.shared, other.shared), own: moderate(one.own, other.own) };
}

function ofSource(cells: OccasionCentres): OccasionNoise | null {
  const occasions = Math.max(0, ...cells.map(({ length }) => length));
  if (occasions < fewestOccasions) return null;
  const levelOf = occasions < fewestForOutliers ? mean : median;
  const residuals = cells
    .filter(({ length }) => length === occasions)
    .map((centres) => {
      const level = levelOf(centres);
      return centres.map((centre) => centre - level);
    });
  const degreesOfFreedom = occasions - 1;
  if (residuals.length < fewestCells) {
    const squares = residuals.reduce((sum, row) => sum + squaresWithoutOutliers(row), 0);
    return {
      shared: { variance: squares / (residuals.length * degreesOfFreedom), degreesOfFreedom },
      own: { variance: 0, degreesOfFreedom },
    };
  }
  const shared = Array.from({ length: occasions }, (_, o) => median(residuals.map((row) => row[o]!)));
  const own = residuals.map((row) => row.map((residual, o) => residual - shared[o]!));
  const scales = robustVariances(
    own.map((row) => [row]),
    null,
  );
  const ownSquares = own.reduce((sum, row, i) => sum + squaresWithoutOutliers(row, scales[i]?.variance), 0);
  const degreesOfOwn = degreesOfFreedom * (residuals.length - 1);
  return {
    shared: { variance: squaresWithoutOutliers(shared) / degreesOfFreedom, degreesOfFreedom },
    own: { variance: ownSquares / degreesOfOwn, degreesOfFreedom: degreesOfOwn },
  };
}

/** The sum of squares about the mean; outliers among many values are first moved to three robust deviations. */
function squaresWithoutOutliers(
  values: readonly number[],
  scale = robustVariance([values])?.variance,
): number {
  if (values.length < fewestForOutliers || scale === undefined) return squaresAboutMean(values);
  return winsorizedMoments(values, scale).sumOfSquares;
}

/**
 * The variance that the offsets of the baseline's occasions (`occasionRuns`: the runs of each) and of the candidate's
 * one occasion add to the change between them, as separately estimated parts.
 */
export function betweenOccasions(
  occasionRuns: readonly number[],
  { shared, own }: OccasionNoise,
): { shared: VarianceEstimate; own: VarianceEstimate } {
  const runs = sumOf(occasionRuns);
  // The variance of the mean of offsets with variance 1, each weighted by its occasion's runs: 1/3 for three equal
  // ones.
  const ofBaseline = occasionRuns.reduce((sum, one) => sum + (one / runs) ** 2, 0);
  return { shared: times(shared, 1 + ofBaseline), own: times(own, 1 + ofBaseline) };
}

/**
 * Recorded noise between occasions and recorded effect of the host, by kind of memory, for comparisons with too few
 * runs of their own.
 */

/**
 * Noise between a baseline's occasions without the host's part: between three machines with an NVIDIA H200 each,
 * minutes apart (results/nvidia-h200/occasions.json; `node bench/regress/recorded-occasions.mjs` prints these lines and
 * the slopes). It says little about other machines. Kinds that were not recorded are absent.
 */
export const recordedOccasionNoise: Readonly<Record<string, OccasionNoise>> = {
  pageable: {
    shared: { variance: 1.2e-4, degreesOfFreedom: 2 },
    own: { variance: 1.9e-3, degreesOfFreedom: 14 },
  },
  staged: {
    shared: { variance: 3.2e-4, degreesOfFreedom: 2 },
    own: { variance: 8.5e-4, degreesOfFreedom: 14 },
  },
  pinned: {
    shared: { variance: 1.2e-6, degreesOfFreedom: 2 },
    own: { variance: 1.1e-5, degreesOfFreedom: 14 },
  },
  host: {
    shared: { variance: 5.9e-3, degreesOfFreedom: 2 },
    own: { variance: 3.8e-3, degreesOfFreedom: 6 },
  },
};

/**
 * Factor on the variance for GPUs that were not recorded: four, twice the deviation. It also applies to the shared
 * noise of copies through the CPU on recorded GPUs, because three machines' memory says little about the next one's.
 */
export const varianceFactorOfBound = 4;

/** A bound is more certain than the estimate behind it: it counts like five occasions. */
const degreesOfBound = 4;

/**
 * The recorded kind that replaces a kind of cells. Copies that the device makes by itself are like pinned ones. In
 * single-copy latencies and beside a load, the CPU takes part as in pageable ones.
 */
export function standInFor(cell: { memory: string; beside?: unknown }, unit: CellComparison["unit"]): string {
  if (cell.memory === "staged" || cell.memory === "host") return cell.memory;
  const isOfCpu =
    ["pageable", "mapped", "system"].includes(cell.memory) || unit === "us" || cell.beside !== undefined;
  return isOfCpu ? "pageable" : "pinned";
}

/**
 * The initial noise between occasions of a series, until its own runs show it: a bound from the most similar recorded
 * kind.
 */
export function startingOccasionNoise(
  series: Pick<CellComparison, "unit"> & { cell: Parameters<typeof standInFor>[0] },
  deviceNames: readonly string[],
): OccasionNoise {
  const kind = standInFor(series.cell, series.unit);
  const { shared, own } = recordedOccasionNoise[kind]!;
  if (areRecorded(deviceNames)) {
    return { shared: kind === "pinned" ? shared : times(shared, varianceFactorOfBound), own };
  }
  const bound = (estimate: VarianceEstimate) => ({
    ...times(estimate, varianceFactorOfBound),
    degreesOfFreedom: Math.max(degreesOfBound, estimate.degreesOfFreedom),
  });
  return { shared: bound(shared), own: bound(own) };
}

/** The estimate with its variance multiplied by `factor`, and the same certainty. */
export function times({ variance, degreesOfFreedom }: VarianceEstimate, factor: number): VarianceEstimate {
  return { variance: variance * factor, degreesOfFreedom };
}

/** Percent that a kind's copies lose for each percent that the host's own copies lose: 0 to 1. */
export interface HostSlope {
  slope: number;
  /** Variance of the slope's estimate. */
  variance: number;
}

/** The recorded share of a change of the host's own copies that pageable and staged copies show. */
export const recordedHostSlopes: Readonly<Record<string, HostSlope>> = {
  pageable: { slope: 1, variance: 0.01 },
  staged: { slope: 1, variance: 0.01 },
};
