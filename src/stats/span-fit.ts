import { median } from "./order-statistics.js";

/** Weighted least squares fits of consecutive points: a level, a line, or two of them without a jump in between. */

/** Consecutive points fitted by one piece. */
export interface FitSpan {
  first: number;
  end: number;
  isLine: boolean;
}

/** The weighted least squares fit of a span: value = mean + slope (index - centre). */
export interface SpanFit {
  mean: number;
  centre: number;
  slope: number;
  /** Sum of the weighted squares of the residuals. */
  squares: number;
  /** Sums of the weights, and of the weighted squares of the indices about their centre. */
  weight: number;
  spread: number;
}

/** The fitted value at an index, within the span or outside. */
export function fittedAt({ mean, slope, centre }: SpanFit, index: number): number {
  return mean + slope * (index - centre);
}

/** Cumulative sums, with which the fit of any span takes the same few operations. */
export class Sums {
  readonly length: number;
  readonly #weight: Float64Array;
  readonly #x: Float64Array;
  readonly #xx: Float64Array;
  readonly #y: Float64Array;
  readonly #xy: Float64Array;
  readonly #yy: Float64Array;
  /** Subtracted from the values, because the squares of large values would leave no digits for their differences. */
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

  /** The residual squares of a span fitted by a level. */
  levelSquares(first: number, end: number): number {
    const w = this.#weight[end]! - this.#weight[first]!;
    const y = this.#y[end]! - this.#y[first]!;
    return Math.max(0, this.#yy[end]! - this.#yy[first]! - (y * y) / w);
  }

  /** The residual squares of a span fitted by a line. */
  lineSquares(first: number, end: number): number {
    const w = this.#weight[end]! - this.#weight[first]!;
    const x = this.#x[end]! - this.#x[first]!;
    const y = this.#y[end]! - this.#y[first]!;
    const xx = this.#xx[end]! - this.#xx[first]! - (x * x) / w;
    const xy = this.#xy[end]! - this.#xy[first]! - (x * y) / w;
    return Math.max(0, this.#yy[end]! - this.#yy[first]! - (y * y) / w - (xy * xy) / xx);
  }

  fit({ first, end, isLine }: FitSpan): SpanFit {
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

  /**
   * The residual squares of the best bent line for two consecutive spans: value = a + b (index - bend), with b on the
   * side of the bend that is a line; with lines on both sides, one b each.
   */
  bentSquares(before: FitSpan, after: FitSpan): number {
    let least = Number.POSITIVE_INFINITY;
    for (let bend = before.first + 1; bend < after.end; ++bend) {
      const left = this.#about(bend, before.first, bend);
      const right = this.#about(bend, bend, after.end);
      // Normal equations with three unknowns; a level, which has no slope, has a 1 on the diagonal.
      const m = [
        [left.w + right.w, before.isLine ? left.x : 0, after.isLine ? right.x : 0, left.y + right.y],
        [0, before.isLine ? left.xx : 1, 0, before.isLine ? left.xy : 0],
        [0, 0, after.isLine ? right.xx : 1, after.isLine ? right.xy : 0],
      ];
      least = Math.min(least, left.yy + right.yy - explainedSquares(m));
    }
    return Math.max(0, least);
  }

  /** The sums of a span's weights, indices, values and their products, with indices counted from `origin`. */
  #about(origin: number, first: number, end: number) {
    const sum = (column: Float64Array) => column[end]! - column[first]!;
    const [w, x, y] = [sum(this.#weight), sum(this.#x), sum(this.#y)];
    return {
      w,
      x: x - origin * w,
      xx: sum(this.#xx) - 2 * origin * x + origin * origin * w,
      y,
      xy: sum(this.#xy) - origin * y,
      yy: sum(this.#yy),
    };
  }
}

/**
 * The part of the squares that the solution of three normal equations (upper triangle and right side) explains, by
 * Cholesky's method.
 */
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
