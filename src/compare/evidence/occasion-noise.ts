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
 * The noise between occasions. Runs that follow one another share what the machine does in these minutes; how it is an
 * hour later, only runs of another hour show. The logarithm of a cell's speed has an offset on each occasion that all
 * cells of its kind share, and one of its own.
 */

/** Variances of one occasion's offsets, in squared logarithms. */
export interface OccasionNoise {
  /** Of the offset that all cells of a kind share on an occasion. */
  shared: VarianceEstimate;
  /** Of a cell's own offset about the shared one. */
  own: VarianceEstimate;
}

/**
 * What one source knows of several occasions: for each cell of a kind the centre of its logarithms of speed on each
 * occasion, the same occasions in the same order. The centres of a cell may be about any level.
 */
export type OccasionCentres = readonly (readonly number[])[];

/** With fewer cells, what they share cannot be separated from what is each one's own. */
const fewestCells = 3;

/** From so many degrees of freedom on, a machine's own occasions show its noise without what was recorded elsewhere. */
const enoughDegrees = 6;

/**
 * With fewer occasions, one that lies far off is not known from the others' spread, and counts in full: of five, three that
 * are close by chance would make outliers of the other two.
 */
export const fewestForOutliers = 8;

/**
 * The noise between occasions of one kind, from as many sources as there are (a baseline's sessions, each machine of a
 * history), each with its own levels and weighted by its degrees of freedom. `start` is where a machine begins. Beside a
 * machine's own occasions it fills up the degrees of freedom that these lack, for each of both variances by itself
 * (`completed()`); with `isStartAlone` it counts only where there are none. It is an analysis of variance in two ways, cell
 * and occasion, in which an occasion's shared offset is the median over the cells. Outlying occasions are winsorized, so that a
 * disturbed one does not hide a later loss. The centres' own errors are not taken out: the estimate errs to the careful side.
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

/** A machine that is noisier than where it began is known by its own occasions: the start must not make it look quieter. */
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

/** The sum of squares about the mean, for which outliers of many values are moved to three robust deviations. */
function squaresWithoutOutliers(
  values: readonly number[],
  scale = robustVariance([values])?.variance,
): number {
  if (values.length < fewestForOutliers || scale === undefined) return squaresAboutMean(values);
  return winsorizedMoments(values, scale).sumOfSquares;
}

/**
 * What the offsets of a baseline's occasions (`occasionRuns`: the runs of each) and of the one occasion of a candidate add
 * to the variance of the change between them, as parts that are estimated by themselves.
 */
export function betweenOccasions(
  occasionRuns: readonly number[],
  { shared, own }: OccasionNoise,
): { shared: VarianceEstimate; own: VarianceEstimate } {
  const runs = occasionRuns.reduce((sum, one) => sum + one, 0);
  // The variance of the mean of offsets of 1, each weighted by its occasion's runs: 1/3 for three alike.
  const ofBaseline = occasionRuns.reduce((sum, one) => sum + (one / runs) ** 2, 0);
  const times = ({ variance, degreesOfFreedom }: VarianceEstimate) => ({
    variance: variance * (1 + ofBaseline),
    degreesOfFreedom,
  });
  return { shared: times(shared), own: times(own) };
}
