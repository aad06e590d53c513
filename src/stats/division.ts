import { bentSquares, fittedAt, type Span, type Sums } from "./span-fit.js";

/** Of all ways to divide points into levels and lines, the one that is worth its number of parameters. */

/** A level needs so many points: two that agree may be neighbouring outliers. */
const shortestLevel = 3;
/** Along fewer points a line is a step that a point lies in the middle of. */
const shortestLine = 10;

/** What the criterion takes for each parameter, in units of ln n; a step has two. */
const pricePerParameter = 1.5;

/**
 * What so many parameters cost in the criterion. The factor after ln n is that of the corrected Akaike criterion (C. M.
 * Hurvich and C.-L. Tsai, "Regression and time series model selection in small samples", Biometrika 76, 1989): in short
 * courses, whose noise is hardly known, the plain price would let one in ten be divided where nothing changed.
 */
function priceOf(parameters: number, points: number): number {
  const correction = points / Math.max(1, points - parameters - 1);
  return pricePerParameter * Math.log(points) * parameters * correction;
}

const parametersOf = { level: 2, line: 3 } as const;

/** After so many more parameters that improve nothing the best number is found; a passing fault takes two steps, 4. */
const patience = 6;

/**
 * The residuals' variance is not taken to be smaller than so much of the one that neighbours' differences show: with
 * few points, a fit can meet them by chance.
 */
const leastVarianceShare = 0.1;

/** Noise that lasts longer than this is no noise between checks. */
const mostCorrelation = 0.9;

/** The pieces that points are divided into, and the noise that these leave. */
export interface Division {
  spans: Span[];
  /** Of each span, whether the course goes on from where the one before it ends. */
  isJoined: boolean[];
  /** By what the variances of the points are to be multiplied. */
  scale: number;
  /** Lag-1 correlation of the residuals, from 0. */
  correlation: number;
  /** Two for each piece and one more for a line, less one for each that is joined. */
  parameters: number;
}

/**
 * The division with the least criterion (`fitPieces()` says which), among the best ones of each number of parameters.
 */
export function bestDivision(sums: Sums, values: readonly number[], variances: readonly number[]): Division {
  const n = sums.length;
  const search = new DivisionSearch(sums);
  let best: (Division & { criterion: number }) | null = null;
  let mostParameters = 2 * n;
  for (let parameters = 2; parameters <= mostParameters; ++parameters) {
    const spans = search.next();
    if (spans === null) continue;
    const noise = noiseOf(spans, sums, values, variances);
    // In units of the residuals' variance: twice the difference of log likelihoods that pays for one parameter.
    const worth = 2 * (priceOf(parameters, n) - priceOf(parameters - 1, n));
    const joined = joinedSpans(spans, worth * noise.scale, sums, values, variances);
    const scale = noise.scale + joined.squares / n;
    const left = parameters - joined.isJoined.filter(Boolean).length;
    const innovations = Math.max(leastVarianceShare, scale * (1 - noise.correlation ** 2));
    const criterion = (n / 2) * Math.log(innovations) + priceOf(left, n);
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
 * squares that are more by less than `worth`, what the parameter costs that the jump is. `squares` is by how much they are more in all.
 */
function joinedSpans(
  spans: readonly Span[],
  worth: number,
  sums: Sums,
  values: readonly number[],
  variances: readonly number[],
): { isJoined: boolean[]; squares: number } {
  const increases = spans.map((span, k) => {
    const before = spans[k - 1];
    if (before === undefined || !(before.isLine || span.isLine)) return Number.POSITIVE_INFINITY;
    const apart = sums.fit(before).squares + sums.fit(span).squares;
    return Math.max(0, bentSquares(before, span, values, variances) - apart);
  });
  const isJoined = increases.map((increase) => increase < worth);
  return { isJoined, squares: increases.reduce((sum, one, k) => sum + (isJoined[k] ? one : 0), 0) };
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
      .map((value, k) => (value - fittedAt(fit, span.first + k)) / Math.sqrt(variances[span.first + k]!));
  });
  const squares = residuals.reduce((sum, residual) => sum + residual ** 2, 0);
  const products = residuals.reduce((sum, residual, i) => sum + residual * (residuals[i - 1] ?? 0), 0);
  const correlation = squares === 0 ? 0 : products / squares;
  return {
    scale: squares / values.length,
    correlation: Math.max(0, Math.min(mostCorrelation, correlation)),
  };
}
