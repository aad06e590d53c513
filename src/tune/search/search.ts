import { defaultPrefetchFactor, usualSetting } from "../../results/loader-setting.js";
import type { LoaderSetting } from "../../results/tuning.js";
import { bestOf, choose, inDoubt, type Measured } from "./choice.js";
import { constants } from "./constants.js";
import { type Point, suppliedBy, upperBound, workerCounts } from "./curve.js";
import { busyWorkers, waitingShare } from "./rate.js";
import { recommend } from "./recommend.js";
import { isBroken, type Trials, type TriedSetting } from "./trials.js";

const { busyShare, copyRate, exploringShare, firstWorkers, turns, workerSlack } = constants;

/** Share of the budget used after `furtherNs` more (default 0). */
export type SpentShare = (furtherNs?: number) => number;

/**
 * Finds the cheapest of the fastest settings without trying all. Tries a setting only if it may be faster than the best
 * by more than the tolerance, or as fast with fewer workers. Then repeats the candidates in turns. Begins with the
 * script's setting for a running job, otherwise with that and no workers. While it is undecided between the user's
 * setting and a better one, repeats until `undecidedShare` of the budget is used. Returns false if the budget was too
 * small.
 */
export async function search(trials: Trials, spentShare: SpentShare, undecidedShare = 1): Promise<boolean> {
  const { startingPoint, isLive, probe } = trials;
  const { pinningOff, workersOff } = probe.facts;
  const withoutWorkers = pinningOff === null ? [false, true] : [false];
  const first = isLive ? [] : withoutWorkers.map((pinMemory) => usualSetting(0, pinMemory));
  for (const setting of [startingPoint, ...first]) {
    if (!trials.isOver && trials.find(setting) === null) await trials.run(setting);
  }
  // A job's first trial does not count, and this setting is what all others are compared with.
  if (isLive && !trials.isOver) await trials.run(startingPoint);
  const next = () => (workersOff === null && !trials.isOver ? nextSetting(trials) : null);
  let setting = next();
  for (; setting !== null && spentShare() <= exploringShare; setting = next()) await trials.run(setting);
  await confirm(trials, spentShare, undecidedShare);
  return setting === null;
}

/** Repeats doubtful settings in turns, so that drift affects all alike. */
async function confirm(trials: Trials, spentShare: SpentShare, undecidedShare: number): Promise<void> {
  for (let turn = 0; turn < turns; ++turn) {
    for (const setting of inDoubt(trials.measured, trials.rule, trials.startingPoint)) {
      const lastNs = trials.find(setting)?.trials.at(-1)?.arrivalsNs.at(-1) ?? 0;
      const most = recommend(trials)?.undecided === undefined ? 1 : undecidedShare;
      if (trials.isOver || spentShare(lastNs) > most) return;
      await trials.run(setting, { tolerance: 1 });
    }
  }
}

/** All settings of one kind, pinned or pageable, by number of workers. */
interface Branch {
  pinMemory: boolean;
  curve: Point[];
  /** Numbers of workers that may still be tried. */
  open: number[];
}

