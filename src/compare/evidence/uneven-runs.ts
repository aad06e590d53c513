import { leastLostShare } from "../../results/over-time.js";
import { isSteady } from "../../results/variant.js";
import { steadyThreshold } from "../../settings/thresholds.js";
import { differenceOfShares, studentTail } from "../../stats/hypothesis-tests.js";
import { median } from "../../stats/order-statistics.js";
import { mean, robustVariance, squaresAboutMean } from "../../stats/variance.js";
import { numberAlike } from "../match-devices.js";
import type { RunFigures } from "../result-set.js";
import { joinRuns, logSpeeds, type RunFigure, type Series } from "../series.js";
import type { Evidence } from "./cell-evidence.js";

/**
 * Single slow runs, which a mean hides: for example of a link that trains down now and then. A run is slow if it lost
 * more than the drop that counts and lies far outside the spread between the baseline's runs.
 */
export interface SlowRuns {
  /** The baseline's runs, counted in the same way. */
  baseline: SlowCount;
  first: SlowCount;
  fresh: SlowCount;
  /** The log-speed change of the candidate's slowest run. */
  worst: number;
  /** Start times of the candidate's slow runs, in order. */
  startedAt: string[];
}

/** A number of runs, and how many of them are slow. */
interface SlowCount {
  slow: number;
  runs: number;
}

/**
 * Robust deviations from the centre that count as far outside: for steady memory, and for other memory, which has
 * outliers by nature. In the recorded runs (results/nvidia-h200/noise.json) no median of a pinned cell is farther than
 * 6 from its centre, and none of a pageable or staged one farther than 27.
 */
const farDeviations = { steady: 10, other: 40 };

/**
 * The slow runs of a series, for a drop of `drop` (in log speed). Null if the candidate has none, or the spread between
 * runs is unknown.
 */
export function findSlowRuns(series: Series, evidence: Evidence, drop: number): SlowRuns | null {
  const { noise, runs, baseline } = evidence;
  if (noise === null) return null;
  const limit = baseline - Math.max(drop, farOutside(series, evidence));
  const isSlow = (logSpeed: number) => logSpeed < limit;
  const count = (logs: readonly number[]) => ({ slow: logs.filter(isSlow).length, runs: logs.length });
  const candidate = [...runs.first, ...runs.fresh];
  if (!candidate.some(isSlow)) return null;
  const startedAt = [...series.first, ...series.fresh].map((run) => run.startedAt);
  return {
    baseline: count(runs.baseline),
    first: count(runs.first),
    fresh: count(runs.fresh),
    worst: Math.min(...candidate) - baseline,
    startedAt: startedAt.filter((_, i) => isSlow(candidate[i]!)),
  };
}

/** Distance from the centre that normal runs of the series do not reach. */
function farOutside({ cell }: Series, { noise, baselineVariance }: Evidence): number {
  const deviation = Math.sqrt(baselineVariance ?? noise!.robustVariance);
  return deviation * farDeviations[isSteady(cell) ? "steady" : "other"];
}

/** Number of slow (or uneven) runs in each group. */
type SlowCounts = Pick<SlowRuns, "baseline" | "first" | "fresh">;

/** Number of slow runs among all of the candidate's. */
export function slowOfCandidate({ first, fresh }: SlowCounts): SlowCount {
  return { slow: first.slow + fresh.slow, runs: first.runs + fresh.runs };
}

/**
 * Whether slow runs are "more" or "less" frequent than in the baseline, by the 95 % interval of the difference of both
 * shares; "open" if it includes zero. If the baseline had none, one is "more", because it lies far outside the normal
 * spread.
 */
export function rateAgainstBaseline(slow: SlowCounts): "more" | "less" | "open" {
  return slow.baseline.slow === 0 ? "more" : rateOfShares(slow);
}

