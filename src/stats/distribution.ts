import { medianInterval } from "./median-interval.js";
import { quantileOfSorted } from "./quantile.js";
import { sortedCopy } from "./sorted.js";

/** What the result document says of a set of samples, in their unit; its schema has the same shape. */
export interface Distribution {
  median: number;
  min: number;
  max: number;
  /** Interval of the median; null where there are too few samples for one (below 6 at 95 %). */
  low: number | null;
  high: number | null;
}

/** Median, extremes and the median's interval. Throws RangeError for empty or non-finite samples. */
export function distribution(samples: ArrayLike<number>, confidence = 0.95): Distribution {
  const sorted = sortedCopy(samples);
  const interval = medianInterval(sorted, confidence);
  return {
    median: quantileOfSorted(sorted, 0.5),
    min: sorted[0]!,
    max: sorted[sorted.length - 1]!,
    low: interval?.low ?? null,
    high: interval?.high ?? null,
  };
}
