import type { LoaderSetting } from "../../results/tuning.js";
import { bestOf, type ChoiceRule, cheapestWithin, fastest, type Measured, worth } from "./choice.js";
import { busyShare, interpolated, type Point, type RateCurve, upperBound } from "./rate-bounds.js";

/** Settings with workers that differ only in their number: all pinned, or none. */
export interface Branch {
  pinMemory: boolean;
  /** With DataLoader's own prefetch_factor. */
  curve: RateCurve;
  /** Counts of workers that may be tried and are not on the curve: at least 1, ascending. */
  open: readonly number[];
}

/** The search's state when it decides on the next trial. */
export interface Knowledge {
  unpinned: Branch;
  pinned: Branch;
  /** All measured settings, also those without workers. */
  measured: readonly Measured[];
  /** Time in which a worker makes a batch; null if unknown. */
  makeNsPerBatch: number | null;
  /** The highest possible rate, that of the training step alone; infinite if unknown. */
  ceiling: number;
  /** The rate at which the loop takes batches without waiting; null if only the loading limits it. */
  loopRate: number | null;
  rule: ChoiceRule;
}

/** A setting that may be tried next, with DataLoader's own prefetch_factor. */
export interface Candidate {
  workers: number;
  pinMemory: boolean;
}

/**
 * The next setting worth a trial; null if none can change the answer. First those that may beat the fastest by more
 * than the tolerance, then those that may match it with fewer workers: the edge of the plateau.
 */
export function nextSetting(knowledge: Knowledge): Candidate | null {
  const { measured, rule, ceiling } = knowledge;
  const best = bestOf(measured, rule);
  const chosen = cheapestWithin(measured, rule);
  if (best === null || chosen === null) return firstOf(knowledge);
  const rate = worth(best, rule);
  const cheaper = () => mightBeCheaper(knowledge, (1 - rule.tolerance) * rate, chosen.setting);
  if ((1 + rule.tolerance) * rate >= ceiling) return cheaper();
  if (!measured.some(({ setting }) => setting.numWorkers > 0)) return firstOf(knowledge);
  return mightBeFaster(knowledge, (1 + rule.tolerance) * rate) ?? cheaper();
}

/** Workers of the first trial with any, if the machine allows more than one and a half times as many. */
const firstWorkers = 16;

/** The allowed number of workers; with a training step, enough to make batches as fast as it takes them. */
function firstOf(knowledge: Knowledge): Candidate | null {
  const { unpinned } = knowledge;
  const most = unpinned.open.at(-1);
  if (most === undefined) return null;
  const usual = most > 1.5 * firstWorkers ? firstWorkers : most;
  const needed = workersOfLoop(knowledge) ?? usual;
  return { workers: nearest(unpinned.open, Math.min(usual, needed)), pinMemory: false };
}

/** The number of workers that make batches as fast as the loop takes them; null if unknown. */
function workersOfLoop({ loopRate, makeNsPerBatch }: Knowledge): number | null {
  if (loopRate === null || makeNsPerBatch === null) return null;
  return Math.max(1, Math.ceil((kneeAllowance * loopRate * makeNsPerBatch) / 1e9));
}

/**
 * Smallest relative difference between counts that is worth a trial: for more speed, also with busy workers; and for
 * fewer.
 */
const resolution = { faster: 0.25, busy: 0.1, cheaper: 0.15 };

/**
 * The setting with the highest possible rate, if that is above `rate`; the gap counts half, because it is only a bound.
 */
function mightBeFaster(knowledge: Knowledge, rate: number): Candidate | null {
  let hope: { branch: Branch; workers: number; bound: number } | null = null;
  for (const branch of [knowledge.unpinned, knowledge.pinned]) {
    for (const workers of branch.open) {
      if (neighbours(branch.curve, workers, knowledge.makeNsPerBatch).length > 0) continue;
      const bound = Math.min(boundOf(knowledge, branch, workers), knowledge.ceiling);
      if (bound > rate && (hope === null || bound > hope.bound)) hope = { branch, workers, bound };
    }
  }
  if (hope === null) return null;
  const { pinMemory, curve, open } = hope.branch;
  // One point next to one of the other kind compares the two kinds at once.
  const twin = fastest(otherCurve(knowledge, hope.branch));
  const workers =
    curve.length === 0 && twin !== null
      ? nearest(open, Math.min(twin.workers, workersOfLoop(knowledge) ?? twin.workers))
      : splitGap(knowledge, hope.branch, hope.workers);
  return { pinMemory, workers };
}