/** The next setting worth a trial; null if none can change the choice. */
export function nextSetting(trials: Trials): LoaderSetting | null {
  const { measured, rule, startingPoint } = trials;
  const best = bestOf(measured);
  const chosen = choose(measured, rule, startingPoint);
  const kinds = trials.probe.facts.pinningOff === null ? [false, true] : [false];
  const branches = kinds.map((pinMemory) => branchOf(trials, pinMemory));
  if (branches.every(({ curve }) => curve.length === 0))
    return nearest(trials, branches[0]!, firstCount(trials, best));
  if (best === null || chosen === null) return null;
  /** Branches with the counts whose bound exceeds `value`, highest bound first. */
  const hopeful = (value: number) => {
    const bounded = branches.map((branch) => {
      const other = branches.find((one) => one !== branch);
      const bounds = branch.open.map((workers) => boundOf(trials, branch, other, workers));
      const open = branch.open.filter((_, index) => bounds[index]! > value);
      return { ...branch, open, bound: Math.max(0, ...bounds) };
    });
    return bounded.filter(({ open }) => open.length > 0).sort((a, b) => b.bound - a.bound);
  };
  const [faster] = hopeful((1 + rule.tolerance) * best.value);
  if (faster !== undefined) {
    // Start next to a measured point of the other kind, to compare both kinds at once.
    const twin = faster.curve.length > 0 ? undefined : fastest(branches.flatMap(({ curve }) => curve));
    const needed = neededWorkers(trials, best);
    const most = twin?.workers ?? Number.POSITIVE_INFINITY;
    const target = Math.min(most, needed ?? twin?.workers ?? middle(faster.open));
    return nearest(trials, faster, target);
  }
  const other = longerPrefetch(trials, chosen) ?? withoutWorkers(trials, best);
  // A script need not change to use fewer workers.
  const { numWorkers, pinMemory } = chosen.setting;
  if (other !== null || (trials.isLive && numWorkers === startingPoint.numWorkers)) return other;
  const [cheaper] = hopeful((1 - rule.tolerance) * best.value)
    .map((branch) => {
      const most = pinMemory && !branch.pinMemory ? numWorkers : numWorkers - 1;
      return { ...branch, open: branch.open.filter((workers) => workers <= most) };
    })
    .filter(({ open }) => open.length > 0);
  return cheaper === undefined ? null : nearest(trials, cheaper, middle(cheaper.open));
}

function branchOf(trials: Trials, pinMemory: boolean): Branch {
  const { options, startingPoint } = trials;
  // If each epoch starts workers, fewer look better than they do with persistent workers, so the two are not mixed.
  const tried = trials.tried.filter(({ setting }) => {
    const { persistentWorkers } = trials.settingOf(setting.numWorkers, pinMemory);
    return (
      setting.numWorkers > 0 &&
      setting.pinMemory === pinMemory &&
      setting.persistentWorkers === persistentWorkers
    );
  });
  const curve = new Map<number, Point>();
  for (const one of tried) {
    const { numWorkers: workers } = one.setting;
    const { batchesPerSecond } = one.score ?? { batchesPerSecond: 0 };
    if (batchesPerSecond > (curve.get(workers)?.batchesPerSecond ?? 0)) {
      curve.set(workers, { workers, batchesPerSecond, waitingShare: waitingShare(one) });
    }
  }
  // If a resource is too small for some workers, it is also too small for slightly fewer.
  const failed = Math.min(
    ...tried.flatMap((one) => (one.trials.some(isBroken) ? one.setting.numWorkers : [])),
  );
  const good = Math.max(0, ...[...curve.keys()].filter((workers) => workers < failed));
  const counts = new Set([...workerCounts(options.maxWorkers), startingPoint.numWorkers]);
  const open = [...counts].filter(
    (workers) =>
      workers > 0 &&
      tried.every(({ setting }) => setting.numWorkers !== workers) &&
      !(workers > (good + failed) / 2) &&
      trials.misfit(settingThatFits(trials, workers, pinMemory)) === null,
  );
  const ascending = [...curve.values()].sort((a, b) => a.workers - b.workers);
  return { pinMemory, curve: ascending, open: open.sort((a, b) => a - b) };
}

/** The setting with the usual prefetch_factor, or with 1 if only that fits. */
export function settingThatFits(trials: Trials, workers: number, pinMemory: boolean): LoaderSetting {
  const usual = trials.settingOf(workers, pinMemory);
  const shorter = trials.settingOf(workers, pinMemory, 1);
  return trials.misfit(usual) !== null && trials.misfit(shorter) === null ? shorter : usual;
}

/** Upper bound on the value of a number of workers: from both curves, spare time and the loop. */
function boundOf(trials: Trials, branch: Branch, other: Branch | undefined, workers: number): number {
  const makeNs = trials.makeNsPerBatch;
  const ratios = branch.curve.flatMap((point) => {
    const twin = other?.curve.find((one) => one.workers === point.workers);
    // If workers are the limit, the ratio of pinned to pageable does not hold for more workers.
    const isBusy = point.batchesPerSecond > busyShare * suppliedBy(point.workers, makeNs);
    if (twin === undefined || (isBusy && point.workers < workers)) return [];
    return [point.batchesPerSecond / twin.batchesPerSecond];
  });
  const byOther =
    ratios.length === 0 || other === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(...ratios) * upperBound(other.curve, workers, makeNs);
  const bound = Math.min(byOther, upperBound(branch.curve, workers, makeNs), loopBound(trials, branch));
  return trials.isLive ? trials.worth(bound, busyShare * workerSlack * suppliedBy(workers, makeNs)) : bound;
}

