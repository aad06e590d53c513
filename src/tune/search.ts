import { defaultPrefetchFactor, usualSetting } from "../results/loader-setting.js";
import type { LoaderSetting } from "../results/tuning.js";
import { cheapestWithin, fastest, type Measured } from "./choice.js";
import { type Branch, type Candidate, nextSetting } from "./next-setting.js";
import type { Curve } from "./rate-bounds.js";
import type { Trials, TriedSetting } from "./trials.js";

/**
 * Finds the cheapest of the fastest settings without trying all: no workers, many workers, the same pinned, then what
 * nextSetting() asks for; a longer prefetch where the loop waits for workers that could do more; and at the end the
 * chosen setting and the fastest once more. Its trials are in `trials`. `isEnough` is true when so much time was spent
 * that a longer prefetch and a second look are not worth more of it.
 */
export async function search(trials: Trials, isEnough: () => boolean): Promise<void> {
  const { facts } = trials.probe;
  const firsts = [trials.startingPoint, usualSetting(0, false)];
  if (facts.pinningOff === null) firsts.push(usualSetting(0, true));
  for (const setting of firsts) {
    if (!trials.isOver && trials.find(setting) === null) await trials.run(setting);
  }
  if (facts.workersOff === null) {
    await tryWorkers(trials);
    if (!trials.isOver && !isEnough()) await tryPrefetch(trials);
  }
  if (!trials.isOver) await confirm(trials, isEnough);
}

async function tryWorkers(trials: Trials): Promise<void> {
  const counts = workerCounts(trials);
  const { stepNs, pinningOff } = trials.probe.facts;
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
  while (!trials.isOver) {
    const next = nextSetting({
      unpinned: branchOf(false),
      pinned: branchOf(true),
      measured: trials.measured,
      makeNsPerBatch: trials.makeNsPerBatch,
      ceiling: stepNs === null ? Number.POSITIVE_INFINITY : 1e9 / stepNs,
      tolerance: trials.options.stopping.tolerance,
    });
    if (next === null) return;
    const tried = await trials.run(settingThatFits(trials, next.workers, next.pinMemory));
    if (!tried?.score) {
      for (const workers of noBetter(trials, counts, next)) failedOf(next.pinMemory).add(workers);
    }
  }
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

/** DataLoader's own prefetch_factor, or 1 where only that fits: a small /dev/shm holds more workers that way. */
export function settingThatFits(trials: Trials, workers: number, pinMemory: boolean): LoaderSetting {
  const usual = usualSetting(workers, pinMemory);
  const shorter = usualSetting(workers, pinMemory, 1);
  return trials.misfit(usual) !== null && trials.misfit(shorter) === null ? shorter : usual;
}

function curveOf(trials: Trials, counts: readonly number[], pinMemory: boolean): Curve {
  return counts.flatMap((workers) => {
    const tried = trials.find(settingThatFits(trials, workers, pinMemory));
    return tried?.score ? [{ workers, score: tried.score, waitingShare: waitingShare(tried) }] : [];
  });
}

/** Of the time for a batch, what the loop waited for it. */
function waitingShare({ trials, score }: TriedSetting): number | null {
  const waitNs = trials.at(-1)?.waitNsPerBatch ?? null;
  return waitNs === null || score === null ? null : (waitNs * score.batchesPerSecond) / 1e9;
}

/** A longer queue evens out samples of uneven cost: worth a trial where the loop waits although workers are idle. */
async function tryPrefetch(trials: Trials): Promise<void> {
  const chosen = cheapestWithin(trials.measured, trials.options.stopping.tolerance);
  if (chosen?.setting.prefetchFactor !== defaultPrefetchFactor) return;
  if (!waitsForIdleWorkers(trials, chosen)) return;
  const { numWorkers, pinMemory } = chosen.setting;
  await trials.run(usualSetting(numWorkers, pinMemory, 2 * defaultPrefetchFactor));
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

/** Settings that are looked at again together. */
const mostContenders = 3;
/** How often they are looked at again, if there is time. */
const mostTurns = 3;

/**
 * The fastest of many measurements is fast by luck in part, and others have missed by bad luck: those in doubt are
 * measured anew, in turns, so that what the machine does meanwhile meets all of them alike.
 */
async function confirm(trials: Trials, isEnough: () => boolean): Promise<void> {
  for (let turn = 0; turn < mostTurns; ++turn) {
    for (const setting of inDoubt(trials.measured, trials.options.stopping.tolerance)) {
      if (trials.isOver || isEnough()) return;
      await trials.run(setting);
    }
  }
}

/** A setting that has this share of the chosen one's workers, or less, is worth a second look where it nearly does. */
const muchCheaper = 0.75;

/** The settings between which the choice is not certain yet, the fastest first; none where it is. */
export function inDoubt(measured: readonly Measured[], tolerance: number): LoaderSetting[] {
  const best = fastest(measured);
  const chosen = cheapestWithin(measured, tolerance);
  if (best === null || chosen === null) return [];
  const contenders = measured
    .filter(({ score }) => score.high >= (1 - tolerance) * best.score.batchesPerSecond)
    .filter(({ score }) => score.batchesPerSecond >= (1 - 3 * tolerance) * best.score.batchesPerSecond)
    .sort((a, b) => b.score.batchesPerSecond - a.score.batchesPerSecond)
    .filter((one, index) => index < mostContenders || one === chosen);
  const isCertain = contenders.every(
    (one) =>
      one === chosen ||
      (chosen.score.low >= (1 - tolerance) * one.score.high &&
        one.setting.numWorkers > muchCheaper * chosen.setting.numWorkers),
  );
  return isCertain ? [] : contenders.map(({ setting }) => setting);
}

/** Counts of workers on a grid, none among them; each is tried pinned and not: 28 settings. */
const gridCounts = 14;

/** No trial of a grid ends early because it is slow: a grid is to show slow settings as well. */
const neverRuledOut = 1;

/** Tries the grid of settings that a search spares: `pinbench tune --exhaustive`, to check the search with. */
export async function measureGrid(trials: Trials): Promise<void> {
  const { workersOff, pinningOff } = trials.probe.facts;
  const counts = workersOff === null ? spread(trials.options.maxWorkers) : [0];
  const kinds = pinningOff === null ? [false, true] : [false];
  const settings = counts.flatMap((workers) =>
    kinds.map((pinMemory) => settingThatFits(trials, workers, pinMemory)),
  );
  for (const setting of [trials.startingPoint, usualSetting(0, false), ...settings]) {
    if (trials.isOver) return;
    if (trials.find(setting) === null) await trials.run(setting, { tolerance: neverRuledOut });
  }
}

/** 0, 1 and so on to `most`, denser among the few than among the many. */
export function spread(most: number): number[] {
  if (most < gridCounts) return Array.from({ length: most + 1 }, (_, count) => count);
  // The steps grow by a ratio that makes the last one end at `most`.
  const positions = (ratio: number) =>
    Array.from({ length: gridCounts }, (_, index) => Math.round((ratio ** index - 1) / (ratio - 1)));
  let low = 1 + 1e-9;
  let high = 4;
  for (let step = 0; step < 60; ++step) {
    const middle = (low + high) / 2;
    if ((middle ** (gridCounts - 1) - 1) / (middle - 1) > most) high = middle;
    else low = middle;
  }
  return [...new Set([...positions(low).slice(0, -1), most])];
}