/** Within the gap of unmeasured counts around `workers`: the expected knee, or the geometric middle. */
function splitGap(knowledge: Knowledge, { curve, open }: Branch, workers: number): number {
  const { makeNsPerBatch } = knowledge;
  const needed = workersOfLoop(knowledge);
  const below = Math.max(0, ...curve.map((point) => point.workers).filter((count) => count < workers));
  const above = Math.min(...curve.map((point) => point.workers).filter((count) => count > workers));
  if (!Number.isFinite(above)) {
    const most = open.at(-1)!;
    return needed !== null && needed > below ? nearest(open, Math.min(most, needed)) : most;
  }
  const inGap = open.filter((count) => count > below && count < above);
  if (below === 0 && makeNsPerBatch !== null) {
    // The workers that together make batches as fast as the curve's fastest point takes them.
    const { batchesPerSecond } = fastest(curve)!.score;
    return nearest(inGap, (kneeAllowance * batchesPerSecond * makeNsPerBatch) / 1e9);
  }
  return nearest(inGap, Math.sqrt(Math.max(1, below) * above));
}

/** Reserve of workers for hand-over and uneven turns. */
const kneeAllowance = 1.2;

/** A setting that is cheaper than `chosen` and may still reach `rate`. */
function mightBeCheaper(knowledge: Knowledge, rate: number, chosen: LoaderSetting): Candidate | null {
  for (const branch of [knowledge.unpinned, knowledge.pinned]) {
    const { pinMemory, curve } = branch;
    const most = chosen.pinMemory && !pinMemory ? chosen.numWorkers : chosen.numWorkers - 1;
    const open = branch.open.filter(
      (workers) => workers <= most && boundOf(knowledge, branch, workers) >= rate,
    );
    if (open.length === 0 || most + 1 - open[0]! <= resolution.cheaper * most) continue;
    // A curve lies above the line between two of its points: where the line reaches the rate, so does the curve.
    const sure = open.find((workers) => (interpolated(curve, workers) ?? 0) >= rate) ?? most + 1;
    return { pinMemory, workers: nearest(open, (open[0]! + Math.min(sure, open.at(-1)! + 1)) / 2) };
  }
  return null;
}

function otherCurve({ unpinned, pinned }: Knowledge, { pinMemory }: Branch): RateCurve {
  return (pinMemory ? unpinned : pinned).curve;
}

/**
 * The kind's own curve bounds a count, and so does the other kind's curve with the effect of pinning at the nearest
 * counts.
 */
function boundOf(knowledge: Knowledge, branch: Branch, workers: number): number {
  const { makeNsPerBatch } = knowledge;
  const own = branch.curve;
  const other = otherCurve(knowledge, branch);
  const shared = own.flatMap((point) => {
    // If the workers are the limit, they are so pinned or not, which shows nothing about other counts.
    if (areBusy(point, makeNsPerBatch) && point.workers < workers) return [];
    const twin = other.find(({ workers: count }) => count === point.workers);
    return twin === undefined
      ? []
      : [{ workers: point.workers, ratio: point.score.batchesPerSecond / twin.score.batchesPerSecond }];
  });
  const below = shared.filter((pair) => pair.workers < workers).at(-1);
  const above = shared.find((pair) => pair.workers > workers);
  const ratio = Math.max(below?.ratio ?? 0, above?.ratio ?? 0);
  const byOther = ratio === 0 ? Number.POSITIVE_INFINITY : ratio * hopeOf(other, workers, makeNsPerBatch);
  return Math.min(upperBound(own, workers, makeNsPerBatch), byOther);
}

/** The highest rate that a count may have: that of its near neighbours if there are any, else its bound. */
function hopeOf(curve: RateCurve, workers: number, makeNsPerBatch: number | null): number {
  const near = neighbours(curve, workers, makeNsPerBatch);
  if (near.length === 0) return upperBound(curve, workers, makeNsPerBatch);
  return Math.max(...near.map(({ score }) => score.batchesPerSecond));
}

/**
 * Points so near that the count needs no trial. More workers than the largest tried count can add speed if those are
 * busy.
 */
function neighbours(curve: RateCurve, workers: number, makeNsPerBatch: number | null): RateCurve {
  return curve.filter((point) => {
    const isLast = curve.every((other) => other.workers <= point.workers);
    const isLess = isLast && point.workers < workers && areBusy(point, makeNsPerBatch);
    const share = isLess ? resolution.busy : resolution.faster;
    return Math.abs(point.workers - workers) <= share * workers;
  });
}

/** Whether the workers deliver nearly all that they can make, so that they are the limit. */
function areBusy({ workers, score }: Point, makeNsPerBatch: number | null): boolean {
  return makeNsPerBatch !== null && score.batchesPerSecond * makeNsPerBatch > busyShare * workers * 1e9;
}

function nearest(counts: readonly number[], wanted: number): number {
  return counts.reduce((best, count) => (Math.abs(count - wanted) < Math.abs(best - wanted) ? count : best));
}
