import type { CellComparison } from "../../compare/comparison.js";

/** A figure and its 95 % interval, all in one unit. */
export interface Estimate {
  figure: number;
  /** Null where no spread is known. */
  interval: { low: number; high: number } | null;
}

/** The candidate's figure in the cell's unit; null where it has none that could be printed. */
export function candidateEstimate({ baseline, candidate }: CellComparison): Estimate | null {
  if (candidate === null || !Number.isFinite(candidate.figure)) {
    return null;
  }
  const { figure, low, high } = candidate;
  return {
    figure,
    interval:
      baseline === null ? null : intervalOf(low, high, (relative) => baseline.figure * (1 + relative)),
  };
}

/** The relative change, -0.06 being 6 % less; null where there is none. */
export function changeEstimate({ candidate }: CellComparison): Estimate | null {
  const change = candidate?.change ?? null;
  return candidate === null || change === null || !Number.isFinite(change)
    ? null
    : { figure: change, interval: intervalOf(candidate.low, candidate.high, (relative) => relative) };
}

function intervalOf(
  low: number | null,
  high: number | null,
  convert: (relative: number) => number,
): Estimate["interval"] {
  if (low === null || high === null) {
    return null;
  }
  const interval = { low: convert(low), high: convert(high) };
  return Number.isFinite(interval.low) && Number.isFinite(interval.high) ? interval : null;
}
