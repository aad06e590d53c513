import { isSteady } from "../../results/variant.js";
import { steadyThreshold } from "../../settings/thresholds.js";
import { differenceOfShares } from "../../stats/hypothesis-tests.js";
import { median } from "../../stats/order-statistics.js";
import { robustVariance } from "../../stats/variance.js";
import type { RunFigures } from "../result-set.js";
import { joinRuns, logSpeeds, type Series } from "../series.js";
import type { Evidence } from "./cell-evidence.js";

/**
 * Single slow runs, which a mean hides: for example of a link that trains down now and then. A run is slow if it lost
 * more than the drop that counts and lies far outside the spread between the baseline's runs.
 */
export interface SlowRuns {
  /** The baseline's runs, counted in the same way. */
  baseline: SlowCount;
  /** The candidate's first runs. */
  first: SlowCount;
  /** The confirming runs. */
  fresh: SlowCount;
  /** The log-speed change of the candidate's slowest run. */
  worst: number;
  /** Start times of the candidate's slow runs, in order. */
  startedAt: string[];
}

/** A number of runs, and how many of them are slow. */
export interface SlowCount {
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
export function rateOfShares(slow: SlowCounts): "more" | "less" | "open" {
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
  const { series } = joinRuns({ baseline: all, first: [], fresh: [] });
  const slow = new Set<string>();
  for (const one of series.filter(({ cell }) => isSteady(cell))) {
    const logs = logSpeeds(one, one.baseline);
    const deviation = Math.sqrt(robustVariance([logs])?.variance ?? 0);
    const limit = median(logs) - Math.max(-Math.log1p(-steadyThreshold), farDeviations.steady * deviation);
    for (const [run, log] of logs.entries()) if (log < limit) slow.add(one.baseline[run]!.startedAt);
  }
  return some.filter(({ startedAt }) => slow.has(startedAt)).length;
}
