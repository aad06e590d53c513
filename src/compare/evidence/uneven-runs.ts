import { leastLostShare } from "../../results/over-time.js";
import { isSteady } from "../../results/variant.js";
import { studentTail } from "../../stats/hypothesis-tests.js";
import { median } from "../../stats/order-statistics.js";
import { mean, squaresAboutMean } from "../../stats/variance.js";
import type { RunFigure, Series } from "../series.js";
import type { Evidence } from "./cell-evidence.js";
import { rateAgainstBaseline, rateOfShares, type SlowCount } from "./slow-runs.js";

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
  /** The candidate's first runs. */
  first: SlowCount;
  /** The confirming runs. */
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
