import { defaultPrefetchFactor, settingKey, usualSetting } from "../../results/loader-setting.js";
import type { LoaderSetting } from "../../results/tuning.js";
import { waitingShare } from "../score.js";
import { hardlyWaits, isBroken, loopRate, makeNsInProcess, neverRuledOut, type Trials } from "../trials.js";
import { bestOf, cheapestWithin, type Measured, worth } from "./choice.js";
import { confirm } from "./confirmation.js";
import { mayCopyFaster } from "./loop-body.js";
import { type Branch, type Candidate, nextSetting } from "./next-setting.js";
import { type RateCurve, supplySlack } from "./rate-bounds.js";
import { trySpareWorkers } from "./spare-workers.js";

/** The used share of the budget after `furtherNs` more (default 0). */
export type SpentShare = (furtherNs?: number) => number;

/** Shares of the budget after which parts of the search end; the rest is for confirming. */
const budgetShares = { prefetch: 0.2, exploring: 0.65 };

/**
 * Finds the cheapest of the fastest settings without trying all: no workers, many workers, the same pinned, then the
 * choices of nextSetting(). If the loop waits for workers with spare time, it tries a longer prefetch. At the end it
 * repeats doubtful settings in turns. In a running job it begins with the script's setting; once the loop hardly waits, at
 * the start of an epoch either, it tries at most workers with more time to spare. The trials are in `trials`. False if the
 * budget was too small for all that might have been better.
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
    await tryPersistence(trials);
    isExplored = await tryWorkers(trials, () => isOver(budgetShares.exploring));
    if (!isOver(budgetShares.prefetch)) await tryPrefetch(trials);
    await tryPersistence(trials);
  }
  if (facts.kind === "live" && !isOver(budgetShares.exploring)) await tryWithoutWorkers(trials);
  if (facts.kind === "live" && spentShare() <= budgetShares.exploring) await trySpareWorkers(trials);
  if (!trials.isOver) await confirm(trials, spentShare);
  return isExplored || isLoopSaturated(trials);
}

/** The first trials of every search. A running job is not slowed down needlessly by a trial without workers. */
function firstSettings({ startingPoint, probe: { facts } }: Trials): LoaderSetting[] {
  if (facts.kind === "live") return [startingPoint];
  const withoutWorkers = facts.pinningOff === null ? [false, true] : [false];
  return [startingPoint, ...withoutWorkers.map((pinMemory) => usualSetting(0, pinMemory))];
}

/**
 * In a running job: whether some setting supplies the loop without waits. If it is slower than another one, something
 * else delayed the loop, or it takes the loop's CPUs.
 */
function isLoopSaturated(trials: Trials): boolean {
  if (trials.probe.facts.kind !== "live") return false;
  const { measured, rule } = trials;
  const fastest = Math.max(0, ...measured.map(({ score }) => score.batchesPerSecond));
  return measured.some((one) => {
    const waiting = waitingShare(trials.find(one.setting)!);
    const isHeldUp = one.score.batchesPerSecond < (1 - rule.tolerance) * fastest;
    return waiting !== null && waiting < hardlyWaits && !isHeldUp && !mayGainByPinning(trials, one);
  });
}

/** Whether pinning can save copying time of the loop; assumed until a pinned trial shows otherwise. */
function mayGainByPinning(trials: Trials, { setting, score }: Measured): boolean {
  const { pinningOff, batch } = trials.probe.facts;
  if (setting.pinMemory || pinningOff !== null) return false;
  const { tolerance } = trials.rule;
  if (!mayCopyFaster(batch.bytes, score, tolerance)) return false;
  const pinned = trials.tried.filter((one) => one.setting.pinMemory);
  const faster = (1 + tolerance) * score.batchesPerSecond;
  return pinned.length === 0 || pinned.some((one) => (one.score?.batchesPerSecond ?? 0) > faster);
}

/**
 * Measures the script's setting again if it got no rate or a rough one, because all others are compared with it: a
 * job's first batches may wait while kernels are compiled or chosen. Also if nothing else will be tried, because a
 * machine is often faster in a job's first seconds than later.
 */
async function repeatWarmUp(trials: Trials): Promise<void> {
  const { startingPoint } = trials;
  const start = trials.find(startingPoint);
  if (trials.isOver || start === null || (start.score?.isSettled && !isLoopSaturated(trials))) return;
  if (start.trials.some(({ failure }) => failure !== null)) return;
  await trials.run(startingPoint);
}

/** A first trial is repeated if its batches were this many times slower to make than later ones. */
const coldFactor = 1.5;

/** The first trial may have read its files from storage and compiled code: it is repeated if later ones show that. */
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

/** False if it ended before all choices of nextSetting() were tried. */
async function tryWorkers(trials: Trials, isOver: () => boolean): Promise<boolean> {
  const counts = workerCounts(trials);
  const { pinningOff } = trials.probe.facts;
  const failed = { unpinned: new Set<number>(), pinned: new Set<number>() };
  const failedOf = (pinMemory: boolean) => (pinMemory ? failed.pinned : failed.unpinned);
  const ruleOut = (candidate: Candidate) => {
    for (const workers of noBetter(trials, counts, candidate)) failedOf(candidate.pinMemory).add(workers);
  };
  // The starting point may be one of these counts, and have failed.
  for (const { setting, trials: ofSetting } of trials.tried) {
    const { numWorkers: workers, pinMemory } = setting;
    const isCount = settingKey(setting) === settingKey(settingThatFits(trials, workers, pinMemory));
    if (workers > 0 && isCount && ofSetting.some(isBroken)) ruleOut({ workers, pinMemory });
  }
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
    if (!tried?.score) ruleOut(next);
    await repeatColdStart(trials);
    await tryPersistence(trials);
  }
  return false;
}

