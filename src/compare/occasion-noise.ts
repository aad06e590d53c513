import { median } from "../stats/order-statistics.js";
import { mean, moderate, squaresAboutMean, type VarianceEstimate } from "../stats/variance.js";
import { fewestOccasions } from "./occasions.js";

/**
 * The noise between occasions. Runs that follow one another share what the machine does in these minutes; how it is an
 * hour later, only runs of another hour tell. The logarithm of a cell's speed has an offset on each occasion that all
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

/** With fewer cells, what they share cannot be told from what is each one's own. */
const fewestCells = 3;

/**
 * The noise between occasions of one kind, from as many sources as there are (a baseline's sessions, a history), each
 * with its own levels and weighted by its degrees of freedom; `recorded`, which may be null, where no source has three
 * occasions. It is an analysis of variance in two ways, cell and occasion, in which an occasion's shared offset is the
 * median over the cells. The centres' own errors are not taken out: the estimate rather errs to the careful side.
 */
export function estimateOccasionNoise(
  sources: readonly OccasionCentres[],
  recorded: OccasionNoise | null,
): OccasionNoise | null {
  const known = sources.map(ofSource).filter((noise) => noise !== null);
  const [first, ...others] = known;
  if (first === undefined) return recorded;
  return others.reduce(
    (noise, one) => ({ shared: moderate(one.shared, noise.shared), own: moderate(one.own, noise.own) }),
    first,
  );
}

function ofSource(cells: OccasionCentres): OccasionNoise | null {
  const occasions = Math.max(0, ...cells.map(({ length }) => length));
  if (occasions < fewestOccasions) return null;
  const residuals = cells
    .filter(({ length }) => length === occasions)
    .map((centres) => centres.map((centre) => centre - mean(centres)));
  const degreesOfShared = occasions - 1;
  if (residuals.length < fewestCells) {
    const squares = residuals.flat().reduce((sum, residual) => sum + residual ** 2, 0);
    const all = {
      variance: squares / (residuals.length * degreesOfShared),
      degreesOfFreedom: degreesOfShared,
    };
    return { shared: all, own: { variance: 0, degreesOfFreedom: degreesOfShared } };
  }
  const shared = Array.from({ length: occasions }, (_, o) => median(residuals.map((row) => row[o]!)));
  const own = residuals.map((row) => squaresAboutMean(row.map((residual, o) => residual - shared[o]!)));
  const degreesOfOwn = degreesOfShared * (residuals.length - 1);
  return {
    shared: {
      variance: squaresAboutMean(shared) / degreesOfShared,
      degreesOfFreedom: degreesOfShared,
    },
    own: {
      variance: own.reduce((sum, squares) => sum + squares, 0) / degreesOfOwn,
      degreesOfFreedom: degreesOfOwn,
    },
  };
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
