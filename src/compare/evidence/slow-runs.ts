import { isSteady } from "../../results/variant.js";
import { steadyThreshold } from "../../settings/thresholds.js";
import { median } from "../../stats/order-statistics.js";
import { differenceOfShares } from "../../stats/shares.js";
import { robustVariance } from "../../stats/variance.js";
import type { RunFigures } from "../result-set.js";
import { joinRuns, logSpeeds, type Series } from "../series.js";
import type { Evidence } from "./cell-evidence.js";

/**
 * Slow runs: single ones that a mean hides, as a link makes them that trains down now and then. A run is slow that lost
 * more than what counts as a drop and lies far outside the spread between the baseline's runs.
 */
export interface SlowRuns {
  /** Of the baseline's runs, by the same measure. */
  baseline: SlowCount;
  /** Of the candidate's first runs. */
  first: SlowCount;
  /** Of the confirming runs. */
  fresh: SlowCount;
  /** The change of the slowest of the candidate's runs, a logarithm of speed. */
  worst: number;
  /** When the candidate's slow runs started, in their order. */
  startedAt: string[];
}

/** How many of some runs are slow. */
export interface SlowCount {
  slow: number;
  runs: number;
}

/**
 * Robust deviations from the centre that are far outside: of steady memory, and of other memory, which has outliers of
 * its own. In the recorded runs (results/nvidia-h200/noise.json) no median of a pinned cell is farther than 6 from its
 * centre, none of a pageable or staged one farther than 27.
 */
const farDeviations = { steady: 10, other: 40 };

/**
 * The slow runs of a series, for a drop of `drop` (of the logarithm of speed). Null if the candidate has none, or the
 * spread between runs is not known.
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

/** How far from its centre a run of the series does not come by itself. */
function farOutside({ cell }: Series, { noise, baselineVariance }: Evidence): number {
  const deviation = Math.sqrt(baselineVariance ?? noise!.robustVariance);
  return deviation * farDeviations[isSteady(cell) ? "steady" : "other"];
}

/** How many runs of each group are slow, or uneven. */
type SlowCounts = Pick<SlowRuns, "baseline" | "first" | "fresh">;

/** How many of all of the candidate's runs are slow. */
export function slowOfCandidate({ first, fresh }: SlowCounts): SlowCount {
  return { slow: first.slow + fresh.slow, runs: first.runs + fresh.runs };
}

/**
 * Whether slow runs come "more" or "less" often than in the baseline, by the 95 % interval of the difference of both
 * shares; "open" if it has both signs. If the baseline had none, one is more: it lies far outside anything that these
 * runs do by themselves.
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

/** Whether slow runs of the first processes, or how often they come, need fresh processes to be settled. */
export function needsMoreRuns(slow: SlowCounts, rate = rateAgainstBaseline(slow)): boolean {
  const isUnmet = slow.first.slow > 0 && slow.fresh.slow === 0;
  return isUnmet || rate === "open";
}

/** The chance that slow runs that come as often as they did stay away from all runs of the confirmation. */
const missedByConfirmation = 0.005;

/** No confirmation takes more processes than this: slow runs that are rarer than 1 in 5 may then stay unconfirmed. */
export const mostConfirmingRuns = 24;

/** How many fresh processes it takes to meet again what came in `slow` of `runs`; at most `mostConfirmingRuns`. */
export function runsToConfirm({ slow, runs }: SlowCount): number {
  if (slow >= runs) return 1;
  const needed = Math.ceil(Math.log(missedByConfirmation) / Math.log(1 - slow / runs));
  return Math.min(needed, mostConfirmingRuns);
}

/** Fewer runs do not show by themselves which of them are outliers. */
const fewestRuns = 5;

/**
 * How many of `some` of a baseline's runs are slow in a cell of steady memory: they lost more than the usual threshold of
 * such cells about the median of `all`, and lie far outside the spread between these. 0 if there are fewer than five.
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
