import { studentQuantile } from "./hypothesis-tests.js";
import { median } from "./order-statistics.js";
import { robustVariance } from "./variance.js";

/**
 * Steps and drifts in a course of values, one after the other: the pieces into which it is divided, each a level or a
 * straight line.
 *
 * Which division is best follows asv (`asv/step_detect.py`, and Y.-C. Yao, "Estimating the number of change-points via
 * Schwarz criterion", Statistics & Probability Letters 6, 1988): of all divisions the one with the least
 *
 *     n / 2 ln(variance) + 4 ln(n) steps
 *
 * where the variance is that of what is left after a lag-1 correlation of the residuals, as noise that lasts longer
 * than a check would else be taken for steps. What is different: a piece may have a slope, for half the price of a step,
 * which has a place and a size. And squares are summed instead of absolute values, so that both kinds of piece cost no
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
  /** Numbers that the pieces were fitted by; the residuals have so many degrees of freedom less. */
  parameters: number;
}

/** A level needs so many points: two that agree may be neighbouring outliers. */
const shortestLevel = 3;
/** Along fewer points a line is a step that a point lies in the middle of. */
const shortestLine = 10;

/** What the criterion takes for each parameter, in units of ln n; a step has two (asv's beta of 4). */
const pricePerParameter = 2;
const parametersOf = { level: 2, line: 3 } as const;

/** After so many more parameters that improve nothing the best number is found; a passing fault takes two steps, 4. */
const patience = 6;

/** No value is taken to be known better than that: 0.01 % of a figure whose logarithm it is. */
const leastVariance = 1e-8;

/**
 * The residuals' variance is not taken to be smaller than so much of the one that neighbours' differences show: with
 * few points, a fit can meet them by chance.
 */
const leastVarianceShare = 0.1;

/** Noise that lasts longer than this is no noise between checks. */
const mostCorrelation = 0.9;

/** How far from the median of its neighbourhood a point may count, in standard deviations. */
const reach = 3;
/** The neighbourhood of a point: so many on both sides. Three outliers in a row are still a minority. */
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
    return valueOf(fitted[k]!, i);
  };
  const residuals = points.map(({ value }, i) => value - valueAt(i));
  const { scale, correlation, parameters } = division;
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

/** A run of points that are fitted by one piece. */
interface Span {
  first: number;
  end: number;
  isLine: boolean;
}

/** The weighted least squares fit of a span: value = mean + slope (index - centre). */
interface SpanFit {
  mean: number;
  centre: number;
  slope: number;
  /** Sum of the weighted squares of the residuals. */
  squares: number;
  /** Sums of the weights, and of the weighted squares of the indices about their centre. */
  weight: number;
  spread: number;
}

function valueOf({ mean, slope, centre }: SpanFit, index: number): number {
  return mean + slope * (index - centre);
}

/** Sums from the first point on: the fit of any span takes the same few operations. */
class Sums {
  readonly length: number;
  readonly #weight: Float64Array;
  readonly #x: Float64Array;
  readonly #xx: Float64Array;
  readonly #y: Float64Array;
  readonly #xy: Float64Array;
  readonly #yy: Float64Array;
  /** Subtracted from the values: the squares of what is far from 0 would leave no digits for their differences. */
  readonly #origin: number;

  constructor(values: readonly number[], variances: readonly number[]) {
    this.length = values.length;
    this.#origin = median(values);
    const column = () => new Float64Array(values.length + 1);
    this.#weight = column();
    this.#x = column();
    this.#xx = column();
    this.#y = column();
    this.#xy = column();
    this.#yy = column();
    for (const [i, value] of values.entries()) {
      const w = 1 / variances[i]!;
      const y = value - this.#origin;
      this.#weight[i + 1] = this.#weight[i]! + w;
      this.#x[i + 1] = this.#x[i]! + w * i;
      this.#xx[i + 1] = this.#xx[i]! + w * i * i;
      this.#y[i + 1] = this.#y[i]! + w * y;
      this.#xy[i + 1] = this.#xy[i]! + w * i * y;
      this.#yy[i + 1] = this.#yy[i]! + w * y * y;
    }
  }

