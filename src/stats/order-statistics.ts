/** Quantiles, the median and its interval, all in the samples' unit. */

/**
 * A sorted copy of the samples. Throws RangeError for no samples, or for NaN or an infinity, whose statistics mean
 * nothing.
 */
function sortedCopy(samples: ArrayLike<number>): Float64Array {
  return sortedIn(new Float64Array(samples.length), samples);
}

/** Up to this many values, insertion is faster than a sort. */
const fewValues = 40;

/** Sorts the samples into the start of `sorted`, and returns it. */
function sortedIn(sorted: Float64Array, samples: ArrayLike<number>): Float64Array {
  const { length } = samples;
  if (length === 0) throw new RangeError("no samples");
  for (let i = 0; i < length; ++i) {
    const value = samples[i]!;
    if (!Number.isFinite(value)) throw new RangeError("a sample is not a finite number");
    let slot = i;
    if (length <= fewValues) {
      for (; slot > 0 && sorted[slot - 1]! > value; --slot) sorted[slot] = sorted[slot - 1]!;
    }
    sorted[slot] = value;
  }
  return length <= fewValues ? sorted : sorted.sort();
}

/** Reused, because a comparison needs thousands of medians of five values. */
const scratch = new Float64Array(fewValues);

/**
 * The quantile at `probability` (0 to 1), type 7: linear interpolation at position (n - 1) p of the sorted samples, the
 * default of R and NumPy (Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50,
 * 1996). Throws RangeError for no or non-finite samples and for a probability outside 0 to 1.
 */
export function quantile(samples: ArrayLike<number>, probability: number): number {
  const { length } = samples;
  if (length <= fewValues) return quantileOfSorted(sortedIn(scratch, samples), probability, length);
  const values = Float64Array.from(samples);
  if (!values.every(Number.isFinite)) throw new RangeError("a sample is not a finite number");
  if (probability >= 0 && probability <= 1) selectInto(values, Math.floor((length - 1) * probability));
  return quantileOfSorted(values, probability, length);
}

/**
 * Moves the values of ranks `rank` and `rank + 1` (from 0) to these indices. C. A. R. Hoare's quickselect ("Algorithm
 * 65: Find", Communications of the ACM 4, 1961) is several times as fast as sorting thousands of figures.
 */
function selectInto(values: Float64Array, rank: number): void {
  let [low, high] = [0, values.length - 1];
  while (high - low > fewValues) {
    const pivot = median([values[low]!, values[(low + high) >> 1]!, values[high]!]);
    let [i, j] = [low, high];
    while (i <= j) {
      while (values[i]! < pivot) ++i;
      while (values[j]! > pivot) --j;
      if (i > j) break;
      [values[i], values[j]] = [values[j]!, values[i]!];
      ++i;
      --j;
    }
    // If both ranks are on one side, continue there; otherwise sort what is left.
    if (rank + 1 <= j) high = j;
    else if (rank >= i) low = i;
    else break;
  }
  values.subarray(low, high + 1).sort();
}

/** `quantile()` of the first `length` samples, already sorted, so that several statistics share one sort. */
function quantileOfSorted(sorted: Float64Array, probability: number, length = sorted.length): number {
  if (!(probability >= 0 && probability <= 1)) throw new RangeError("a probability lies between 0 and 1");
  const position = (length - 1) * probability;
  const index = Math.floor(position);
  const below = sorted[index]!;
  const above = sorted[Math.min(index + 1, length - 1)]!;
  return below + (position - index) * (above - below);
}

/** The middle of the sorted samples, or the mean of the middle two. Throws RangeError for no or non-finite samples. */
export function median(samples: ArrayLike<number>): number {
  return quantile(samples, 0.5);
}

/**
 * The standard deviation of normal values with these deviations from their median: the median absolute deviation over
 * 0.6745. Up to half may be outliers. Throws RangeError for no or non-finite deviations.
 */
export function robustDeviation(deviations: readonly number[]): number {
  return 1.4826 * median(deviations.map(Math.abs));
}

