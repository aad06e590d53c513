import { defaultPrefetchFactor, settingKey, usualSetting } from "../../results/loader-setting.js";
import type { LoaderSetting } from "../../results/tuning.js";
import {
  hardlyWaits,
  loopRate,
  makeNsInProcess,
  neverRuledOut,
  type Trials,
  waitingShare,
} from "../trials.js";
import { bestOf, cheapestWithin, type Measured, worth } from "./choice.js";
import { confirm } from "./confirmation.js";
import { type Branch, type Candidate, nextSetting } from "./next-setting.js";
import { type Curve, supplySlack } from "./rate-bounds.js";

/** The share of the budget that will have been used after `furtherNs` more (0 where it is left out). */
export type SpentShare = (furtherNs?: number) => number;

/** Shares of the budget after which a search does no more of something: the rest is for confirming. */
const budgetShares = { prefetch: 0.2, exploring: 0.65 };

/**
 * Finds the cheapest of the fastest settings without trying all: no workers, many workers, the same pinned, then what
 * nextSetting() asks for; a longer prefetch where the loop waits for workers that could do more; and at the end what
 * is in doubt once more, in turns. In a running job it begins with what its script has, and is over as soon as the loop
 * hardly waits. Its trials are in `trials`. False where the budget was too little to look at all that might have been
 * better.
 */
export async function search(trials: Trials, spentShare: SpentShare): Promise<boolean> {
  const { facts } = trials.probe;
  const isOver = (share: number) => trials.isOver || isLoopSaturated(trials) || spentShare() > share;
  for (const setting of firstSettings(trials)) {
    if (!trials.isOver && trials.find(setting) === null) await trials.run(setting);
  }
  if (facts.kind === "live") await repeatWarmUp(trials);
  await repeatColdStart(trials);
  let isExplored = true;
  if (facts.workersOff === null) {
    isExplored = await tryWorkers(trials, () => isOver(budgetShares.exploring));
    if (!isOver(budgetShares.prefetch)) await tryPrefetch(trials);
    if (!trials.isOver) await tryPersistence(trials);
  }
  if (facts.kind === "live" && !isOver(budgetShares.exploring)) await tryWithoutWorkers(trials);
  if (!trials.isOver) await confirm(trials, spentShare);
  return isExplored || isLoopSaturated(trials);
}

/** What is tried whatever comes of it. A running job is not slowed down by a trial without workers for nothing. */
function firstSettings({ startingPoint, probe: { facts } }: Trials): LoaderSetting[] {
  if (facts.kind === "live") return [startingPoint];
  const withoutWorkers = facts.pinningOff === null ? [false, true] : [false];
  return [startingPoint, ...withoutWorkers.map((pinMemory) => usualSetting(0, pinMemory))];
}

/**
 * In a running job: whether a setting was found under which the loop has its batches as soon as it wants them. One that is
 * slower than another all the same was measured while something else held the loop up, or takes the loop's CPUs.
 */
function isLoopSaturated(trials: Trials): boolean {
  if (trials.probe.facts.kind !== "live") return false;
  const { measured, rule } = trials;
  const fastest = Math.max(0, ...measured.map(({ score }) => score.batchesPerSecond));
  return measured.some((one) => {
    const waiting = waitingShare(trials.find(one.setting)!);
    const isHeldUp = one.score.batchesPerSecond < (1 - rule.tolerance) * fastest;
    return waiting !== null && waiting < hardlyWaits && !isHeldUp && !mayCopyFaster(trials, one);
  });
}

/**
 * Bytes a second at least at which a training loop copies batches that are not pinned, which is time that it does not
 * wait for data: pinning saved 12 ms of a batch of 38.5 MB (3.1e9 a second) in one of ResNet-50 on an H200.
 */
const leastCopyRate = 3e9;

/** Whether copying batches is a part of the loop's time that pinning saves: it may be, until a pinned one shows that. */
function mayCopyFaster(trials: Trials, { setting, score }: Measured): boolean {
  const { pinningOff, batch } = trials.probe.facts;
  if (setting.pinMemory || pinningOff !== null) return false;
  const { tolerance } = trials.rule;
  if ((batch.bytes * score.batchesPerSecond) / leastCopyRate <= tolerance) return false;
  const pinned = trials.tried.filter((one) => one.setting.pinMemory);
  const faster = (1 + tolerance) * score.batchesPerSecond;
  return pinned.length === 0 || pinned.some((one) => (one.score?.batchesPerSecond ?? 0) > faster);
}

