import type { LoaderSetting } from "../../results/tuning.js";
import { bestOf, type ChoiceRule, cheapestWithin, fastest, type Measured, worth } from "./choice.js";
import { busyShare, type Curve, interpolated, type Point, upperBound } from "./rate-bounds.js";

/** Settings with workers that differ in their workers alone: all pinned, or none. */
export interface Branch {
  pinMemory: boolean;
  /** With DataLoader's own prefetch_factor. */
  curve: Curve;
  /** Counts of workers that may be tried and are no points of the curve: at least 1, ascending. */
  open: readonly number[];
}

/** What the search knows when it decides what to try next. */
export interface Knowledge {
  unpinned: Branch;
  pinned: Branch;
  /** All of those measured, the settings without workers too. */
  measured: readonly Measured[];
  /** What making a batch takes one worker; null where that is not known. */
  makeNsPerBatch: number | null;
  /** The rate that nothing can exceed: that of the training step alone; infinite where that is not known. */
  ceiling: number;
  /** The rate at which the loop takes batches that it need not wait for; null where nothing beside the data limits it. */
  loopRate: number | null;
  rule: ChoiceRule;
}

/** A setting that may be tried next, with DataLoader's own prefetch_factor. */
export interface Candidate {
  workers: number;
  pinMemory: boolean;
}

/**
 * The next setting that is worth a trial; null where none can change the answer. First whatever might still beat the
 * fastest by more than the tolerance, then whatever might do as well with fewer workers: the plateau's edge.
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

/** Workers of the first trial that has some, on a machine that allows more than half as many again. */
const firstWorkers = 16;

/** As many as may be; beside a training step, those that make batches as fast as it takes them. */
function firstOf(knowledge: Knowledge): Candidate | null {
  const { unpinned } = knowledge;
  const most = unpinned.open.at(-1);
  if (most === undefined) return null;
  const usual = most > 1.5 * firstWorkers ? firstWorkers : most;
  const needed = workersOfLoop(knowledge) ?? usual;
  return { workers: nearest(unpinned.open, Math.min(usual, needed)), pinMemory: false };
}

/** The workers that make batches as fast as the loop takes them; null where that is not known. */
function workersOfLoop({ loopRate, makeNsPerBatch }: Knowledge): number | null {
  if (loopRate === null || makeNsPerBatch === null) return null;
  return Math.max(1, Math.ceil((kneeAllowance * loopRate * makeNsPerBatch) / 1e9));
}

/** Counts that differ by less, relatively, are not worth a trial: for more speed, also with busy workers; and for fewer. */
const resolution = { faster: 0.25, busy: 0.1, cheaper: 0.15 };

/**
 * The setting with the most to hope for, if that is more than `rate`; its gap is halved, as its bound is but a bound.
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
  // One point beside one of the other kind says at once how the two kinds compare.
  const twin = fastest(otherCurve(knowledge, hope.branch));
  const workers =
    curve.length === 0 && twin !== null
      ? nearest(open, Math.min(twin.workers, workersOfLoop(knowledge) ?? twin.workers))
      : splitGap(knowledge, hope.branch, hope.workers);
  return { pinMemory, workers };
}

/** Within the gap of unmeasured counts around `workers`: the expected knee, or the middle on a scale of ratios. */
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

/** Beyond what the workers make without any loss, as much again for handing over and for uneven turns. */
const kneeAllowance = 1.2;

/** Something that costs less than `chosen` and may still reach `rate`. */
function mightBeCheaper(knowledge: Knowledge, rate: number, chosen: LoaderSetting): Candidate | null {
  for (const branch of [knowledge.unpinned, knowledge.pinned]) {
    const { pinMemory, curve } = branch;
    const most = chosen.pinMemory && !pinMemory ? chosen.numWorkers : chosen.numWorkers - 1;
    const open = branch.open.filter(
      (workers) => workers <= most && boundOf(knowledge, branch, workers) >= rate,
    );
    if (open.length === 0 || most + 1 - open[0]! <= resolution.cheaper * most) continue;
    // A curve lies above the straight line between two of its points: where that reaches the rate, the curve does.
    const sure = open.find((workers) => (interpolated(curve, workers) ?? 0) >= rate) ?? most + 1;
    return { pinMemory, workers: nearest(open, (open[0]! + Math.min(sure, open.at(-1)! + 1)) / 2) };
  }
  return null;
}

function otherCurve({ unpinned, pinned }: Knowledge, { pinMemory }: Branch): Curve {
  return (pinMemory ? unpinned : pinned).curve;
}

/** The kind's own curve bounds a count, and so does the other kind's by what pinning does at the nearest counts. */
function boundOf(knowledge: Knowledge, branch: Branch, workers: number): number {
  const { makeNsPerBatch } = knowledge;
  const own = branch.curve;
  const other = otherCurve(knowledge, branch);
  const shared = own.flatMap((point) => {
    // Where the workers are the limit, they are so pinned or not: that tells nothing of where they are not.
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

/** What a count may bring beside what its neighbours brought: nothing more, where there are any. */
function hopeOf(curve: Curve, workers: number, makeNsPerBatch: number | null): number {
  const near = neighbours(curve, workers, makeNsPerBatch);
  if (near.length === 0) return upperBound(curve, workers, makeNsPerBatch);
  return Math.max(...near.map(({ score }) => score.batchesPerSecond));
}

/** Points so near that the count itself need not be tried. More workers than the most, if those are busy, bring more. */
function neighbours(curve: Curve, workers: number, makeNsPerBatch: number | null): Curve {
  return curve.filter((point) => {
    const isLast = curve.every((other) => other.workers <= point.workers);
    const isLess = isLast && point.workers < workers && areBusy(point, makeNsPerBatch);
    const share = isLess ? resolution.busy : resolution.faster;
    return Math.abs(point.workers - workers) <= share * workers;
  });
}

/** Whether the workers bring so much of what they can make that they are the limit. */
function areBusy({ workers, score }: Point, makeNsPerBatch: number | null): boolean {
  return makeNsPerBatch !== null && score.batchesPerSecond * makeNsPerBatch > busyShare * workers * 1e9;
}

function nearest(counts: readonly number[], wanted: number): number {
  return counts.reduce((best, count) => (Math.abs(count - wanted) < Math.abs(best - wanted) ? count : best));
}