/** The same by the interval alone. */
function rateOfShares(slow: SlowCounts): "more" | "less" | "open" {
  const { low, high } = differenceOfShares(slow.baseline, slowOfCandidate(slow));
  if (low > 0) return "more";
  return high < 0 ? "less" : "open";
}

/** Whether fresh processes are needed to settle slow runs of the first processes, or their frequency. */
export function needsMoreRuns(slow: SlowCounts, rate = rateAgainstBaseline(slow)): boolean {
  const isUnmet = slow.first.slow > 0 && slow.fresh.slow === 0;
  return isUnmet || rate === "open";
}

/** The chance that the confirmation has no slow run although they are as frequent as before. */
const missedByConfirmation = 0.005;

/** Most processes of a confirmation: slow runs rarer than 1 in 5 may stay unconfirmed. */
export const mostConfirmingRuns = 24;

/** Number of fresh processes needed to find again what happened in `slow` of `runs`; at most `mostConfirmingRuns`. */
export function runsToConfirm({ slow, runs }: SlowCount): number {
  if (slow >= runs) return 1;
  const needed = Math.ceil(Math.log(missedByConfirmation) / Math.log(1 - slow / runs));
  return Math.min(needed, mostConfirmingRuns);
}

/** Fewest runs that show which of them are outliers. */
const fewestRuns = 5;

/**
 * Number of `some` of a baseline's runs that are slow in a cell of steady memory: they lost more than the usual
 * threshold relative to the median of `all`, and lie far outside the spread between these. 0 if there are fewer than
 * five.
 */
export function countSlowRuns(some: readonly RunFigures[], all: readonly RunFigures[]): number {
  if (all.length < fewestRuns) return 0;
  const { series } = joinRuns({ baseline: numberAlike(all), first: [], fresh: [] });
  const slow = new Set<string>();
  for (const one of series.filter(({ cell }) => isSteady(cell))) {
    const logs = logSpeeds(one, one.baseline);
    const deviation = Math.sqrt(robustVariance([logs])?.variance ?? 0);
    const limit = median(logs) - Math.max(-Math.log1p(-steadyThreshold), farDeviations.steady * deviation);
    for (const [run, log] of logs.entries()) if (log < limit) slow.add(one.baseline[run]!.startedAt);
  }
  return some.filter(({ startedAt }) => slow.has(startedAt)).length;
}

/**
 * Uneven runs, in which slow copies took much of the time although the median may be normal. A run is uneven if it lost
 * more time than the baseline's runs, by the amount that counts and by more than these differ among each other. Uneven
 * runs are counted like slow ones, because a run of few samples may have no slow copy, and then no mean is certainly
 * different. Memory that is not steady has uneven runs by nature, which hide smaller unevenness; there the means of
 * many runs count too.
 */
export interface UnevenRuns {
  /** The baseline's runs, counted in the same way. */
  baseline: SlowCount;
  first: SlowCount;
  fresh: SlowCount;
  /** Mean share of time lost to slow copies in the baseline's runs, and in all of the candidate's. */
  lost: { baseline: number; candidate: number };
  /**
   * Whether uneven runs are "more" or "less" frequent than in the baseline, or "open". One run is "more" only for
   * memory whose copies are normally even: other memory has uneven runs at times, also if a few runs show none.
   */
  rate: "more" | "less" | "open";
  /** Whether the means over all runs show it, even if few runs are uneven. */
  isByMean: boolean;
  /** Whether the confirming runs alone lost enough more than the baseline's to show that the loss remains. */
  isMetAgain: boolean;
}

/** Smallest share of the counting loss that confirming runs must show: some of a few runs may have no slow copy. */
const metAgain = 0.5;

/** One uneven run of memory that is not steady means nothing; fresh processes for each would double many checks. */
const fewestOfOthers = 2;

/**
 * The uneven runs of a series with a threshold of `threshold`; null if the candidate's loss does not count, or is
 * unknown.
 */
