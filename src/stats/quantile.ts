import { sortedCopy } from "./sorted.js";

/**
 * The quantile at `probability` (0 to 1) in the samples' unit, type 7: linear interpolation at position
 * (n - 1) p of the sorted samples, what R and NumPy do by default (Hyndman and Fan, "Sample Quantiles in
 * Statistical Packages", The American Statistician 50, 1996). Throws RangeError for empty or non-finite samples
 * and for a probability outside 0 to 1.
 */
export function quantile(samples: ArrayLike<number>, probability: number): number {
  return quantileOfSorted(sortedCopy(samples), probability);
}

/** The same for samples that are ascending already, so that several quantiles cost one sort. */
export function quantileOfSorted(sorted: ArrayLike<number>, probability: number): number {
  if (!(probability >= 0 && probability <= 1)) throw new RangeError("a probability lies between 0 and 1");
  if (sorted.length === 0) throw new RangeError("no samples");
  const position = (sorted.length - 1) * probability;
  const index = Math.floor(position);
  const below = sorted[index]!;
  const above = sorted[Math.min(index + 1, sorted.length - 1)]!;
  return below + (position - index) * (above - below);
}