/** Time of a running loop's own work per batch, without waiting; null if unknown. */
function bodyNs(one: Pick<TriedSetting, "steady" | "trials" | "score">): number | null {
  const waiting = waitingShare(one);
  return one.steady === null || waiting === null ? null : ((1 - waiting) * 1e9) / one.steady.batchesPerSecond;
}

/** The loop's rate without waiting. In a running job, pinning may also save the time of pageable copies. */
function loopBound(trials: Trials, { pinMemory, curve }: Branch): number {
  const { stepNs, batch } = trials.probe.facts;
  if (!trials.isLive) return stepNs === null ? Number.POSITIVE_INFINITY : 1e9 / stepNs;
  const ofKind = trials.tried.filter(({ setting }) => setting.pinMemory === pinMemory);
  const bodies = (ofKind.length > 0 ? ofKind : trials.tried).flatMap((one) => bodyNs(one) ?? []);
  const copyNs = pinMemory && curve.length === 0 ? (1e9 * batch.bytes) / copyRate : 0;
  const leastNs = Math.min(...bodies) - copyNs;
  return leastNs > 0 ? 1e9 / leastNs : Number.POSITIVE_INFINITY;
}

/** Number of workers that keep up with the loop and have time to spare; null if unknown. */
function neededWorkers(trials: Trials, best: Measured): number | null {
  const makeNs = trials.makeNsPerBatch;
  const stepNs = trials.isLive ? bodyNs(trials.find(best.setting)!) : trials.probe.facts.stepNs;
  return makeNs === null || !stepNs ? null : Math.max(1, Math.ceil(makeNs / stepNs / busyShare));
}

/** Number of workers in the first trial with any. */
function firstCount(trials: Trials, best: Measured | null): number {
  const needed = best === null ? null : neededWorkers(trials, best);
  return Math.min(trials.options.maxWorkers, firstWorkers, needed ?? firstWorkers);
}

/** A longer prefetch queue, if the loop waits although workers are idle: it evens out samples of uneven cost. */
function longerPrefetch(trials: Trials, { setting, score }: Measured): LoaderSetting | null {
  const tried = trials.find(setting)!;
  const busy = busyWorkers(score.batchesPerSecond, tried.trials);
  const isUneven =
    setting.prefetchFactor === defaultPrefetchFactor &&
    busy !== null &&
    busy <= busyShare * setting.numWorkers &&
    (waitingShare(tried) ?? 0) >= 1 - busyShare;
  return isUneven ? untried(trials, { ...setting, prefetchFactor: 2 * defaultPrefetchFactor }) : null;
}

/** The setting without workers for a running job, which alternates its work and making batches, if that may win. */
function withoutWorkers(trials: Trials, best: Measured): LoaderSetting | null {
  const makeNs = trials.makeNsPerBatch;
  const ownNs = bodyNs(trials.find(best.setting)!);
  if (!trials.isLive || makeNs === null || ownNs === null) return null;
  const most = 1e9 / (ownNs + makeNs / workerSlack);
  const mayWin = most >= (1 - trials.rule.tolerance) * best.score.batchesPerSecond;
  return mayWin ? untried(trials, trials.settingOf(0, best.setting.pinMemory)) : null;
}

function untried(trials: Trials, setting: LoaderSetting): LoaderSetting | null {
  return trials.find(setting) === null && trials.misfit(setting) === null ? setting : null;
}

const fastest = (points: readonly Point[]): Point | undefined =>
  points.toSorted((a, b) => b.batchesPerSecond - a.batchesPerSecond)[0];

const middle = (open: readonly number[]) => open[(open.length - 1) >> 1]!;

function nearest(trials: Trials, { pinMemory, open }: Branch, target: number): LoaderSetting | null {
  const [workers] = open.toSorted((a, b) => Math.abs(a - target) - Math.abs(b - target));
  return workers === undefined ? null : settingThatFits(trials, workers, pinMemory);
}
