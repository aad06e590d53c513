import { hypergeometricTail } from "../stats/hypothesis-tests.js";
import { median } from "../stats/order-statistics.js";
import { sumOf } from "../stats/variance.js";
import { type BySession, fewestRuns } from "./noise.js";

/** Single runs that are far slower than the others of their session, and whether the candidate has more of them. */

export interface SlowCount {
  slow: number;
  runs: number;
}

export const mostFreshRuns = 24;

/** A run is slow this many standard deviations below its session's median. */
const deviationsOfSlow = 6;

/**
 * Counts runs that are below their session's median by more than the limit and the noise (`betweenRuns`, a variance).
 * Skips sessions with too few runs.
 */
export function countSlow(sessions: BySession, limit: number, betweenRuns: number): SlowCount {
  const distance = Math.max(limit, deviationsOfSlow * Math.sqrt(betweenRuns));
  const countable = sessions.filter(({ length }) => length >= fewestRuns);
  const slow = countable.map((session) => {
    const middle = median(session);
    return session.filter((value) => value < middle - distance).length;
  });
  return { slow: sumOf(slow), runs: sumOf(countable.map(({ length }) => length)) };
}

/** If none of this many baseline runs is slow, two slow runs are significant. */
const manyRuns = 40;

/** Significance level of the exact test for slow runs. */
const leastChance = 0.02;

/** Whether two slow runs are significant, whatever further runs show. */
export function areCertain(baseline: SlowCount, candidate: SlowCount): boolean {
  return baseline.slow === 0 && baseline.runs >= manyRuns && candidate.slow >= 2;
}

/** Whether the candidate has more slow runs: by R. A. Fisher's exact test, one-sided, or if they are certain. */
export function areMoreFrequent(baseline: SlowCount, candidate: SlowCount): boolean {
  const slow = baseline.slow + candidate.slow;
  const runs = baseline.runs + candidate.runs;
  return (
    areCertain(baseline, candidate) ||
    (candidate.slow > 0 && hypergeometricTail(candidate.slow, runs, slow, candidate.runs) < leastChance)
  );
}
