import { leastLostShare } from "../../results/over-time.js";
import { isSteady } from "../../results/variant.js";
import { median } from "../../stats/order-statistics.js";
import { mean } from "../../stats/variance.js";
import type { RunFigure, Series } from "../series.js";
import type { Evidence } from "./cell-evidence.js";
import { rateAgainstBaseline, rateOfShares, type SlowCount } from "./slow-runs.js";

/**
 * Uneven runs: ones of which slow copies took much of the time, while their medians may be as ever. A run is uneven that
 * lost more of its time than the baseline's runs lose, by what counts and by more than these differ among each other.
 * Such runs are counted, as slow ones are: in a run of few samples there may be no slow copy, so that no mean over the
 * runs is far from another for certain, but none is uneven by itself.
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
  const fewest = isEven(series) ? 1 : fewestOfOthers;
  if (lost.candidate - lost.baseline < least || count(candidate).slow < fewest) return null;
  // What a program gets: copies that are faster by more than slow ones take are no loss.
  const overTime =
    evidence.candidate - evidence.baseline + Math.log((1 - lost.candidate) / (1 - lost.baseline));
  if (overTime > Math.log1p(-least)) return null;
  const counts = { baseline: count(baseline), first: count(first), fresh: count(fresh) };
  return {
    ...counts,
    lost,
    rate: isEven(series) ? rateAgainstBaseline(counts) : rateOfShares(counts),
    isMetAgain: fresh.length > 0 && mean(fresh) - lost.baseline >= metAgain * least,
  };
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
