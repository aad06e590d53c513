import { leastLostShare } from "../results/over-time.js";
import { isSteady } from "../results/variant.js";
import { median } from "../stats/order-statistics.js";
import { mean } from "../stats/variance.js";
import type { Evidence } from "./cell-evidence.js";
import type { RunFigure, Series } from "./series.js";
import type { SlowCount } from "./slow-runs.js";

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
  /** Whether the confirming runs alone lost as much more than the baseline's as shows that the loss is still there. */
  isMetAgain: boolean;
}

/**
 * Robust deviations of the baseline's runs that are far outside. Steady memory loses less than 1 % in all recorded runs, so
 * that what counts decides there; other memory has slow copies of its own (up to 24 % in results/nvidia-h200/default.json).
 */
const farDeviations = 10;

/** The confirming runs lose at least this part of what counts: of a few runs some may be without a slow copy. */
const metAgain = 0.5;

/** With fewer runs a side does not tell how its runs differ. */
const fewestForSpread = 3;

/** The uneven runs of a series; null if the candidate lost no more than counts, or nothing is known of it. */
export function findUnevenRuns(series: Series, evidence: Evidence): UnevenRuns | null {
  const [baseline, first, fresh] = [series.baseline, series.first, series.fresh].map(lostShares) as [
    number[],
    number[],
    number[],
  ];
  const candidate = [...first, ...fresh];
  if (baseline.length === 0 || candidate.length === 0) return null;
  const isKnown = baseline.length >= fewestForSpread && evidence.lostDeviation !== null;
  if (!isKnown && !isSteady(series.cell)) return null;
  const spread = isKnown ? farDeviations * evidence.lostDeviation! : 0;
  const limit = median(baseline) + Math.max(leastLostShare, spread);
  const count = (shares: readonly number[]): SlowCount => ({
    slow: shares.filter((share) => share > limit).length,
    runs: shares.length,
  });
  const lost = { baseline: mean(baseline), candidate: mean(candidate) };
  if (lost.candidate - lost.baseline < leastLostShare || count(candidate).slow === 0) return null;
  return {
    baseline: count(baseline),
    first: count(first),
    fresh: count(fresh),
    lost,
    isMetAgain: fresh.length > 0 && mean(fresh) - lost.baseline >= metAgain * leastLostShare,
  };
}

/** Of the runs of which it is known. */
export function lostShares(runs: readonly RunFigure[]): number[] {
  return runs.flatMap(({ lostShare }) => lostShare ?? []);
}