/** Workers take CPUs from a running loop: under another setting its own part may be shorter by this share. */
const bodySlack = 0.01;

/**
 * The loop's own limit: the rate of a step alone; in a running job its rate without waiting, once it is known both
 * pinned and not, because copies are part of the loop.
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

/** A running job without workers alternates between its own work and making batches: tried if that may still win. */
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
 * Rules out the failed count, and counts from half-way between it and the largest successful one: a resource that is
 * short with this count is also short with nearly as many, and one failure after the other would use up the budget.
 */
function noBetter(trials: Trials, counts: readonly number[], { workers, pinMemory }: Candidate): number[] {
  const good = curveOf(trials, counts, pinMemory).filter((point) => point.workers < workers);
  const most = good.at(-1)?.workers ?? 0;
  return counts.filter((count) => count === workers || (count > (most + workers) / 2 && count > most));
}

/** Every allowed number of workers, ascending from 1. */
function workerCounts({ options }: Trials): number[] {
  return Array.from({ length: options.maxWorkers }, (_, index) => index + 1);
}

/** The usual prefetch_factor, or 1 if only that fits: a small /dev/shm holds more workers that way. */
export function settingThatFits(trials: Trials, workers: number, pinMemory: boolean): LoaderSetting {
  const usual = trials.settingOf(workers, pinMemory);
  const shorter = trials.settingOf(workers, pinMemory, 1);
  return trials.misfit(usual) !== null && trials.misfit(shorter) === null ? shorter : usual;
}

function curveOf(trials: Trials, counts: readonly number[], pinMemory: boolean): RateCurve {
  const tried = new Map(trials.tried.map((one) => [settingKey(one.setting), one]));
  return counts.flatMap((workers) => {
    const point = tried.get(settingKey(settingThatFits(trials, workers, pinMemory)));
    return point?.score ? [{ workers, score: point.score, waitingShare: waitingShare(point) }] : [];
  });
}

/** A longer queue evens out samples of uneven cost: worth a trial if the loop waits although workers are idle. */
async function tryPrefetch(trials: Trials): Promise<void> {
  const chosen = cheapestWithin(trials.measured, trials.rule);
  if (chosen?.setting.prefetchFactor !== defaultPrefetchFactor) return;
  if (!waitsForIdleWorkers(trials, chosen)) return;
  const { numWorkers, pinMemory } = chosen.setting;
  await trials.run(trials.settingOf(numWorkers, pinMemory, 2 * defaultPrefetchFactor));
}

/** Number of epochs to begin with persistent workers. */
const persistentTurns = 2;

/**
 * If persistent workers would save a notable part of a job whose epochs start workers: as many are tried, until epochs
 * have begun with them, if these come in time; else an epoch's wait is computed. If they are faster, the search goes on
 * with them: where each epoch starts workers, fewer of them look better than they are once they persist. Once more if
 * more workers are chosen later, whose starts take longer.
 */
async function tryPersistence(trials: Trials): Promise<void> {
  const chosen = cheapestWithin(trials.measured, trials.rule);
  if (trials.isOver || chosen === null || chosen.setting.numWorkers === 0) return;
  if (chosen.setting.persistentWorkers || trials.arePersistentRefused) return;
  const tried = trials.tried.flatMap(({ setting }) => (setting.persistentWorkers ? setting.numWorkers : []));
  if (Math.max(0, ...tried) >= chosen.setting.numWorkers) return;
  await meetEpoch(trials, chosen);
  const setting = { ...chosen.setting, persistentWorkers: true };
  const [now, then] = [chosen.setting, setting].map((one) => trials.epochCost(one));
  if (trials.isOver || !now || !then) return;
  const savedNs = now.firstBatchNs - then.firstBatchNs;
  const epochNs = (1e9 * now.batches) / chosen.score.batchesPerSecond;
  if (savedNs <= trials.rule.tolerance * epochNs) return;
  await trials.run(setting, {
    tolerance: neverRuledOut,
    ...turnsWithin(trials, persistentTurns, epochNs),
  });
  trials.havePersistentWon = cheapestWithin(trials.measured, trials.rule)?.setting.persistentWorkers ?? false;
}

/**
 * Measures a setting once more until an epoch begins with it, if that is in reach and none has begun: a loop that hardly
 * waits within an epoch may wait at its beginning while workers start.
 */
async function meetEpoch(trials: Trials, { setting, score, trials: count }: Measured): Promise<void> {
  const { kind, epochBatches } = trials.probe.facts;
  if (kind !== "live" || epochBatches === null || count > 1 || trials.epochCost(setting) !== null) return;
  const turns = turnsWithin(trials, 1, (1e9 * epochBatches) / score.batchesPerSecond);
  if (turns.epochTurns !== undefined) await trials.run(setting, { tolerance: neverRuledOut, ...turns });
}

/** Asks a trial for this many epochs, if they come within the longest time for a trial. */
function turnsWithin(trials: Trials, least: number, epochNs: number) {
  const withinNs = (least + 0.5) * epochNs;
  return withinNs <= trials.options.stopping.mostNs ? { epochTurns: { least, withinNs } } : {};
}

/** Share of the time for a batch; less waiting leaves nothing to gain. */
const notableWaiting = 0.3;
/** Share of what the workers could make. */
const busyEnough = 0.8;

function waitsForIdleWorkers(trials: Trials, { setting, score }: Measured): boolean {
  const makeNs = trials.makeNsPerBatch;
  const tried = trials.find(setting);
  const waiting = tried === null ? null : waitingShare(tried);
  if (makeNs === null || waiting === null || waiting < notableWaiting) return false;
  return score.batchesPerSecond < (busyEnough * setting.numWorkers * 1e9) / makeNs;
}
