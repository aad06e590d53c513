import { quantile } from "./quantile.js";

/**
 * The middle of the sorted samples, or the mean of the two in the middle. Throws RangeError for empty or non-finite
 * samples.
 */
export function median(samples: ArrayLike<number>): number {
  return quantile(samples, 0.5);
}
