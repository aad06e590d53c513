import type { Distribution } from "./cell-schema.js";

/** A median and its 95 % interval, in the unit of the measurement. All three are above 0. */
export interface IntervalEstimate {
  median: number;
  low: number;
  high: number;
}

/**
 * A figure with its interval; null without one, and if it may be 0, which has no ratios. The interval of one process is
 * that of this run; from three processes on it is the interval between runs.
 */
export function figureInterval({ median, low, high }: Distribution): IntervalEstimate | null {
  return low === null || high === null || low <= 0 ? null : { median, low, high };
}

/**
 * The ratio of two figures with its 95 % interval, from the figures' own intervals (G. Y. Zou and A. Donner,
 * "Construction of confidence limits about effect measures: a general approach", Statistics in Medicine 27, 2008, on
 * logarithms). The two are assumed to be independent, so common noise makes the interval too wide, but never too
 * narrow.
 */
export function ratioInterval(one: IntervalEstimate, other: IntervalEstimate): IntervalEstimate {
  const ratio = one.median / other.median;
  const below = Math.hypot(Math.log(one.median / one.low), Math.log(other.high / other.median));
  const above = Math.hypot(Math.log(one.high / one.median), Math.log(other.median / other.low));
  return { median: ratio, low: ratio / Math.exp(below), high: ratio * Math.exp(above) };
}

export type IntervalOrder = "above" | "below" | "equal" | "open";

/**
 * Smallest ratio of two figures that counts as a difference: processes on one machine differ by about 3 % in copies of
 * pageable memory (standard deviation; results/nvidia-h200/noise.json), which one run does not show.
 */
export const leastDifference = 1.05;

/** Figures are equal if the interval of their ratio lies within this factor of 1. */
const widestEqual = 1.1;

/** "above" or "below" if the intervals exclude equality and the ratio of the medians is 5 % or more from it. */
export function orderOf(one: IntervalEstimate, other: IntervalEstimate): IntervalOrder {
  const { median, low, high } = ratioInterval(one, other);
  if (low > 1 && median >= leastDifference) return "above";
  if (high < 1 && median <= 1 / leastDifference) return "below";
  return low > 1 / widestEqual && high < widestEqual ? "equal" : "open";
}
