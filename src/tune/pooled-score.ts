import { studentQuantile } from "../stats/hypothesis-tests.js";
import { median } from "../stats/order-statistics.js";
import { mean } from "../stats/variance.js";
import type { Score } from "./score.js";

/**
 * How much one trial's rate differs from the next of the same setting, by what the machine does meanwhile and by where a
 * loader's memory lies this time.
 */
export interface TrialSpread {
  /** Standard deviation of a trial's rate, relative to the setting's. */
  relative: number;
  /** Of that estimate; a real number, as what is assumed counts as a few. */
  degreesOfFreedom: number;
}

/** What is assumed before any setting was tried twice, and for how many repeated trials it stands. */
const assumed: TrialSpread = { relative: 0.02, degreesOfFreedom: 3 };

/** A trial that lies further from the others of its setting, in standard deviations, was disturbed. */
const disturbed = 3;

/** From a median absolute deviation to the standard deviation of normal values: 1 / 0.6745. */
const perMedianDeviation = 1.4826;

/** From so many trials on, their middle one stands for them: a single one that was disturbed has no part in it. */
const leastForMedian = 3;

/** The spread between trials of one setting, over all settings: each is given by the scores of its trials. */
export function trialSpread(settings: readonly (readonly Score[])[]): TrialSpread {
  let squares = assumed.degreesOfFreedom * assumed.relative ** 2;
  let degreesOfFreedom = assumed.degreesOfFreedom;
  for (const scores of settings) {
    // Rough figures differ by how early their trials were cut off.
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
 * One score of all trials of a setting; null without any. A rough figure, of a trial that was cut off, adds nothing to
 * settled ones. A single trial keeps its own interval, which knows nothing of the spread between trials; that of several
 * comes from the spread, and holds what half of the trials brought. It is as open as the widest where one of them is open,
 * as those of rough figures are.
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
 * Half the 95 % interval of a setting's rate, relative, the spread between trials counted also where there was but one.
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

/** Those that a setting's score is made of: the settled ones, or for want of them the rough ones. */
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
