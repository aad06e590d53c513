import { median } from "../../stats/order-statistics.js";
import {
  mean,
  moderate,
  robustVariance,
  squaresAboutMean,
  type VarianceEstimate,
  winsorizedMoments,
} from "../../stats/variance.js";
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
  const runs = occasionRuns.reduce((sum, one) => sum + one, 0);
  // The variance of the mean of offsets with variance 1, each weighted by its occasion's runs: 1/3 for three equal
  // ones.
  const ofBaseline = occasionRuns.reduce((sum, one) => sum + (one / runs) ** 2, 0);
  const times = ({ variance, degreesOfFreedom }: VarianceEstimate) => ({
    variance: variance * (1 + ofBaseline),
    degreesOfFreedom,
  });
  return { shared: times(shared), own: times(own) };
}
