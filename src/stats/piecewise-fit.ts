import { bestDivision } from "./division.js";
import { studentQuantile } from "./hypothesis-tests.js";
import { median } from "./order-statistics.js";
import { type FitSpan, fittedAt, type SpanFit, Sums } from "./span-fit.js";
import { robustVariance } from "./variance.js";

/**
 * Steps and drifts in a course of consecutive values: its pieces, each a level or a straight line.
 *
 * The best division follows asv (`asv/step_detect.py`, and Y.-C. Yao, "Estimating the number of change-points via Schwarz
 * criterion", Statistics & Probability Letters 6, 1988): of all divisions the one with the smallest
 *
 *     n / 2 ln(variance) + price of its parameters
 *
 * A step costs 3 ln(n) (asv: 4), because it has a place and a size, and more in short courses (`division.ts`). The variance
 * is that of the residuals without their lag-1 correlation: otherwise noise that lasts longer than a check would look like
 * steps. Other differences from asv: a piece may have a slope, for half the price of a step, and costs less if it continues
 * from the end of the one before. And squares are summed instead of absolute values, so that neither kind of piece needs a
 * search; single outliers are moved closer before (`drawnIn()`), which has the same effect on them as absolute values. For
 * each number of parameters the best division is found exactly, by dynamic programming (F. Friedrich et al., "Complexity
 * Penalized M-Estimation: Fast Computation", Journal of Computational and Graphical Statistics 17, 2008).
 */

/** A value with its own uncertainty. */
export interface CoursePoint {
  value: number;
  /** Standard error, in the value's unit; null if unknown. */
  error: number | null;
}

/** A range of points at one level or along a straight line. */
interface Piece {
  /** Index of its first point. */
  first: number;
  /** Index after its last point. */
  end: number;
  /** The fitted value at its first point. */
  start: number;
  /** Change from one point to the next; 0 for a level. */
  slope: number;
  /** 95 % interval of the slope; null for a level. */
  slopeInterval: { low: number; high: number } | null;
}

/** A sudden change of the level. */
interface Step {
  /** Index of the first point after it. */
  at: number;
  /** The smallest and the largest index at which it may also be: more than 1/20 as likely. */
  earliest: number;
  latest: number;
  /** The value after it minus the one before, and the 95 % interval of that. */
  size: number;
  low: number;
  high: number;
}

/** The pieces of a course, and the residuals. */
export interface PiecewiseFit {
  pieces: Piece[];
  steps: Step[];
  /** Each point's distance from its piece. */
  residuals: number[];
  /** Standard deviation of a residual, for a point of typical uncertainty. */
  deviation: number;
  /** Lag-1 correlation of the residuals, at least 0. */
  correlation: number;
  /** Number of fitted levels, slopes and places, by which the degrees of freedom of the residuals are reduced. */
  parameters: number;
}

/** No value is more certain than this: 0.01 % of a figure whose logarithm it is. */
const leastVariance = 1e-8;

/** Largest distance at which a point counts fully, in standard deviations from its neighbourhood's median. */
const reach = 3;
/** Number of neighbours of a point on each side, so that three outliers in a row are still a minority. */
const neighbours = 3;

/** Largest distance from the best place of a step, in log likelihood: exp(-3) is 1/20. */
const placeTolerance = 3;

/** The best division of the points into pieces; null without points. */
export function fitPieces(points: readonly CoursePoint[]): PiecewiseFit | null {
  if (points.length === 0) return null;
  const variances = variancesOf(points);
  const values = drawnIn(
    points.map(({ value }) => value),
    variances,
  );
  const sums = new Sums(values, variances);
  const division = bestDivision(sums, values, variances);
  const fitted = division.spans.map((span) => sums.fit(span));
  const valueAt = (i: number) => {
    const k = division.spans.findIndex(({ end }) => i < end);
    return fittedAt(fitted[k]!, i);
  };
  const residuals = points.map(({ value }, i) => value - valueAt(i));
  const { scale, correlation } = division;
  // The first piece begins with the first point, so that place is not a parameter.
  const parameters = division.parameters - 1;
  const noise: Noise = {
    // A mean of correlated values is less certain (first-order autoregression, many values).
    variance: (scale * (1 + correlation)) / (1 - correlation),
    quantile: studentQuantile(0.025, Math.max(1, points.length - parameters)),
  };
  return {
    pieces: division.spans.map((span, k) => pieceOf(span, fitted[k]!, noise)),
    steps: division.spans.flatMap((span, k) =>
      k === 0 || division.isJoined[k] ? [] : [stepBetween(division.spans[k - 1]!, span, sums, noise)],
    ),
    residuals,
    deviation: Math.sqrt(scale * median(variances)),
    correlation,
    parameters,
  };
}