  /** The squares that a level leaves of a span. */
  levelSquares(first: number, end: number): number {
    const w = this.#weight[end]! - this.#weight[first]!;
    const y = this.#y[end]! - this.#y[first]!;
    return Math.max(0, this.#yy[end]! - this.#yy[first]! - (y * y) / w);
  }

  /** The squares that a line leaves of a span. */
  lineSquares(first: number, end: number): number {
    const w = this.#weight[end]! - this.#weight[first]!;
    const x = this.#x[end]! - this.#x[first]!;
    const y = this.#y[end]! - this.#y[first]!;
    const xx = this.#xx[end]! - this.#xx[first]! - (x * x) / w;
    const xy = this.#xy[end]! - this.#xy[first]! - (x * y) / w;
    return Math.max(0, this.#yy[end]! - this.#yy[first]! - (y * y) / w - (xy * xy) / xx);
  }

  fit({ first, end, isLine }: Span): SpanFit {
    const weight = this.#weight[end]! - this.#weight[first]!;
    const x = this.#x[end]! - this.#x[first]!;
    const y = this.#y[end]! - this.#y[first]!;
    const spread = this.#xx[end]! - this.#xx[first]! - (x * x) / weight;
    const xy = this.#xy[end]! - this.#xy[first]! - (x * y) / weight;
    return {
      mean: this.#origin + y / weight,
      centre: x / weight,
      slope: isLine ? xy / spread : 0,
      squares: isLine ? this.lineSquares(first, end) : this.levelSquares(first, end),
      weight,
      spread,
    };
  }
}

interface Division {
  spans: Span[];
  /** Of each span, whether the course goes on from where the one before it ends. */
  isJoined: boolean[];
  /** By what the variances of the points are to be multiplied. */
  scale: number;
  correlation: number;
  parameters: number;
}

/** The division with the least criterion, among the best ones of each number of parameters. */
function bestDivision(sums: Sums, values: readonly number[], variances: readonly number[]): Division {
  const n = sums.length;
  const search = new DivisionSearch(sums);
  let best: (Division & { criterion: number }) | null = null;
  let mostParameters = 2 * n;
  for (let parameters = 2; parameters <= mostParameters; ++parameters) {
    const spans = search.next();
    if (spans === null) continue;
    const noise = noiseOf(spans, sums, values, variances);
    const joined = joinedSpans(spans, noise.scale, sums, values, variances);
    const scale = noise.scale + joined.squares / n;
    const left = parameters - joined.isJoined.filter(Boolean).length;
    const innovations = Math.max(leastVarianceShare, scale * (1 - noise.correlation ** 2));
    const criterion = (n / 2) * Math.log(innovations) + pricePerParameter * Math.log(n) * left;
    if (best === null || criterion < best.criterion) {
      best = { ...noise, spans, isJoined: joined.isJoined, scale, parameters: left, criterion };
      mostParameters = parameters + patience;
    }
  }
  const { scale, ...division } = best!;
  return { ...division, scale: Math.max(leastVarianceShare, scale) };
}

/**
 * Which spans begin where the one before ends: those where a drift begins or ends, if a fit without a jump there leaves
 * squares that are worth less than the parameter that the jump is. `squares` is by how much they are more in all.
 */
function joinedSpans(
  spans: readonly Span[],
  scale: number,
  sums: Sums,
  values: readonly number[],
  variances: readonly number[],
): { isJoined: boolean[]; squares: number } {
  const worth = 2 * pricePerParameter * Math.log(values.length) * Math.max(leastVarianceShare, scale);
  const increases = spans.map((span, k) => {
    const before = spans[k - 1];
    if (before === undefined || !(before.isLine || span.isLine)) return Number.POSITIVE_INFINITY;
    const apart = sums.fit(before).squares + sums.fit(span).squares;
    return Math.max(0, bentSquares(before, span, values, variances) - apart);
  });
  const isJoined = increases.map((increase) => increase < worth);
  return { isJoined, squares: increases.reduce((sum, one, k) => sum + (isJoined[k] ? one : 0), 0) };
}

/**
 * The squares that the best bent line leaves of two spans that follow one another: value = a + b (index - bend), with
 * b on the side of the bend that is a line; with lines on both sides, one b each.
 */
function bentSquares(
  before: Span,
  after: Span,
  values: readonly number[],
  variances: readonly number[],
): number {
  let least = Number.POSITIVE_INFINITY;
  for (let bend = before.first + 1; bend < after.end; ++bend) {
    // Normal equations of three unknowns; what a level has no slope for keeps a 1 on the diagonal.
    const m = [
      [0, 0, 0, 0],
      [0, before.isLine ? 0 : 1, 0, 0],
      [0, 0, after.isLine ? 0 : 1, 0],
    ];
    let total = 0;
    for (let i = before.first; i < after.end; ++i) {
      const w = 1 / variances[i]!;
      const y = values[i]! - values[bend]!;
      const row = [
        1,
        before.isLine ? Math.min(0, i - bend) : 0,
        after.isLine ? Math.max(0, i - bend) : 0,
        y,
      ] as const;
      total += w * y * y;
      for (let r = 0; r < 3; ++r) for (let c = r; c < 4; ++c) m[r]![c]! += w * row[r]! * row[c]!;
    }
    least = Math.min(least, total - explainedSquares(m));
  }
  return least;
}

/** What the solution of three normal equations (upper triangle and right side) takes away, by Cholesky's method. */
function explainedSquares(m: readonly number[][]): number {
  let explained = 0;
  for (let r = 0; r < 3; ++r) {
    const [pivot, side] = [m[r]![r]!, m[r]![3]!];
    if (!(pivot > 0)) continue;
    explained += (side * side) / pivot;
    for (let s = r + 1; s < 3; ++s) {
      const factor = m[r]![s]! / pivot;
      for (let c = s; c < 4; ++c) m[s]![c]! -= factor * m[r]![c]!;
    }
  }
  return explained;
}

/** Finds the division with the least squares for one number of parameters after the other: 2, 3, and so on. */
class DivisionSearch {
  readonly #sums: Sums;
  /** For each number of parameters, the least squares of the points up to each index, and the last span of that. */
  readonly #squares: Float64Array[] = [];
  readonly #first: Int32Array[] = [];
  readonly #isLine: Uint8Array[] = [];

  constructor(sums: Sums) {
    this.#sums = sums;
    for (let parameters = 0; parameters < 2; ++parameters) this.#add();
    this.#squares[0]![0] = 0;
  }

  #add(): { squares: Float64Array; first: Int32Array; isLine: Uint8Array } {
    const count = this.#sums.length + 1;
    const added = {
      squares: new Float64Array(count).fill(Number.POSITIVE_INFINITY),
      first: new Int32Array(count),
      isLine: new Uint8Array(count),
    };
    this.#squares.push(added.squares);
    this.#first.push(added.first);
    this.#isLine.push(added.isLine);
    return added;
  }

  /** Null where the points cannot be divided with so many parameters. */
  next(): Span[] | null {
    const parameters = this.#squares.length;
    const sums = this.#sums;
    const row = this.#add();
    const beforeLevel = this.#squares[parameters - parametersOf.level]!;
    const beforeLine = this.#squares[parameters - parametersOf.line];
    for (let end = 1; end <= sums.length; ++end) {
      let least = Number.POSITIVE_INFINITY;
      // However few points there are, all of them may be one level.
      const lastLevel = Math.max(0, end - shortestLevel);
      for (let first = 0; first <= lastLevel; ++first) {
        const before = beforeLevel[first]!;
        if (before >= least) continue;
        const squares = before + sums.levelSquares(first, end);
        if (squares >= least) continue;
        least = squares;
        row.first[end] = first;
        row.isLine[end] = 0;
      }
      for (let first = 0; beforeLine !== undefined && first <= end - shortestLine; ++first) {
        const before = beforeLine[first]!;
        if (before >= least) continue;
        const squares = before + sums.lineSquares(first, end);
        if (squares >= least) continue;
        least = squares;
        row.first[end] = first;
        row.isLine[end] = 1;
      }
      row.squares[end] = least;
    }
    return Number.isFinite(row.squares[sums.length]) ? this.#spansOf(parameters) : null;
  }

  #spansOf(parameters: number): Span[] {
    const spans: Span[] = [];
    let left = parameters;
    for (let end = this.#sums.length; end > 0; end = spans[0]!.first) {
      const isLine = this.#isLine[left]![end] === 1;
      spans.unshift({ first: this.#first[left]![end]!, end, isLine });
      left -= isLine ? parametersOf.line : parametersOf.level;
    }
    return spans;
  }
}

/** What the pieces leave, in units of the points' own variances, and how alike neighbours are in it. */
function noiseOf(
  spans: readonly Span[],
  sums: Sums,
  values: readonly number[],
  variances: readonly number[],
): Pick<Division, "scale" | "correlation"> {
  const residuals = spans.flatMap((span) => {
    const fit = sums.fit(span);
    return values
      .slice(span.first, span.end)
      .map((value, k) => (value - valueOf(fit, span.first + k)) / Math.sqrt(variances[span.first + k]!));
  });
  const squares = residuals.reduce((sum, residual) => sum + residual ** 2, 0);
  const products = residuals.reduce((sum, residual, i) => sum + residual * (residuals[i - 1] ?? 0), 0);
  const correlation = squares === 0 ? 0 : products / squares;
  return {
    scale: squares / values.length,
    correlation: Math.max(0, Math.min(mostCorrelation, correlation)),
  };
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
    start: valueOf(fit, first),
    slope: fit.slope,
    slopeInterval: isLine ? { low: fit.slope - halfWidth, high: fit.slope + halfWidth } : null,
  };
}

function stepBetween(before: Span, after: Span, sums: Sums, noise: Noise): Step {
  const at = after.first;
  const fits = [sums.fit(before), sums.fit(after)] as const;
  const size = valueOf(fits[1], at) - valueOf(fits[0], at);
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
