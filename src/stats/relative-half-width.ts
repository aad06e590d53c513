/**
 * Half the width of an interval over the median it belongs to: 0.01 is "± 1 %". Null without an interval, and for
 * a median of zero, to which nothing is relative.
 */
export function relativeHalfWidth(
  interval: { readonly low: number | null; readonly high: number | null } | null,
  median: number,
): number | null {
  if (interval === null || interval.low === null || interval.high === null || median === 0) return null;
  return (interval.high - interval.low) / 2 / Math.abs(median);
}
