import { type FitSpan, fittedAt, type Sums } from "./span-fit.js";

/** The division of points into levels and lines that is worth its number of parameters. */

/** Fewest points of a level: two that agree may be neighbouring outliers. */
const shortestLevel = 3;
/** With fewer points a line cannot be distinguished from a step with a point in its middle. */
const shortestLine = 10;

/** The criterion's price for each parameter, in units of ln n; a step has two. */
const pricePerParameter = 1.5;

/**
 * The criterion's price for this number of parameters. The factor after ln n is that of the corrected Akaike criterion
 * (C. M. Hurvich and C.-L. Tsai, "Regression and time series model selection in small samples", Biometrika 76, 1989):
 * in short courses, whose noise is hardly known, the plain price would divide one in ten although nothing changed.
 */
function priceOf(parameters: number, points: number): number {
  const correction = points / Math.max(1, points - parameters - 1);
  return pricePerParameter * Math.log(points) * parameters * correction;
}

const parametersOf = { level: 2, line: 3 } as const;

/** The search ends after this many more parameters without an improvement; a passing fault needs two steps, 4. */
const patience = 6;

/**
 * The residuals' variance is at least this share of the one from neighbours' differences, because a fit of few points
 * can be close by chance.
 */
const leastVarianceShare = 0.1;

/** Noise with more correlation is not noise between checks. */
const mostCorrelation = 0.9;

/** The pieces of a course, and the remaining noise. */
interface Division {
  spans: FitSpan[];
  /** For each span, whether it continues from the end of the one before. */
  isJoined: boolean[];
  /** Factor on the variances of the points. */
  scale: number;
  /** Lag-1 correlation of the residuals, at least 0. */
  correlation: number;
  /** Two for each piece and one more for a line, minus one for each joined piece. */
  parameters: number;
}

/** The division with the smallest criterion (see `fitPieces()`), among the best of each number of parameters. */
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
    const joined = joinedSpans(spans, worth * noise.scale, sums);
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
 * The spans that begin where the one before ends: at the beginning or end of a drift, if a fit without a jump increases
 * the squares by less than `worth`, the price of the jump's parameter. `squares` is the total increase.
 */
function joinedSpans(
  spans: readonly FitSpan[],
  worth: number,
  sums: Sums,
): { isJoined: boolean[]; squares: number } {
  const increases = spans.map((span, k) => {
    const before = spans[k - 1];
    if (before === undefined || !(before.isLine || span.isLine)) return Number.POSITIVE_INFINITY;
    const apart = sums.fit(before).squares + sums.fit(span).squares;
    return Math.max(0, sums.bentSquares(before, span) - apart);
  });
  const isJoined = increases.map((increase) => increase < worth);
  return { isJoined, squares: increases.reduce((sum, one, k) => sum + (isJoined[k] ? one : 0), 0) };
}

/** In courses up to this length, every point is tried as the first of a piece. */
const mostPlaces = 1000;
/** In longer ones, this many of the newest points are tried, because they show recent changes. */
const newestPlaces = 500;

/**
 * Possible beginnings and ends of pieces, ascending from 0 to `points`. The search takes the square of their number, so
 * the older part of a long course is divided into even blocks; `moveToBestPlaces()` then finds the point.
 */
function placesIn(points: number): { places: number[]; blockLength: number } {
  const newest = points <= mostPlaces ? points : newestPlaces;
  const older = points - newest;
  const blockLength = Math.max(1, Math.ceil(older / (mostPlaces - newestPlaces)));
  const blocks = Array.from({ length: Math.ceil(older / blockLength) }, (_, block) => block * blockLength);
  const ones = Array.from({ length: newest + 1 }, (_, i) => older + i);
  return { places: [...blocks, ...ones], blockLength };
}

/**
 * Finds the division with the smallest squares for each number of parameters in turn: 2, 3, and so on. In courses
 * longer than `mostPlaces` it is the best one with pieces between places, whose ends are then moved.
 */
