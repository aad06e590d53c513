import type { Score } from "../score.js";

export interface Point {
  workers: number;
  score: Score;
  /** Share of the loop's time spent waiting for a batch; null if unknown. */
  waitingShare: number | null;
}

/** Measured rates by number of workers, of settings that otherwise agree. */
export type RateCurve = readonly Point[];

/**
 * The left end of every curve. (With num_workers=0 the training process makes the batches, which is no point of it.)
 */
const origin: Point = {
  workers: 0,
  score: { batchesPerSecond: 0, low: 0, high: 0, isSettled: true },
  waitingShare: null,
};

/** Factor by which a worker may be faster than in the timed trial. */
export const supplySlack = 1.15;
/** Share of their possible rate from which workers are the limit. */
export const busyShare = 0.7;
/** Share by which noise may lift a point above a bound without disproving it. */
const boundSlack = 0.05;

/**
 * An upper bound on the rate of `workers` (at least 1), if the measured rates are right; infinite without a bound.
 * Intervals are ignored: with them every neighbour of a noisy point would have some hope, and a search that follows all
 * of them measures a grid.
 *
 * - A curve rises to a plateau and then falls, and each worker adds at most as much as the one before: so it is below
 *   every line through two measured points, extended outside of these.
 * - Workers deliver no more than they make, one batch in `makeNsPerBatch` (null if unknown).
 * - If workers deliver nearly all that they can make, fewer deliver less; more of them save at most the loop's waiting.
 *
 * A bound that a measured point exceeds is dropped: the time for a batch, a line, or the loop's waiting.
 */
export function upperBound(curve: RateCurve, workers: number, makeNsPerBatch: number | null): number {
  const left = [origin, ...curve.filter((point) => point.workers < workers)];
  const right = curve.filter((point) => point.workers > workers);
  const own = curve.find((point) => point.workers === workers);
  if (own !== undefined) return own.score.batchesPerSecond;
  const isExceeded = (boundAt: (count: number) => number, points: RateCurve) =>
    points.some((point) => point.score.batchesPerSecond > (1 + boundSlack) * boundAt(point.workers));
  const supplyOf = (count: number) =>
    makeNsPerBatch === null ? Number.POSITIVE_INFINITY : (count * 1e9) / makeNsPerBatch;
  const isTooSlow = isExceeded((count) => supplySlack * supplyOf(count), curve);
  const supply = (count: number) => (isTooSlow ? Number.POSITIVE_INFINITY : supplyOf(count));
  let bound = supplySlack * supply(workers);
  for (const { workers: count, score } of right) {
    const rate = score.batchesPerSecond;
    const fewer = left.filter((point) => point.workers > 0);
    if (rate > busyShare * supply(count) && !isExceeded(() => rate, fewer)) bound = Math.min(bound, rate);
  }
  for (const { waitingShare, score } of left) {
    if (waitingShare === null) continue;
    const unwaited = score.batchesPerSecond / (1 - waitingShare);
    if (!isExceeded(() => unwaited, right)) bound = Math.min(bound, unwaited);
  }
  for (const side of [left, right]) {
    for (const near of side) {
      for (const far of side) {
        if (Math.abs(far.workers - workers) <= Math.abs(near.workers - workers)) continue;
        const beyond = curve.filter(
          (point) => (point.workers - near.workers) * (near.workers - far.workers) > 0,
        );
        if (isExceeded((count) => continued(far, near, count), beyond)) continue;
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

/** Batches a second on the lines between the curve's points; null beyond the last. */
export function interpolated(curve: RateCurve, workers: number): number | null {
  const points = [origin, ...[...curve].sort((a, b) => a.workers - b.workers)];
  const right = points.findIndex((point) => point.workers >= workers);
  if (right < 1) return null;
  const from = points[right - 1]!;
  const to = points[right]!;
  const share = (workers - from.workers) / (to.workers - from.workers);
  return from.score.batchesPerSecond + share * (to.score.batchesPerSecond - from.score.batchesPerSecond);
}
