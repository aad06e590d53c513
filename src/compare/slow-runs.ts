import { hypergeometricTail } from "../stats/hypothesis-tests.js";
import { median } from "../stats/order-statistics.js";
import { sumOf } from "../stats/variance.js";
import { type BySession, fewestRuns } from "./noise.js";

/** Single runs that are far slower than the others of their session, and whether a candidate has more of them. */

export interface SlowCount {
  slow: number;
  runs: number;
}

export const mostFreshRuns = 24;

/** Standard deviations between runs below its session's median at which a run is slow. */
const deviationsOfSlow = 6;

/**
 * Counts the runs below their session's median by more than the limit and the noise (a variance) between runs, in
 * sessions whose median says what is usual.
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

/** With this many baseline runs and none of them slow, two slow ones are no chance. */
const manyRuns = 40;

/** Chance of the same or more slow runs on the candidate's side, below which they are no chance. */
const leastChance = 0.02;

/** Whether two slow runs are certain, so that no further runs change it. */
export function areCertain(baseline: SlowCount, candidate: SlowCount): boolean {
  return baseline.slow === 0 && baseline.runs >= manyRuns && candidate.slow >= 2;
}

/** Whether the candidate has slow runs more often: by R. A. Fisher's exact test, one-sided, or if they are certain. */
export function areMoreFrequent(baseline: SlowCount, candidate: SlowCount): boolean {
  const slow = baseline.slow + candidate.slow;
  const runs = baseline.runs + candidate.runs;
  return (
    areCertain(baseline, candidate) ||
    (candidate.slow > 0 && hypergeometricTail(candidate.slow, runs, slow, candidate.runs) < leastChance)
  );
}
