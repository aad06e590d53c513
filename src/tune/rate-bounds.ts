import type { Score } from "./score.js";

/** What so many workers brought: a point of a curve. */
export interface Point {
  workers: number;
  score: Score;
  /** Of the loop's time, what it spent waiting for a batch; null where that is not known. */
  waitingShare: number | null;
}

/** Rate over workers, as far as it was measured, of settings that differ in nothing else. */
export type Curve = readonly Point[];

/** The left end of every curve. (With num_workers=0 the training process makes the batches: that is no point of it.) */
const origin: Point = {
  workers: 0,
  score: { batchesPerSecond: 0, low: 0, high: 0, isSettled: true },
  waitingShare: null,
};

/** By this factor a worker may be faster than the training process was when it made the batches for `makeNsPerBatch`. */
const supplySlack = 1.15;
/** Workers that bring this share of what they can make, or more, are what limits the loader. */
const busyShare = 0.7;
/** A training loop that waits for no more than this share of its time is the limit itself. */
const hardlyWaiting = 0.05;

/**
 * The most that `workers` (at least 1) can bring, as far as the rates that were measured are right. Infinite where
 * nothing bounds it. Intervals are left out: with them every neighbour of a noisy point would hold some hope, and a
 * search that follows all of them measures a grid.
 *
 * - A curve rises to a plateau and then falls, each worker adding no more than the one before: it lies below every
 *   line through two measured points, continued to the outside.
 * - Workers bring no more than they make, `makeNsPerBatch` (null where it is not known) for a batch.
 * - Where workers bring nearly all that they can make, fewer bring less; where the loop hardly waits for them, more of
 *   them bring nothing.
 */
export function upperBound(curve: Curve, workers: number, makeNsPerBatch: number | null): number {
  const left = [origin, ...curve.filter((point) => point.workers < workers)];
  const right = curve.filter((point) => point.workers > workers);
  const own = curve.find((point) => point.workers === workers);
  if (own !== undefined) return own.score.batchesPerSecond;
  const supply = (count: number) =>
    makeNsPerBatch === null ? Number.POSITIVE_INFINITY : (count * 1e9) / makeNsPerBatch;
  let bound = supplySlack * supply(workers);
  for (const { workers: count, score } of right) {
    if (score.batchesPerSecond > busyShare * supply(count)) bound = Math.min(bound, score.batchesPerSecond);
  }
  for (const { waitingShare, score } of left) {
    if (waitingShare !== null && waitingShare < hardlyWaiting)
      bound = Math.min(bound, score.batchesPerSecond);
  }
  for (const side of [left, right]) {
    for (const near of side) {
      for (const far of side) {
        if (Math.abs(far.workers - workers) <= Math.abs(near.workers - workers)) continue;
        bound = Math.min(bound, continued(far, near, workers));
      }
    }
  }
  return bound;
}

/** Batches a second at `workers` on the line from `far` through `near`. */
function continued(far: Point, near: Point, workers: number): number {
  const rate = near.score.batchesPerSecond;
  const slope = (rate - far.score.batchesPerSecond) / (near.workers - far.workers);
  return rate + slope * (workers - near.workers);
}

/** Batches a second on the straight lines between the curve's points; null beyond the last of them. */
export function interpolated(curve: Curve, workers: number): number | null {
  const points = [origin, ...[...curve].sort((a, b) => a.workers - b.workers)];
  const right = points.findIndex((point) => point.workers >= workers);
  if (right < 1) return null;
  const from = points[right - 1]!;
  const to = points[right]!;
  const share = (workers - from.workers) / (to.workers - from.workers);
  return from.score.batchesPerSecond + share * (to.score.batchesPerSecond - from.score.batchesPerSecond);
}
