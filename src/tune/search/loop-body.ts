import type { LoaderSetting, TrialRecord } from "../../results/tuning.js";
import { median } from "../../stats/order-statistics.js";
import { type Score, type TrialSpread, uncertainty, waitingShare } from "../score.js";

/** A setting's score and trials; `count` is the number of trials that count. */
interface Scored {
  setting: LoaderSetting;
  trials: TrialRecord[];
  score: Score | null;
  count: number;
}

/** A measured setting with the loop's own work, its body: the time for a batch without the wait for it. */
interface Body extends Scored {
  score: Score;
  bodyNs: number;
  /** Mean number of workers that make batches at the same time. */
  busyWorkers: number;
}

/** Numbers of busy workers that differ by at most this share take the same CPUs from the loop. */
const alike = 1 / 3;
/** Workers that are busy for this share of the time are the limit: a shorter body would only be a longer wait. */
const limiting = 0.9;
/**
 * A running job's speed varies: trials of one setting, half a minute apart, differed by up to 17 % on an H200
 * (results/nvidia-h200/tune-live.txt), and its first seconds were the fastest.
 */
export const apartInTime = 0.17;
/** Fewest trials of each compared setting, so that a disturbed one is outvoted. */
export const trialsOfClaim = 3;

/**
 * The scores of a running job's settings, with the loop's body taken as equal if as many workers are busy, unless two
 * differ by more than a wandering speed of the machine explains: it changes the body from trial to trial by more than a
 * loader does, while the wait is timed by itself. A pinned body may be shorter than a pageable one if copies may explain
 * it (`mayCopyFaster`).
 */
export function withCommonBody(
  all: readonly Scored[],
  spread: TrialSpread,
  mayCopyFaster: (score: Score) => boolean,
): (Score | null)[] {
  const bodies = all.map(bodyOf);
  const differ = (one: Body, other: Body) => {
    const half = Math.hypot(...[one, other].map(({ score, count }) => uncertainty(score, count, spread)));
    const least = Math.min(one.count, other.count) < trialsOfClaim ? apartInTime : 0;
    return Math.abs(one.bodyNs - other.bodyNs) > Math.max(half, least) * Math.max(one.bodyNs, other.bodyNs);
  };
  const isCommon = (one: Body, other: Body) => {
    const [few, many] = [one.busyWorkers, other.busyWorkers].sort((a, b) => a - b);
    if (many! - few! > alike * many! || differ(one, other)) return false;
    if (one.setting.pinMemory === other.setting.pinMemory) return true;
    const [pinned, pageable] = one.setting.pinMemory ? [one, other] : [other, one];
    return pinned.bodyNs >= pageable.bodyNs || !mayCopyFaster(one.score);
  };
  return all.map(({ score }, index) => {
    const one = bodies[index]!;
    if (one === null) return score;
    const common = bodies.flatMap((other) =>
      other !== null && (one === other || isCommon(one, other)) ? other : [],
    );
    const trials = common.reduce((sum, { count }) => sum + count, 0);
    const bodyNs = common.reduce((sum, { count, bodyNs }) => sum + count * bodyNs, 0) / trials;
    return withBody(one, bodyNs);
  });
}

/** Null if nothing was measured, if the wait is unknown, or if the workers are the limit. */
function bodyOf(one: Scored): Body | null {
  const { setting, trials, score } = one;
  const waiting = waitingShare(one);
  if (score === null || waiting === null) return null;
  const busyWorkers = busyWorkersAt(score.batchesPerSecond, trials);
  if (busyWorkers === null || busyWorkers > limiting * setting.numWorkers) return null;
  return { ...one, score, bodyNs: ((1 - waiting) * 1e9) / score.batchesPerSecond, busyWorkers };
}

/** Mean number of workers that make batches at the same time, at a rate of batches a second; null if none was timed. */
export function busyWorkersAt(batchesPerSecond: number, trials: readonly TrialRecord[]): number | null {
  const makeNs = trials.flatMap(({ makeNsPerBatch }) => makeNsPerBatch ?? []);
  return makeNs.length === 0 ? null : (median(makeNs) * batchesPerSecond) / 1e9;
}

/** The score of a setting whose loop has another body. */
function withBody({ score, bodyNs: own }: Body, bodyNs: number): Score {
  const { batchesPerSecond, low, high, isSettled } = score;
  const batchNs = 1e9 / batchesPerSecond;
  const factor = batchNs / (batchNs - own + bodyNs);
  return { batchesPerSecond: batchesPerSecond * factor, low: low * factor, high: high * factor, isSettled };
}

/**
 * Slowest rate, in bytes a second, at which a training loop copies pageable batches. This time is no wait for data:
 * pinning saved 12 ms of a batch of 38.5 MB (3.1e9 a second) in a training of ResNet-50 on an H200.
 */
const leastCopyRate = 3e9;

/** Whether copies of such batches take a notable part of the loop's time, which pinning may save. */
export function mayCopyFaster(batchBytes: number, { batchesPerSecond }: Score, tolerance: number): boolean {
  return (batchBytes * batchesPerSecond) / leastCopyRate > tolerance;
}