/**
 * The variance of each point: its own, and the variation that all share, which is the excess of neighbours' differences
 * over their errors. That part is at least a quarter of the whole, so that a point that happens to look certain does
 * not outweigh more than a few others.
 */
function variancesOf(points: readonly CoursePoint[]): number[] {
  const differences = points.slice(1).map(({ value }, i) => value - points[i]!.value);
  // A difference of two has twice the variance of one.
  const total = (robustVariance([differences])?.variance ?? 0) / 2;
  const known = points.flatMap(({ error }) => (error === null ? [] : [error ** 2]));
  const typical = known.length === 0 ? 0 : median(known);
  const common = Math.max(leastVariance, total - typical, total / 4);
  return points.map(({ error }) => common + (error === null ? typical : error ** 2));
}

/**
 * The values, with those farther than 3 deviations from the median of their neighbourhood moved to that distance (F. R.
 * Hampel's filter): a median preserves steps, and up to three outliers in a row have little effect.
 */
function drawnIn(values: readonly number[], variances: readonly number[]): number[] {
  return values.map((value, i) => {
    const centre = median(values.slice(Math.max(0, i - neighbours), i + neighbours + 1));
    const most = reach * Math.sqrt(variances[i]!);
    return Math.max(centre - most, Math.min(centre + most, value));
  });
}

interface Noise {
  /** Variance of a mean, in units of the inverse sum of its weights. */
  variance: number;
  /** Quantile of Student's t for a 95 % interval. */
  quantile: number;
}

function pieceOf({ first, end, isLine }: FitSpan, fit: SpanFit, { variance, quantile }: Noise): Piece {
  const halfWidth = quantile * Math.sqrt(variance / fit.spread);
  return {
    first,
    end,
    start: fittedAt(fit, first),
    slope: fit.slope,
    slopeInterval: isLine ? { low: fit.slope - halfWidth, high: fit.slope + halfWidth } : null,
  };
}

function stepBetween(before: FitSpan, after: FitSpan, sums: Sums, noise: Noise): Step {
  const at = after.first;
  const fits = [sums.fit(before), sums.fit(after)] as const;
  const size = fittedAt(fits[1], at) - fittedAt(fits[0], at);
  const variance = noise.variance * (varianceAt(before, fits[0], at) + varianceAt(after, fits[1], at));
  const halfWidth = noise.quantile * Math.sqrt(variance);
  return { at, ...placesOf(before, after, sums, noise), size, low: size - halfWidth, high: size + halfWidth };
}

function varianceAt({ isLine }: FitSpan, { weight, spread, centre }: SpanFit, index: number): number {
  return 1 / weight + (isLine ? (index - centre) ** 2 / spread : 0);
}

function placesOf(
  before: FitSpan,
  after: FitSpan,
  sums: Sums,
  { variance }: Noise,
): Pick<Step, "earliest" | "latest"> {
  const squaresOf = ({ isLine }: FitSpan, first: number, end: number) =>
    isLine && end - first > 2 ? sums.lineSquares(first, end) : sums.levelSquares(first, end);
  const squaresAt = (at: number) => squaresOf(before, before.first, at) + squaresOf(after, at, after.end);
  const most = squaresAt(after.first) + 2 * placeTolerance * variance;
  let earliest = after.first;
  let latest = after.first;
  while (earliest - 1 > before.first && squaresAt(earliest - 1) <= most) --earliest;
  while (latest + 1 < after.end && squaresAt(latest + 1) <= most) ++latest;
  return { earliest, latest };
}
