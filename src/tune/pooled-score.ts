import { studentQuantile } from "../stats/hypothesis-tests.js";
import { median } from "../stats/order-statistics.js";
import { mean } from "../stats/variance.js";
import type { Score } from "./score.js";

/**
 * The spread of rates between trials of the same setting, due to the machine's state and to where the loader's memory
 * lies.
 */
export interface TrialSpread {
  /** Standard deviation of a trial's rate, relative to the setting's. */
  relative: number;
  /** Degrees of freedom; a real number, because the prior counts as a few trials. */
  degreesOfFreedom: number;
}

/** The prior deviation before any setting was tried twice, and the number of repeated trials that it counts as. */
const assumed: TrialSpread = { relative: 0.02, degreesOfFreedom: 3 };

/** A trial further from the others of its setting than this, in standard deviations, was disturbed. */
const disturbed = 3;

/** From a median absolute deviation to the standard deviation of normal values: 1 / 0.6745. */
const perMedianDeviation = 1.4826;

/** Fewest trials whose median represents them, so that a single disturbed one has no effect. */
const leastForMedian = 3;

/** The spread between trials of one setting, pooled over all settings, each given by its trials' scores. */
export function trialSpread(settings: readonly (readonly Score[])[]): TrialSpread {
  let squares = assumed.degreesOfFreedom * assumed.relative ** 2;
  let degreesOfFreedom = assumed.degreesOfFreedom;
  for (const scores of settings) {
    // Rough figures differ because their trials were cut off at different times.
    const rates = scores.filter(({ isSettled }) => isSettled).map(({ batchesPerSecond }) => batchesPerSecond);
    if (rates.length < 2) continue;
    const middle = centre(rates);
    const deviations = rates.map((rate) => Math.abs(rate / middle - 1));
    const most = disturbed * Math.max(perMedianDeviation * median(deviations), assumed.relative);
    squares += deviations.reduce((sum, deviation) => sum + Math.min(deviation, most) ** 2, 0);
    degreesOfFreedom += rates.length - 1;
  }
  return { relative: Math.sqrt(squares / degreesOfFreedom), degreesOfFreedom };
}

/**
 * The combined score of all trials of a setting; null without any. A rough figure of a trial that was cut off adds
 * nothing to settled ones. A single trial keeps its own interval, without the spread between trials. Several trials get
 * an interval from that spread, which contains at least half of their rates. It has an open end if one of them has, as
 * rough figures do.
 */
export function pooledScore(scores: readonly Score[], spread: TrialSpread): Score | null {
  const trials = comparable(scores);
  if (trials.length < 2) return trials[0] ?? null;
  const rates = trials.map(({ batchesPerSecond }) => batchesPerSecond);
  const batchesPerSecond = centre(rates);
  const { isSettled } = trials[0]!;
  if (!trials.every(({ high }) => Number.isFinite(high))) {
    const low = Math.min(...trials.map((trial) => trial.low));
    return { batchesPerSecond, low, high: Number.POSITIVE_INFINITY, isSettled };
  }
  const ownHalf = median(trials.map(relativeHalf));
  const variance = Math.max(spread.relative ** 2, (ownHalf / 2) ** 2) / trials.length;
  const { factor, quantile } = medianLoss(trials.length, spread);
  const apart = median(rates.map((rate) => Math.abs(rate - batchesPerSecond)));
  const half = Math.max(apart, batchesPerSecond * factor * quantile * Math.sqrt(variance));
  return {
    batchesPerSecond,
    low: Math.max(0, batchesPerSecond - half),
    high: batchesPerSecond + half,
    isSettled,
  };
}

/**
 * Relative half-width of the 95 % interval of a setting's rate, including the spread between trials, even for a single
 * one.
 */
export function uncertainty(score: Score, trials: number, spread: TrialSpread): number {
  const half = relativeHalf(score);
  return trials > 1 ? half : Math.hypot(half, medianLoss(1, spread).quantile * spread.relative);
}

/** The standard error of a median of normal values is up to sqrt(pi / 2) times that of their mean. */
function medianLoss(trials: number, { degreesOfFreedom }: TrialSpread) {
  return {
    factor: trials < leastForMedian ? 1 : Math.sqrt(Math.PI / 2),
    quantile: studentQuantile(0.025, degreesOfFreedom),
  };
}

/** The scores that count for a setting: the settled ones, or the rough ones if there are no others. */
export function comparable(scores: readonly Score[]): readonly Score[] {
  const settled = scores.filter(({ isSettled }) => isSettled);
  return settled.length > 0 ? settled : scores;
}

function relativeHalf({ low, high, batchesPerSecond }: Score): number {
  return (high - low) / 2 / batchesPerSecond;
}

function centre(rates: readonly number[]): number {
  return rates.length < leastForMedian ? mean(rates) : median(rates);
}
