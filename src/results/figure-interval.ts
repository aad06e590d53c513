import type { Distribution } from "./cell-schema.js";

/** A median and its 95 % interval, in the unit of the measurement. All three are above 0. */
export interface IntervalEstimate {
  median: number;
  low: number;
  high: number;
}

/**
 * A figure with its interval; null without an interval, or if it reaches 0, which has no ratios. The interval is within
 * the run for one process, and between runs from three processes on.
 */
export function figureInterval({ median, low, high }: Distribution): IntervalEstimate | null {
  return low === null || high === null || low <= 0 ? null : { median, low, high };
}

/**
 * The ratio of two figures with its 95 % interval, from their own intervals (G. Y. Zou and A. Donner, "Construction of
 * confidence limits about effect measures: a general approach", Statistics in Medicine 27, 2008, on logarithms).
 * Assumes that the figures are independent: common noise makes the interval too wide, never too narrow.
 */
export function ratioInterval(one: IntervalEstimate, other: IntervalEstimate): IntervalEstimate {
  const ratio = one.median / other.median;
  const below = Math.hypot(Math.log(one.median / one.low), Math.log(other.high / other.median));
  const above = Math.hypot(Math.log(one.high / one.median), Math.log(other.median / other.low));
  return { median: ratio, low: ratio / Math.exp(below), high: ratio * Math.exp(above) };
}

export type IntervalOrder = "above" | "below" | "equal" | "open";

/**
 * Smallest ratio that counts as a difference. Processes on one machine differ by about 3 % in pageable copies (standard
 * deviation; results/nvidia-h200/noise.json), which a single run does not show.
 */
export const leastDifference = 1.05;

/** Figures count as equal if the interval of their ratio is within this factor of 1. */
const widestEqual = 1.1;

/** "above" or "below" if the interval excludes equality and the medians differ by 5 % or more. */
export function orderOf(one: IntervalEstimate, other: IntervalEstimate): IntervalOrder {
  const { median, low, high } = ratioInterval(one, other);
  if (low > 1 && median >= leastDifference) return "above";
  if (high < 1 && median <= 1 / leastDifference) return "below";
  return low > 1 / widestEqual && high < widestEqual ? "equal" : "open";
}
