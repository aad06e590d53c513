/**
 * An ascending copy of the samples (numeric order, input untouched). Throws RangeError for an empty input or one
 * that holds NaN or an infinity: a statistic of those would be a number that means nothing.
 */
export function sortedCopy(samples: ArrayLike<number>): Float64Array {
  if (samples.length === 0) throw new RangeError("no samples");
  const sorted = Float64Array.from(samples).sort();
  // Typed arrays sort -Infinity first, and Infinity and then NaN last: looking at both ends finds all of them.
  if (!Number.isFinite(sorted[0]) || !Number.isFinite(sorted[sorted.length - 1])) {
    throw new RangeError("a sample is not a finite number");
  }
  return sorted;
}
