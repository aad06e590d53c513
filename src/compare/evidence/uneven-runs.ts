import { leastLostShare } from "../../results/over-time.js";
import { isSteady } from "../../results/variant.js";
import { studentTail } from "../../stats/hypothesis-tests.js";
import { median } from "../../stats/order-statistics.js";
import { mean, squaresAboutMean } from "../../stats/variance.js";
import type { RunFigure, Series } from "../series.js";
import type { Evidence } from "./cell-evidence.js";
import { rateAgainstBaseline, rateOfShares, type SlowCount } from "./slow-runs.js";

/**
 * Uneven runs: ones of which slow copies took much of the time, while their medians may be as ever. A run is uneven that
 * lost more of its time than the baseline's runs lose, by what counts and by more than these differ among each other.
 * Such runs are counted, as slow ones are: in a run of few samples there may be no slow copy, so that no mean over the
 * runs is far from another for certain, but none is uneven by itself. Memory that is not steady has uneven runs of its own,
 * which hide what is less uneven than the worst of them: there the means of many runs tell as well.
 */
export interface UnevenRuns {
  /** Of the baseline's runs, by the same measure. */
  baseline: SlowCount;
  /** Of the candidate's first runs. */
  first: SlowCount;
  /** Of the confirming runs. */
  fresh: SlowCount;
  /** The mean share of the time that slow copies took from the others, of the baseline's runs and of all of the candidate's. */
  lost: { baseline: number; candidate: number };
  /**
   * Whether uneven runs come "more" or "less" often than in the baseline, or that is "open". One is more if even copies had
   * none; others have them at times, and that none was met in a few runs does not say that there are none.
   */
  rate: "more" | "less" | "open";
  /** Whether the means of all runs show it, however few of the runs are uneven by themselves. */
  isByMean: boolean;
  /** Whether the confirming runs alone lost as much more than the baseline's as shows that the loss is still there. */
  isMetAgain: boolean;
}

/** The confirming runs lose at least this part of what counts: of a few runs some may be without a slow copy. */
const metAgain = 0.5;

/** One uneven run of memory that has some at times says nothing; fresh processes for each would double many checks. */
const fewestOfOthers = 2;

/**
 * The uneven runs of a series whose drop counts from `threshold` on; null if the candidate lost no more than counts, or
 * nothing is known of it.
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
  // What a program gets: copies that are faster by more than slow ones take are no loss.
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
 * That the means of the lost shares differ is shown below the one p-value, and below the other it may be: more runs tell. Cells
 * are many and their shares have long tails, so both are small.
 */
const levelOfMeans = { shown: 2e-5, open: 0.002 };

/** Of Student's t test that the candidate's runs lose no more on average than the baseline's. */
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
 * Whether what counts alone decides on a run: plain cells of steady memory lose less than 2 % in all recorded runs. Of single
 * copies, which an interrupt makes many times longer, none are recorded.
 */
function isEven({ cell, unit }: Series): boolean {
  return isSteady(cell) && unit !== "us";
}

/** Of the runs of which it is known. */
export function lostShares(runs: readonly RunFigure[]): number[] {
  return runs.map(({ lostShare }) => lostShare).filter((share) => share !== null);
}

/** With fewer runs a baseline does not tell how uneven its runs are. */
const fewestForUsual = 3;

/**
 * By how much the most uneven of the baseline's runs of a kind lost more of its time than its cell's others: memory that is
 * not steady has slow copies of its own (24 % of the time in results/nvidia-h200/default.json), and any of its cells may
 * have the outliers that another one had. Null if the baseline has too few runs.
 */
export function usualUnevenness(kind: readonly Pick<Series, "baseline">[]): number | null {
  const sides = kind
    .map(({ baseline }) => lostShares(baseline))
    .filter(({ length }) => length >= fewestForUsual);
  if (sides.length === 0) return null;
  return Math.max(...sides.map((shares) => Math.max(...shares) - median(shares)));
}
