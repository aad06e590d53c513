import { constants } from "./constants.js";

export interface Point {
  workers: number;
  batchesPerSecond: number;
  /** Share of the loop's time spent waiting for a batch; null if unknown. */
  waitingShare: number | null;
}

const origin: Point = { workers: 0, batchesPerSecond: 0, waitingShare: null };

/**
 * An upper bound on the rate of `workers` (at least 1), given the measured rates; infinite if there is none. Points
 * ascend by workers and otherwise have equal settings. Ignores intervals: with them, every neighbour of a noisy point
 * would seem worth a trial.
 * - The rate rises to a plateau and then falls, and a worker adds no more than the one before: a count lies below the
 *   line through the two nearest points on one side.
 * - Workers deliver no more than they make, one batch in `makeNsPerBatch` (null if unknown).
 * - If workers deliver nearly all that they can make, fewer deliver less.
 * - More workers save at most the loop's waiting.
 */
export function upperBound(curve: readonly Point[], workers: number, makeNsPerBatch: number | null): number {
  const own = curve.find((point) => point.workers === workers);
  if (own !== undefined) return own.batchesPerSecond;
  const { busyShare, workerSlack } = constants;
  const supply = (count: number) => suppliedBy(count, makeNsPerBatch);
  const left = [origin, ...curve.filter((point) => point.workers < workers)].reverse();
  const right = curve.filter((point) => point.workers > workers);
  const busy = right.filter((point) => point.batchesPerSecond > busyShare * supply(point.workers));
  const unwaited = left.map(({ batchesPerSecond, waitingShare }) =>
    waitingShare === null ? Number.POSITIVE_INFINITY : batchesPerSecond / (1 - waitingShare),
  );
  return Math.min(
    workerSlack * supply(workers),
    ...busy.map((point) => point.batchesPerSecond),
    ...unwaited,
    extended(left, workers),
    extended(right, workers),
  );
}

/** Batches per second that workers can make; infinite if unknown. */
export function suppliedBy(workers: number, makeNsPerBatch: number | null): number {
  return makeNsPerBatch === null ? Number.POSITIVE_INFINITY : (workers * 1e9) / makeNsPerBatch;
}

/** Extends the line through the two nearest points of a side; infinite with fewer points. */
function extended([near, far]: readonly Point[], workers: number): number {
  if (near === undefined || far === undefined) return Number.POSITIVE_INFINITY;
  const slope = (near.batchesPerSecond - far.batchesPerSecond) / (near.workers - far.workers);
  return near.batchesPerSecond + slope * (workers - near.workers);
}

/** The numbers of workers that are tried, ascending from 1 to `most`. */
export function workerCounts(most: number): number[] {
  const counts: number[] = [];
  for (let count = most; count >= 1; count = Math.min(count - 1, Math.round(count / constants.workerSlack))) {
    counts.unshift(count);
  }
  return counts;
}
