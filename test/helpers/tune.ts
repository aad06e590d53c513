import { usualSetting } from "../../src/results/loader-setting.js";
import type { Fault, LoaderSetting, TrialFailure } from "../../src/results/tuning.js";
import type { Probe, Trial, TrialControl } from "../../src/tune/loader-probe.js";
import type { MachineLimits } from "../../src/tune/machine-limits.js";
import type { ChoiceRule, Measured } from "../../src/tune/search/choice.js";
import { type Score, type StoppingRule, stoppingRule } from "../../src/tune/search/rate.js";
import { search } from "../../src/tune/search/search.js";
import { Trials, type TrialsOptions } from "../../src/tune/search/trials.js";
import { type SimulatedLoader, SimulatedProbe, simulatedFacts } from "./simulated-loader.js";

/** A node of 16 CPUs with enough memory. */
export function limitsOf(changes: Partial<MachineLimits> = {}): MachineLimits {
  return {
    usableCpus: 16,
    cpuQuota: null,
    memoryAvailableBytes: 1e12,
    sharedMemoryBytes: 64e9,
    ranks: 1,
    ...changes,
  };
}

export const stopping: StoppingRule = stoppingRule("torch", 60e9);

export function trialsOf(probe: Probe, changes: Partial<TrialsOptions> = {}): Trials {
  const maxWorkers = changes.maxWorkers ?? 16;
  return new Trials(probe, {
    limits: limitsOf({ usableCpus: maxWorkers }),
    maxWorkers,
    stopping,
    timeoutNs: 30e9,
    signal: new AbortController().signal,
    onTrial: () => undefined,
    ...changes,
  });
}

/** A signal that is aborted as soon as `isOver` returns true. */
export function signalWhen(isOver: () => boolean): AbortSignal {
  return Object.defineProperty(new AbortController().signal, "aborted", { get: isOver });
}

/** A search with the usual budget, by the simulation's clock. */
export async function searched(
  probe: SimulatedProbe,
  changes: Partial<TrialsOptions> = {},
  spentShare = (furtherNs = 0) => (probe.spentNs + furtherNs) / 60e9,
): Promise<Trials> {
  const trials = trialsOf(probe, { signal: signalWhen(() => probe.spentNs > 60e9), ...changes });
  await search(trials, spentShare);
  return trials;
}

/** Batches a second of a loader without noise. */
export async function trueRate(loader: SimulatedLoader, setting: LoaderSetting): Promise<number> {
  const probe = new SimulatedProbe({ ...loader, noise: 0, trialNoise: 0 }, simulatedFacts);
  let rate = 0;
  await probe.measure(setting, {
    enough: (arrivalsNs) => {
      const [from, to] = [Math.floor(arrivalsNs.length / 2), arrivalsNs.length - 1];
      rate = ((to - from) / (arrivalsNs[to]! - arrivalsNs[from]!)) * 1e9;
      return arrivalsNs.length >= 400;
    },
    signal: new AbortController().signal,
    timeoutNs: 30e9,
  });
  return rate;
}

/** The highest rate of all settings with this many workers. */
export async function bestRate(loader: SimulatedLoader, maxWorkers = 16, leastWorkers = 0): Promise<number> {
  let best = 0;
  for (let workers = leastWorkers; workers <= maxWorkers; ++workers) {
    for (const pinMemory of [false, true]) {
      best = Math.max(best, await trueRate(loader, usualSetting(workers, pinMemory)));
    }
  }
  return best;
}

/** For choices by rate alone: no setting is preferred for its work during a step. */
export const plainRule: ChoiceRule = {
  tolerance: 0.02,
  deviation: { relative: 0.01, degreesOfFreedom: 10 },
};

/** A setting with these rates, one for each trial. */
export function measuredAt(
  setting: LoaderSetting,
  batchesPerSecond: number,
  { spread = 0.01, trials = 1 } = {},
): Measured {
  return { setting, score: scoreAt(batchesPerSecond, spread), trials, value: batchesPerSecond };
}

/** With a relative interval of `spread` to each side. */
export function scoreAt(batchesPerSecond: number, spread = 0.01): Score {
  return {
    batchesPerSecond,
    low: batchesPerSecond * (1 - spread),
    high: batchesPerSecond * (1 + spread),
    isSettled: true,
  };
}

export function failureOf(fault: Fault, changes: Partial<TrialFailure> = {}): TrialFailure {
  return {
    fault,
    message: `It failed: ${fault}.`,
    hint: null,
    traceback: null,
    everywhere: false,
    ...changes,
  };
}

/** This many arrivals, at even distances from `firstNs` on. */
export function evenly(batches: number, gapNs: number, firstNs = gapNs): number[] {
  return Array.from({ length: batches }, (_, batch) => firstNs + batch * gapNs);
}

export function trialOf(setting: LoaderSetting, arrivalsNs: number[], changes: Partial<Trial> = {}): Trial {
  return {
    setting,
    arrivalsNs,
    aborted: false,
    failure: null,
    waitNsPerBatch: 1e6,
    copyNsPerBatch: 1e6,
    makeNsPerBatch: null,
    sharedMemoryBytes: 0,
    pinnedBytes: 0,
    workerPrivateBytes: 0,
    storageReadBytes: 0,
    ...changes,
  };
}

/** A probe with a test's own trials, one setting after the other. */
export class ScriptedProbe implements Probe {
  readonly order: LoaderSetting[] = [];

  constructor(
    readonly trial: (setting: LoaderSetting, time: number, control: TrialControl) => Trial | Promise<Trial>,
    readonly facts = simulatedFacts,
  ) {}

  async measure(setting: LoaderSetting, control: TrialControl): Promise<Trial> {
    this.order.push(setting);
    return this.trial(setting, this.order.length, control);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