/** Two ranks from 1 up in the sorted samples, and the coverage of the interval between them. */
interface MedianRanks {
  lowRank: number;
  highRank: number;
  coverage: number;
}

/**
 * The ranks r and n + 1 - r with the largest r for which P(r <= B <= n - r) >= 0.95. B, the number of samples below the
 * median, is binomial with n trials of 1/2 (David and Nagaraja, "Order Statistics", section 7.1). Null below 6 samples,
 * where even the extremes (r = 1) are not enough.
 */
export function medianRanks(sampleCount: number): MedianRanks | null {
  const { inner, total } = binomialSums(sampleCount);
  for (let steps = 0; steps < inner.length; ++steps) {
    const lowRank = Math.floor(sampleCount / 2) - steps;
    const coverage = inner[steps]! / total;
    if (lowRank >= 1 && coverage >= 0.95) {
      return { lowRank, highRank: sampleCount + 1 - lowRank, coverage };
    }
  }
  return null;
}

/**
 * Sums of binomial coefficients from the middle outwards, relative to the largest one: `inner[i]` is the sum of C(n, k)
 * over k from floor(n/2) - i to n - floor(n/2) + i; `total` is the sum of all. Nothing overflows, and what underflows
 * or is cut off is below the rounding error.
 */
function binomialSums(trials: number): { inner: number[]; total: number } {
  const middle = Math.floor(trials / 2);
  const inner: number[] = [];
  // An odd number of trials has two equal coefficients in the middle.
  let sum = trials % 2 === 0 ? 1 : 2;
  let coefficient = 1;
  inner.push(sum);
  for (let k = middle; k > 0 && coefficient > 1e-20; --k) {
    // C(n, k - 1) = C(n, k) * k / (n - k + 1)
    coefficient *= k / (trials - k + 1);
    sum += 2 * coefficient;
    inner.push(sum);
  }
  return { inner, total: sum };
}

/** The median's interval in the samples' unit, and its coverage. */
interface MedianInterval {
  low: number;
  high: number;
  coverage: number;
}

/**
 * The distribution-free interval of the median between two order statistics: the narrowest symmetric pair of ranks
 * whose exact coverage is at least 95 %. Null below 6 samples, where even the extremes cover less. Throws RangeError
 * for non-finite samples. The coverage is for one look at independent samples; repeated looks give a stopping interval.
 */
export function medianInterval(samples: ArrayLike<number>): MedianInterval | null {
  const ranks = medianRanks(samples.length);
  if (ranks === null) return null;
  const sorted = sortedCopy(samples);
  return { low: sorted[ranks.lowRank - 1]!, high: sorted[ranks.highRank - 1]!, coverage: ranks.coverage };
}

/**
 * Median, extremes, and the median's interval (`low` to `high`, null with too few samples), as in the result document.
 * Throws RangeError for no or non-finite samples.
 */
export function distribution(samples: ArrayLike<number>) {
  const sorted = sortedCopy(samples);
  const interval = medianInterval(sorted);
  return {
    median: quantileOfSorted(sorted, 0.5),
    min: sorted[0]!,
    max: sorted[sorted.length - 1]!,
    low: interval?.low ?? null,
    high: interval?.high ?? null,
  };
}

/**
 * Whether an interval is more than twice as wide as requested: the samples vary so much that a little more time would
 * not have helped. False without an interval.
 */
export function variesTooMuch(relativeHalfWidth: number | null, precision: number): boolean {
  return relativeHalfWidth !== null && relativeHalfWidth > 2 * precision;
}

/** Half of an interval's width over its median: 0.01 is "± 1 %". Null without an interval or for a median of 0. */
export function relativeHalfWidth(
  interval: { readonly low: number | null; readonly high: number | null } | null,
  centre: number,
): number | null {
  if (interval === null || interval.low === null || interval.high === null || centre === 0) return null;
  return (interval.high - interval.low) / 2 / Math.abs(centre);
}

/** The distinct values, ascending. */
export function ascending(values: Iterable<number>): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}
