import { bestDivision } from "./division.js";
import { studentQuantile } from "./hypothesis-tests.js";
import { median } from "./order-statistics.js";
import { fittedAt, type Span, type SpanFit, Sums } from "./span-fit.js";
import { robustVariance } from "./variance.js";

/**
 * Steps and drifts in a course of values, one after the other: the pieces into which it is divided, each a level or a
 * straight line.
 *
 * Which division is best follows asv (`asv/step_detect.py`, and Y.-C. Yao, "Estimating the number of change-points via
 * Schwarz criterion", Statistics & Probability Letters 6, 1988): of all divisions the one with the least
 *
 *     n / 2 ln(variance) + price of its parameters
 *
 * A step costs 3 ln(n) (asv: 4), as it has a place and a size, and more in short courses (`division.ts`). The variance is
 * that of what is left after a lag-1 correlation of the residuals: noise that lasts longer than a check would else be
 * taken for steps. What is different: a piece may have a slope, for half the price of a step, and begins for less where it
 * goes on from the one before. And squares are summed instead of absolute values, so that neither kind of piece costs a
 * search; single outliers are drawn in before (`drawnIn()`), which does for them what absolute values do. For each number
 * of parameters the best division is found exactly, by dynamic programming (F. Friedrich et al., "Complexity Penalized
 * M-Estimation: Fast Computation", Journal of Computational and Graphical Statistics 17, 2008).
 */

/** A value, and how far it is uncertain by itself. */
export interface CoursePoint {
  value: number;
  /** Standard error, in the value's unit; null where it is not known. */
  error: number | null;
}

/** From one point up to another one, at one level or along a straight line. */
export interface Piece {
  /** Index of its first point. */
  first: number;
  /** Index after its last point. */
  end: number;
  /** The fitted value at its first point. */
  start: number;
  /** From one point to the next; 0 for a level. */
  slope: number;
  /** 95 % interval of the slope; null for a level. */
  slopeInterval: { low: number; high: number } | null;
}

/** Where the level changes at once. */
export interface Step {
  /** Index of the first point after it. */
  at: number;
  /** The least and the largest index at which it may as well have been: more than 1/20 as likely. */
  earliest: number;
  latest: number;
  /** The value after it less the one before, and the 95 % interval of that. */
  size: number;
  low: number;
  high: number;
}

/** The pieces of a course, and what is left of it. */
export interface PiecewiseFit {
  pieces: Piece[];
  steps: Step[];
  /** Each point's distance to its piece. */
  residuals: number[];
  /** Standard deviation of a residual: of a point that is as uncertain as most are. */
  deviation: number;
  /** Correlation of residuals that follow one another, from 0. */
  correlation: number;
  /** Levels, slopes and places that were fitted: the residuals have so many degrees of freedom less. */
  parameters: number;
}

/** No value is taken to be known better than that: 0.01 % of a figure whose logarithm it is. */
const leastVariance = 1e-8;

/** How far from the median of its neighbourhood a point may count, in standard deviations. */
const reach = 3;
/** Number of neighbours of a point on each side. Three outliers in a row are still a minority. */
const neighbours = 3;

/** As far from the best place, in log likelihood, a step may still have been: exp(-3) is 1/20. */
const placeTolerance = 3;

/** The best division of the points into pieces; null where there are none. */
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
  // The first piece begins where the points do.
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
 * The variance of each point: its own, and what all of them vary by besides, which is what neighbours differ by more than
 * their errors say. That part is at least a quarter of all, so that no point that happens to look certain outweighs
 * more than a few others.
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
 * The values, of which those farther than 3 deviations from the median of their neighbourhood are moved to that distance
 * (F. R. Hampel's filter): a step stays where it is, as a median keeps it, and up to three outliers in a row count little.
 */
function drawnIn(values: readonly number[], variances: readonly number[]): number[] {
  return values.map((value, i) => {
    const centre = median(values.slice(Math.max(0, i - neighbours), i + neighbours + 1));
    const most = reach * Math.sqrt(variances[i]!);
    return Math.max(centre - most, Math.min(centre + most, value));
  });
}

interface Noise {
  /** Of a mean, in units of the inverse sum of its weights. */
  variance: number;
  /** Of Student's t, for a 95 % interval. */
  quantile: number;
}

function pieceOf({ first, end, isLine }: Span, fit: SpanFit, { variance, quantile }: Noise): Piece {
  const halfWidth = quantile * Math.sqrt(variance / fit.spread);
  return {
    first,
    end,
    start: fittedAt(fit, first),
    slope: fit.slope,
    slopeInterval: isLine ? { low: fit.slope - halfWidth, high: fit.slope + halfWidth } : null,
  };
}

function stepBetween(before: Span, after: Span, sums: Sums, noise: Noise): Step {
  const at = after.first;
  const fits = [sums.fit(before), sums.fit(after)] as const;
  const size = fittedAt(fits[1], at) - fittedAt(fits[0], at);
  const variance = noise.variance * (varianceAt(before, fits[0], at) + varianceAt(after, fits[1], at));
  const halfWidth = noise.quantile * Math.sqrt(variance);
  return { at, ...placesOf(before, after, sums, noise), size, low: size - halfWidth, high: size + halfWidth };
}

function varianceAt({ isLine }: Span, { weight, spread, centre }: SpanFit, index: number): number {
  return 1 / weight + (isLine ? (index - centre) ** 2 / spread : 0);
}

function placesOf(
  before: Span,
  after: Span,
  sums: Sums,
  { variance }: Noise,
): Pick<Step, "earliest" | "latest"> {
  const squaresOf = ({ isLine }: Span, first: number, end: number) =>
    isLine && end - first > 2 ? sums.lineSquares(first, end) : sums.levelSquares(first, end);
  const squaresAt = (at: number) => squaresOf(before, before.first, at) + squaresOf(after, at, after.end);
  const most = squaresAt(after.first) + 2 * placeTolerance * variance;
  let earliest = after.first;
  let latest = after.first;
  while (earliest - 1 > before.first && squaresAt(earliest - 1) <= most) --earliest;
  while (latest + 1 < after.end && squaresAt(latest + 1) <= most) ++latest;
  return { earliest, latest };
}