/**
 * A job's first batches may wait for kernels that are compiled or chosen among: where so few came that what its script has
 * got no rate, or a rough one, that is measured again, as all else is compared with it.
 */
async function repeatWarmUp(trials: Trials): Promise<void> {
  const { startingPoint } = trials;
  const start = trials.find(startingPoint);
  if (trials.isOver || start === null || start.score?.isSettled) return;
  if (start.trials.some(({ failure }) => failure !== null)) return;
  await trials.run(startingPoint);
}

/** A first trial whose batches took so many times as long to make as later ones was not what the loader does. */
const coldFactor = 1.5;

/** The first trial may have read its files from storage and compiled code: where later ones show that, it is repeated. */
async function repeatColdStart(trials: Trials): Promise<void> {
  const [first, ...later] = trials.tried;
  if (trials.isOver || first === undefined || first.trials.length > 1) return;
  if (first.setting.numWorkers > 0 && first.trials[0]!.makeNsPerBatch === null) return;
  const firstNs = makeNsInProcess(first.trials[0]!);
  if (firstNs === null || firstNs === 0) return;
  const isContradicted = later.some(({ setting, score, trials: ofSetting }) => {
    const { numWorkers } = setting;
    if (numWorkers > 0 && score !== null) {
      if (score.batchesPerSecond > (coldFactor * numWorkers * 1e9) / firstNs) return true;
    }
    const known = ofSetting.map((trial) => (numWorkers > 0 ? trial.makeNsPerBatch : makeNsInProcess(trial)));
    return known.some((makeNs) => makeNs !== null && makeNs > 0 && coldFactor * makeNs < firstNs);
  });
  if (isContradicted) await trials.run(first.setting, { forget: true });
}

/** False where it was over before all that nextSetting() asks for was tried. */
async function tryWorkers(trials: Trials, isOver: () => boolean): Promise<boolean> {
  const counts = workerCounts(trials);
  const { pinningOff } = trials.probe.facts;
  const failed = { unpinned: new Set<number>(), pinned: new Set<number>() };
  const failedOf = (pinMemory: boolean) => (pinMemory ? failed.pinned : failed.unpinned);
  const branchOf = (pinMemory: boolean): Branch => {
    const curve = curveOf(trials, counts, pinMemory);
    const open = counts.filter(
      (workers) =>
        !failedOf(pinMemory).has(workers) &&
        !curve.some((point) => point.workers === workers) &&
        trials.misfit(settingThatFits(trials, workers, pinMemory)) === null,
    );
    return { pinMemory, curve, open: pinMemory && pinningOff !== null ? [] : open };
  };
  while (!isOver()) {
    const next = nextSetting({
      unpinned: branchOf(false),
      pinned: branchOf(true),
      measured: trials.measured,
      makeNsPerBatch: trials.makeNsPerBatch,
      ...limitsOfLoop(trials),
      rule: trials.rule,
    });
    if (next === null) return true;
    const tried = await trials.run(settingThatFits(trials, next.workers, next.pinMemory));
    if (!tried?.score) {
      for (const workers of noBetter(trials, counts, next)) failedOf(next.pinMemory).add(workers);
    }
    await repeatColdStart(trials);
  }
  return false;
}

/** Workers take CPUs from a running loop: under another setting its own part may be shorter by this share. */
const bodySlack = 0.01;

/**
 * What the loop itself allows: beside a step no more than that alone; in a running job what it did when it did not wait,
 * as soon as that is known both pinned and not, as the copies are a part of it.
 */
function limitsOfLoop(trials: Trials): { ceiling: number; loopRate: number | null } {
  const { kind, stepNs, pinningOff } = trials.probe.facts;
  if (stepNs !== null) return { ceiling: 1e9 / stepNs, loopRate: 1e9 / stepNs };
  if (kind !== "live") return { ceiling: Number.POSITIVE_INFINITY, loopRate: null };
  const ofKind = (pinMemory: boolean) => {
    const measured = trials.measured.filter(({ setting }) => setting.pinMemory === pinMemory);
    return loopRate(trials, bestOf(measured, trials.rule));
  };
  const rates = pinningOff === null ? [ofKind(false), ofKind(true)] : [ofKind(false) ?? ofKind(true)];
  const known = rates.filter((rate) => rate !== null);
  return {
    ceiling: known.length < rates.length ? Number.POSITIVE_INFINITY : (1 + bodySlack) * Math.max(...known),
    loopRate: loopRate(trials, bestOf(trials.measured, trials.rule)),
  };
}