class DivisionSearch {
  readonly #sums: Sums;
  readonly #places: readonly number[];
  readonly #blockLength: number;
  /** For each number of parameters, the smallest squares of the points up to each place, and the last span of that. */
  readonly #squares: Float64Array[] = [];
  /** Indices of places. */
  readonly #first: Int32Array[] = [];
  readonly #isLine: Uint8Array[] = [];

  constructor(sums: Sums) {
    this.#sums = sums;
    const { places, blockLength } = placesIn(sums.length);
    this.#places = places;
    this.#blockLength = blockLength;
    for (let parameters = 0; parameters < 2; ++parameters) this.#add();
    this.#squares[0]![0] = 0;
  }

  #add(): { squares: Float64Array; first: Int32Array; isLine: Uint8Array } {
    const count = this.#places.length;
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

  /** Null if the points cannot be divided with this number of parameters. */
  next(): FitSpan[] | null {
    const parameters = this.#squares.length;
    const sums = this.#sums;
    const places = this.#places;
    const row = this.#add();
    const beforeLevel = this.#squares[parameters - parametersOf.level]!;
    const beforeLine = this.#squares[parameters - parametersOf.line];
    for (let end = 1; end < places.length; ++end) {
      const endPoint = places[end]!;
      let least = Number.POSITIVE_INFINITY;
      // However few points there are, all of them may form one level.
      const lastLevel = Math.max(0, endPoint - shortestLevel);
      for (let first = 0; places[first]! <= lastLevel; ++first) {
        const before = beforeLevel[first]!;
        if (before >= least) continue;
        const squares = before + sums.levelSquares(places[first]!, endPoint);
        if (squares >= least) continue;
        least = squares;
        row.first[end] = first;
        row.isLine[end] = 0;
      }
      for (let first = 0; beforeLine !== undefined && places[first]! <= endPoint - shortestLine; ++first) {
        const before = beforeLine[first]!;
        if (before >= least) continue;
        const squares = before + sums.lineSquares(places[first]!, endPoint);
        if (squares >= least) continue;
        least = squares;
        row.first[end] = first;
        row.isLine[end] = 1;
      }
      row.squares[end] = least;
    }
    if (!Number.isFinite(row.squares[places.length - 1])) return null;
    const spans = this.#spansOf(parameters);
    return this.#blockLength === 1 ? spans : moveToBestPlaces(spans, this.#blockLength, sums);
  }

  #spansOf(parameters: number): FitSpan[] {
    const spans: FitSpan[] = [];
    let left = parameters;
    for (let end = this.#places.length - 1; end > 0; ) {
      const isLine = this.#isLine[left]![end] === 1;
      const first = this.#first[left]![end]!;
      spans.unshift({ first: this.#places[first]!, end: this.#places[end]!, isLine });
      left -= isLine ? parametersOf.line : parametersOf.level;
      end = first;
    }
    return spans;
  }
}

/** Moves each border between spans, by less than a block, to where the two have the smallest squares. */
function moveToBestPlaces(spans: readonly FitSpan[], blockLength: number, sums: Sums): FitSpan[] {
  const moved = spans.map((span) => ({ ...span }));
  const shortest = ({ isLine }: FitSpan) => (isLine ? shortestLine : shortestLevel);
  const squaresOf = ({ isLine }: FitSpan, first: number, end: number) =>
    isLine ? sums.lineSquares(first, end) : sums.levelSquares(first, end);
  for (const [k, after] of moved.entries()) {
    const before = moved[k - 1];
    if (before === undefined) continue;
    const from = Math.max(before.first + shortest(before), after.first - blockLength + 1);
    const to = Math.min(after.end - shortest(after), after.first + blockLength - 1);
    let least = Number.POSITIVE_INFINITY;
    let best = after.first;
    for (let at = from; at <= to; ++at) {
      const squares = squaresOf(before, before.first, at) + squaresOf(after, at, after.end);
      if (squares >= least) continue;
      least = squares;
      best = at;
    }
    before.end = best;
    after.first = best;
  }
  return moved;
}

/** The residuals' variance, in units of the points' own variances, and their lag-1 correlation. */
function noiseOf(
  spans: readonly FitSpan[],
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