export function findUnevenRuns(series: Series, evidence: Evidence, threshold: number): UnevenRuns | null {
  const least = Math.max(leastLostShare, threshold);
  const [baseline, first, fresh] = [series.baseline, series.first, series.fresh].map(lostShares) as [
    number[],
    number[],
    number[],
  ];
  const candidate = [...first, ...fresh];
  if (baseline.length === 0 || candidate.length === 0) return null;
  const usual = isEven(series) ? 0 : evidence.usualUnevenness;
  if (usual === null) return null;
  const limit = median(baseline) + Math.max(least, usual);
  const count = (shares: readonly number[]): SlowCount => ({
    slow: shares.filter((share) => share > limit).length,
    runs: shares.length,
  });
  const lost = { baseline: mean(baseline), candidate: mean(candidate) };
  const isCounted = count(candidate).slow >= (isEven(series) ? 1 : fewestOfOthers);
  const pOfMeans = isEven(series) ? 1 : pValueOfMeans(baseline, candidate);
  if (lost.candidate - lost.baseline < least || (!isCounted && pOfMeans >= levelOfMeans.open)) return null;
  // Programs lose nothing if copies got faster by more than slow ones take.
  const overTime =
    evidence.candidate - evidence.baseline + Math.log((1 - lost.candidate) / (1 - lost.baseline));
  if (overTime > Math.log1p(-least)) return null;
  const counts = { baseline: count(baseline), first: count(first), fresh: count(fresh) };
  const isByMean = pOfMeans < levelOfMeans.shown;
  const rate = isEven(series) ? rateAgainstBaseline(counts) : isCounted ? rateOfShares(counts) : "open";
  return {
    ...counts,
    lost,
    rate: isByMean ? "more" : rate,
    isByMean,
    isMetAgain: fresh.length > 0 && mean(fresh) - lost.baseline >= metAgain * least,
  };
}

/**
 * Below the first p-value a difference of the mean lost shares is shown; below the second it is possible, and more runs
 * decide. Both are small, because there are many cells and their shares have long tails.
 */
const levelOfMeans = { shown: 2e-5, open: 0.002 };

/** P-value of Student's t test that the candidate's runs lose no more on average than the baseline's. */
function pValueOfMeans(baseline: readonly number[], candidate: readonly number[]): number {
  if (Math.min(baseline.length, candidate.length) < fewestForUsual) return 1;
  const degreesOfFreedom = baseline.length + candidate.length - 2;
  const variance = (squaresAboutMean(baseline) + squaresAboutMean(candidate)) / degreesOfFreedom;
  const error = Math.sqrt(variance * (1 / baseline.length + 1 / candidate.length));
  const more = mean(candidate) - mean(baseline);
  if (error === 0) return more > 0 ? 0 : 1;
  return studentTail(more / error, degreesOfFreedom);
}

/**
 * Whether the counting loss alone makes a run uneven: plain cells of steady memory lost less than 2 % in all recorded
 * runs. No single-copy cells are recorded, and an interrupt makes such copies many times longer.
 */
function isEven({ cell, unit }: Series): boolean {
  return isSteady(cell) && unit !== "us";
}

/** Lost shares of the runs that record them. */
export function lostShares(runs: readonly RunFigure[]): number[] {
  return runs.map(({ lostShare }) => lostShare).filter((share) => share !== null);
}

/** Fewest runs of a baseline that show its usual unevenness. */
const fewestForUsual = 3;

/**
 * How much more time the most uneven baseline run of a kind lost than its cell's other runs. Memory that is not steady
 * has slow copies by nature (24 % of the time in results/nvidia-h200/default.json), and any of its cells may have the
 * outliers of another. Null if the baseline has too few runs.
 */
export function usualUnevenness(kind: readonly Pick<Series, "baseline">[]): number | null {
  const sides = kind
    .map(({ baseline }) => lostShares(baseline))
    .filter(({ length }) => length >= fewestForUsual);
  if (sides.length === 0) return null;
  return Math.max(...sides.map((shares) => Math.max(...shares) - median(shares)));
}
