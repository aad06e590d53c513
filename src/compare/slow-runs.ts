import { isSteady } from "../results/variant.js";
import type { Evidence } from "./cell-evidence.js";
import type { Series } from "./series.js";

/**
 * Slow runs: single ones that a mean hides, as a link that trains down now and then makes them. A run is slow that lost
 * more than what counts as a drop and lies far outside the spread between the baseline's runs.
 */
export interface SlowRuns {
  /** Of the baseline's runs, by the same measure. */
  baseline: { slow: number; runs: number };
  /** Of the candidate's first runs. */
  first: { slow: number; runs: number };
  /** Of the confirming runs. */
  fresh: { slow: number; runs: number };
  /** The change of the slowest of the candidate's runs, a logarithm of speed. */
  worst: number;
  /** When the candidate's slow runs started, in their order. */
  startedAt: string[];
}

/**
 * So many robust deviations from the centre are far outside: of steady memory, and of other memory, which has outliers of
 * its own. In the recorded runs (results/nvidia-h200/noise.json) no median of a pinned cell is farther than 6 from its
 * centre, none of a pageable or staged one farther than 27.
 */
const farDeviations = { steady: 10, other: 40 };

/**
 * The slow runs of a series, for a drop of `drop` (of the logarithm of speed). Null where the candidate has none, or the
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

/**
 * Whether the candidate has slow runs more often than the baseline had. Where that had none, one is enough: it lies far
 * outside anything that these runs do by themselves. Where it had some, R. A. Fisher's exact test decides at 5 %.
 */
export function isMoreOften({ baseline, first, fresh }: SlowRuns): boolean {
  if (baseline.slow === 0) return true;
  const candidate = { slow: first.slow + fresh.slow, runs: first.runs + fresh.runs };
  return chanceOfAsMany(candidate, baseline) < 0.05;
}

/** That of all slow runs of both sides so many or more fall to the first by chance: a hypergeometric tail. */
function chanceOfAsMany(one: { slow: number; runs: number }, other: { slow: number; runs: number }): number {
  const slow = one.slow + other.slow;
  const total = one.runs + other.runs;
  let chance = 0;
  for (let k = one.slow; k <= Math.min(slow, one.runs); ++k) {
    chance += (choose(one.runs, k) * choose(other.runs, slow - k)) / choose(total, slow);
  }
  return chance;
}

function choose(n: number, k: number): number {
  let ways = 1;
  for (let i = 1; i <= k; ++i) ways *= (n - k + i) / i;
  return ways;
}

/** The chance that slow runs that come as often as they did stay away from all runs of the confirmation. */
const missedByConfirmation = 0.005;

/** No confirmation takes more processes than this: slow runs that are rarer than 1 in 5 may then stay unconfirmed. */
export const mostConfirmingRuns = 24;

/** How many fresh processes it takes to meet again what came in `slow` of `runs`; at most `mostConfirmingRuns`. */
export function runsToConfirm({ slow, runs }: { slow: number; runs: number }): number {
  if (slow >= runs) return 1;
  const needed = Math.ceil(Math.log(missedByConfirmation) / Math.log(1 - slow / runs));
  return Math.min(needed, mostConfirmingRuns);
}