/** A running job without workers does in turns what it does and what they do: tried where that may still win. */
async function tryWithoutWorkers(trials: Trials): Promise<void> {
  const best = bestOf(trials.measured, trials.rule);
  const rate = loopRate(trials, best);
  const makeNs = trials.makeNsPerBatch;
  if (best === null || rate === null || makeNs === null) return;
  const setting = trials.settingOf(0, best.setting.pinMemory);
  const most = 1e9 / (1e9 / rate + makeNs / supplySlack);
  if (trials.find(setting) !== null || most < (1 - trials.rule.tolerance) * worth(best, trials.rule)) return;
  await trials.run(setting);
}

/**
 * The count that failed and those from half-way between it and the most that did not: what runs out with so many workers
 * does so with nearly as many, and one failure after the other would use up the budget.
 */
function noBetter(trials: Trials, counts: readonly number[], { workers, pinMemory }: Candidate): number[] {
  const good = curveOf(trials, counts, pinMemory).filter((point) => point.workers < workers);
  const most = good.at(-1)?.workers ?? 0;
  return counts.filter((count) => count === workers || (count > (most + workers) / 2 && count > most));
}

/** Every count of workers that may be tried, ascending from 1. */
function workerCounts({ options }: Trials): number[] {
  return Array.from({ length: options.maxWorkers }, (_, index) => index + 1);
}

/** The usual prefetch_factor, or 1 where only that fits: a small /dev/shm holds more workers that way. */
export function settingThatFits(trials: Trials, workers: number, pinMemory: boolean): LoaderSetting {
  const usual = trials.settingOf(workers, pinMemory);
  const shorter = trials.settingOf(workers, pinMemory, 1);
  return trials.misfit(usual) !== null && trials.misfit(shorter) === null ? shorter : usual;
}

function curveOf(trials: Trials, counts: readonly number[], pinMemory: boolean): Curve {
  const tried = new Map(trials.tried.map((one) => [settingKey(one.setting), one]));
  return counts.flatMap((workers) => {
    const point = tried.get(settingKey(settingThatFits(trials, workers, pinMemory)));
    return point?.score ? [{ workers, score: point.score, waitingShare: waitingShare(point) }] : [];
  });
}

/** A longer queue evens out samples of uneven cost: worth a trial where the loop waits although workers are idle. */
async function tryPrefetch(trials: Trials): Promise<void> {
  const chosen = cheapestWithin(trials.measured, trials.rule);
  if (chosen?.setting.prefetchFactor !== defaultPrefetchFactor) return;
  if (!waitsForIdleWorkers(trials, chosen)) return;
  const { numWorkers, pinMemory } = chosen.setting;
  await trials.run(trials.settingOf(numWorkers, pinMemory, 2 * defaultPrefetchFactor));
}

/** So many epochs begin with workers that persist, where that takes no longer than this share of the budget. */
const persistentTurns = 2;

/**
 * Where workers that persist would save a notable part of a job whose epochs start them: tried until epochs have begun
 * with them, as far as these are in reach; else what an epoch waits for then is reckoned.
 */
async function tryPersistence(trials: Trials): Promise<void> {
  const chosen = cheapestWithin(trials.measured, trials.rule);
  if (chosen === null || chosen.setting.numWorkers === 0 || chosen.setting.persistentWorkers) return;
  const setting = { ...chosen.setting, persistentWorkers: true };
  const [now, then] = [chosen.setting, setting].map((one) => trials.epochCost(one));
  if (!now || !then) return;
  const savedNs = now.firstBatchNs - then.firstBatchNs;
  const epochNs = (1e9 * now.batches) / chosen.score.batchesPerSecond;
  if (savedNs <= trials.rule.tolerance * epochNs) return;
  const withinNs = (persistentTurns + 0.5) * epochNs;
  const isInReach = withinNs <= trials.options.stopping.mostNs;
  await trials.run(setting, {
    tolerance: neverRuledOut,
    ...(isInReach ? { epochTurns: { least: persistentTurns, withinNs } } : {}),
  });
}

/** Of the time for a batch; less waiting than this leaves nothing to gain. */
const notableWaiting = 0.3;
/** Of what the workers could make. */
const busyEnough = 0.8;

function waitsForIdleWorkers(trials: Trials, { setting, score }: Measured): boolean {
  const makeNs = trials.makeNsPerBatch;
  const tried = trials.find(setting);
  const waiting = tried === null ? null : waitingShare(tried);
  if (makeNs === null || waiting === null || waiting < notableWaiting) return false;
  return score.batchesPerSecond < (busyEnough * setting.numWorkers * 1e9) / makeNs;
}
