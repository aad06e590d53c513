/**
 * Lanczos' approximation of the gamma function, g = 7 and nine terms (coefficients of P. Godfrey, "A note on the
 * computation of the convergent Lanczos complex Gamma approximation", 2001); relative error below 1e-14.
 */
const lanczosG = 7;
const lanczos = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
] as const;

/** Natural logarithm of the gamma function, for x > 0. */
export function logGamma(x: number): number {
  // Below 1/2 the series loses digits, so this uses gamma(x) = gamma(x + 1) / x.
  if (x < 0.5) return logGamma(x + 1) - Math.log(x);
  let sum = lanczos[0] as number;
  for (let i = 1; i < lanczos.length; ++i) sum += lanczos[i]! / (x - 1 + i);
  const t = x - 0.5 + lanczosG;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/** Hypothesis tests: tails and quantiles of Student's t, tails of Fisher's exact test. */

/**
 * P(T > t) for Student's t with `degreesOfFreedom` > 0 (not necessarily whole): half the regularised incomplete beta
 * function at df / (df + t²) (Abramowitz and Stegun, 26.7.1). Throws RangeError for other degrees of freedom or a t
 * that is NaN.
 */
export function studentTail(t: number, degreesOfFreedom: number): number {
  if (!(degreesOfFreedom > 0) || Number.isNaN(t)) throw new RangeError("no such t distribution");
  if (t < 0) return 1 - studentTail(-t, degreesOfFreedom);
  const x = degreesOfFreedom / (degreesOfFreedom + t * t);
  // 1 - x, without cancellation for small t.
  const y = (t * t) / (degreesOfFreedom + t * t);
  return 0.5 * incompleteBeta(x, y, degreesOfFreedom / 2, 0.5);
}

/**
 * The t with P(T > t) = `tail` for Student's t with `degreesOfFreedom`: 12.706 for 0.025 and 1. Throws RangeError
 * unless the tail is above 0 and at most 1/2.
 */
export function studentQuantile(tail: number, degreesOfFreedom: number): number {
  if (!(tail > 0 && tail <= 0.5)) throw new RangeError("a tail lies above 0 and up to 1/2");
  if (tail === 0.5) return 0;
  // Newton's method on logarithms of both, because far out the tail is a power of t: a straight line on this scale.
  const logScale =
    logGamma((degreesOfFreedom + 1) / 2) -
    logGamma(degreesOfFreedom / 2) -
    Math.log(Math.PI * degreesOfFreedom) / 2;
  let logT = tail > 0.3 ? Math.log(0.5 - tail) : Math.log(nearStudentQuantile(tail, degreesOfFreedom));
  for (let i = 0; i < 100; ++i) {
    const t = Math.exp(logT);
    const above = studentTail(t, degreesOfFreedom);
    const density = Math.exp(
      logScale - ((degreesOfFreedom + 1) / 2) * Math.log1p((t * t) / degreesOfFreedom),
    );
    const step = ((Math.log(above) - Math.log(tail)) * above) / (density * t);
    // Limits the step: where the tail is steeper than at the solution, a whole step would go too far.
    logT += Math.max(-1, Math.min(1, step));
    // Each step's error is about the square of the previous one.
    if (Math.abs(step) < 1e-8) break;
  }
  return Math.exp(logT);
}

/**
 * A first guess for `studentQuantile()` at a tail of up to 0.3: the normal quantile (Abramowitz and Stegun, 26.2.22)
 * with the first two terms of its expansion in 1 / df (26.7.5). For few degrees of freedom it is too small.
 */
function nearStudentQuantile(tail: number, degreesOfFreedom: number): number {
  const w = Math.sqrt(-2 * Math.log(tail));
  const z = w - (2.30753 + 0.27061 * w) / (1 + 0.99229 * w + 0.04481 * w ** 2);
  const first = (z ** 3 + z) / 4;
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96;
  return z + first / degreesOfFreedom + second / degreesOfFreedom ** 2;
}

/**
 * P(X >= `both`), hypergeometric: X of `drawn` items out of `all` are `marked` (R. A. Fisher's exact test, one-sided).
 */
export function hypergeometricTail(both: number, all: number, marked: number, drawn: number): number {
  const logChoose = (n: number, k: number) => logGamma(n + 1) - logGamma(k + 1) - logGamma(n - k + 1);
  let sum = 0;
  for (let k = both; k <= Math.min(marked, drawn); ++k) {
    if (drawn - k > all - marked) continue;
    sum += Math.exp(logChoose(marked, k) + logChoose(all - marked, drawn - k) - logChoose(all, drawn));
  }
  return Math.min(1, sum);
}

/** I_x(a, b), the regularised incomplete beta function. Needs both x and y = 1 - x. */
function incompleteBeta(x: number, y: number, a: number, b: number): number {
  if (x <= 0) return 0;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(y));
  // The fraction converges quickly only on this side of the mean. On the other, I_x(a, b) = 1 - I_y(b, a).
  return x < (a + 1) / (a + b + 2)
    ? (front * betaFraction(x, a, b)) / a
    : 1 - (front * betaFraction(y, b, a)) / b;
}

/**
 * The continued fraction of the incomplete beta function (Abramowitz and Stegun, 26.5.8), by Lentz's method as in Press
 * et al., "Numerical Recipes", section 6.4.
 */
function betaFraction(x: number, a: number, b: number): number {
  const tiny = 1e-300;
  const apart = (value: number) => (Math.abs(value) < tiny ? tiny : value);
  let c = 1;
  let d = 1 / apart(1 - ((a + b) * x) / (a + 1));
  let product = d;
  for (let m = 1; m <= 10_000; ++m) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / apart(1 + even * d);
    c = apart(1 + even / c);
    product *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / apart(1 + odd * d);
    c = apart(1 + odd / c);
    product *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return product;
}
