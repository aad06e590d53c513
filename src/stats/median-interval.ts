import { sortedCopy } from "./sorted.js";

/** An interval of the median in the samples' unit, and the probability with which such an interval covers it. */
export interface MedianInterval {
  low: number;
  high: number;
  coverage: number;
}

/** Two ranks, counted from 1 in the sorted samples, and the coverage of the interval between them. */
export interface MedianRanks {
  lowRank: number;
  highRank: number;
  coverage: number;
}

/**
 * The distribution-free interval of the median between two order statistics: the tightest symmetric pair of
 * ranks whose exact coverage reaches `confidence`. Null where even the extremes do not: below 6 samples at
 * 95 %. Throws RangeError for non-finite samples or a confidence that is not between 0 and 1.
 * Coverage holds for one look at independent samples; whoever looks repeatedly has a stopping interval.
 */
export function medianInterval(samples: ArrayLike<number>, confidence = 0.95): MedianInterval | null {
  const ranks = medianRanks(samples.length, confidence);
  if (ranks === null) return null;
  const sorted = sortedCopy(samples);
  return { low: sorted[ranks.lowRank - 1]!, high: sorted[ranks.highRank - 1]!, coverage: ranks.coverage };
}

/**
 * The ranks r and n + 1 - r with the largest r such that P(r <= B <= n - r) >= `confidence`, where B, the number
 * of samples below the median, is binomial with n trials of 1/2 (David and Nagaraja, "Order Statistics",
 * section 7.1). Null where r = 1 falls short.
 */
export function medianRanks(sampleCount: number, confidence = 0.95): MedianRanks | null {
  if (!(confidence > 0 && confidence < 1)) throw new RangeError("a confidence lies between 0 and 1");
  const { inner, total } = binomialSums(sampleCount);
  for (let steps = 0; steps < inner.length; ++steps) {
    const lowRank = Math.floor(sampleCount / 2) - steps;
    const coverage = inner[steps]! / total;
    if (lowRank >= 1 && coverage >= confidence) {
      return { lowRank, highRank: sampleCount + 1 - lowRank, coverage };
    }
  }
  return null;
}

/**
 * Sums of binomial coefficients relative to the largest one, from the middle outwards: `inner[i]` is the sum of
 * C(n, k) over k from floor(n/2) - i to n - floor(n/2) + i, `total` of all of them. Relative to the largest,
 * nothing overflows, and what underflows or is cut off at the far ends is below the rounding error of the sum.
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
