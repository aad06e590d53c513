import {
  defaultPrefetchFactor,
  describeSetting,
  settingKey,
  torchDefault,
  usualSetting,
} from "../../results/loader-setting.js";
import type { LoaderSetting, TrialRecord, Tried, Tuning } from "../../results/tuning.js";
import type { Probe, TrialControl } from "../loader-probe.js";
import { type MachineLimits, memoryMisfit, misfit } from "../machine-limits.js";
import { bestOf, type ChoiceRule, type Measured } from "./choice.js";
import { constants } from "./constants.js";
import { type EpochCost, epochCost, jobScore, startsWorkers } from "./epochs.js";
import { withCommonLoop } from "./loop.js";
import {
  busyWorkers,
  counted,
  deviationOf,
  droppedBatches,
  enoughFor,
  pooledScore,
  type Score,
  type StoppingRule,
  scaled,
  scoreOf,
} from "./rate.js";

export interface TriedSetting extends Omit<Tried, "score"> {
  /** Score including the time between a job's epochs; null if a trial failed or none had enough batches. */
  score: Score | null;
  /** Score without the time between epochs, and number of trials that count. */
  steady: Score | null;
  count: number;
  /** Cost of epochs and its share of the job's time; null if no epoch of a running job began. */
  epochs: (EpochCost & { share: number }) | null;
}

export interface TrialsOptions {
  limits: MachineLimits;
  /** Maximum number of workers: the CPUs of each rank, or the user's limit. */
  maxWorkers: number;
  stopping: StoppingRule;
  timeoutNs: number;
  /** Aborted with the search or when its time is over. */
  signal: AbortSignal;
  /** Called before each trial with the setting and the best so far. */
  onTrial(setting: LoaderSetting, best: Measured | null): void;
}

interface Kept {
  setting: LoaderSetting;
  trials: TrialRecord[];
  /** The score of each trial; null if it has none or does not count. */
  scores: (Score | null)[];
}

/** Runs all trials of a search, one at a time, and keeps their results. */
export class Trials {
  readonly #kept = new Map<string, Kept>();
  readonly #skipped = new Map<string, Tuning["skipped"][number]>();
  /** Largest memory in bytes that a worker came to own. */
  #workerBytes = 0;

  constructor(
    readonly probe: Probe,
    readonly options: TrialsOptions,
  ) {}

  get #all(): Kept[] {
    return [...this.#kept.values()];
  }

  get isLive(): boolean {
    return this.probe.facts.kind === "live";
  }

  /** Tried settings, in the order of their first trials. */
  get tried(): TriedSetting[] {
    const { deviation, tolerance } = this.rule;
    const { batch, waitsForRanks = false } = this.probe.facts;
    const all = this.#all.map(({ setting, trials, scores }) => {
      const those = counted(scores);
      const score = trials.some(isBroken) ? null : pooledScore(those, deviation);
      return { setting, trials, score, count: those.length };
    });
    const steadyScores =
      this.isLive && !waitsForRanks
        ? withCommonLoop(all, deviation, { batchBytes: batch.bytes, tolerance })
        : all.map(({ score }) => score);
    return all.map(({ setting, trials, count }, index) => {
      const steady = steadyScores[index]!;
      const cost = this.epochCost(setting);
      const tried = { setting, trials, steady, count };
      if (steady === null || cost === null) return { ...tried, score: steady, epochs: null };
      const score = jobScore(steady, cost);
      const share = 1 - score.batchesPerSecond / steady.batchesPerSecond;
      return { ...tried, score, epochs: { ...cost, share } };
    });
  }

  get measured(): Measured[] {
    return this.tried.flatMap(({ setting, score, steady, count, trials }) => {
      if (score === null || steady === null) return [];
      const { numWorkers } = setting;
      const rate = score.batchesPerSecond;
      if (numWorkers === 0) return [{ setting, score, trials: count, value: rate / this.overlapWorth }];
      const busy = this.isLive ? busyWorkers(steady.batchesPerSecond, trials) : null;
      // The last batches of a short epoch arrive together, faster than workers make them.
      const share = Math.min(1, (busy ?? 0) / numWorkers);
      const value = this.worth(rate, (constants.busyShare * rate) / share);
      return [{ setting, score, trials: count, value }];
    });
  }

  /**
   * The value of a rate of workers that have time to spare only up to the rate `most`. It discounts what they gain over
   * 0 workers, so a faster setting is never worth less than those.
   */
  worth(rate: number, most: number): number {
    if (rate <= most) return rate;
    const rates = this.tried.flatMap(({ setting, score }) =>
      setting.numWorkers === 0 && score !== null ? score.batchesPerSecond : [],
    );
    const without = Math.min(rate, Math.max(0, ...rates));
    return without + (most / rate) * (rate - without);
  }

  find(setting: LoaderSetting): TriedSetting | null {
    const key = settingKey(setting);
    return this.tried.find((one) => settingKey(one.setting) === key) ?? null;
  }

  get rule(): ChoiceRule {
    const deviation = deviationOf(this.#all.map(({ scores }) => counted(scores)));
    return { tolerance: this.options.stopping.tolerance, deviation };
  }

  /** Factor by which 0 workers must be faster to be preferred. */
  get overlapWorth(): number {
    return this.isLive || this.probe.facts.stepNs !== null ? 1 : constants.overlapWorth;
  }

  /** The user's own DataLoader, or DataLoader's defaults. */
  get startingPoint(): LoaderSetting {
    return this.probe.facts.startingPoint ?? torchDefault;
  }

  /** Whether no further trial can run: out of time, aborted, or none could succeed. */
  get isOver(): boolean {
    return (
      this.options.signal.aborted ||
      this.#all.some(({ trials }) => trials.some(({ failure }) => failure?.everywhere))
    );
  }

  /** Settings that did not fit, without those that were also tried. */
  get skipped(): Tuning["skipped"] {
    const tried = new Set(this.#all.map(({ setting }) => describeSetting(setting)));
    return [...this.#skipped.values()].filter(({ setting }) => !tried.has(describeSetting(setting)));
  }

  /**
   * Shortest time of a worker for a batch; before any was timed, that of the training process. Null if unknown or if a
   * rate disproves it.
   */
  get makeNsPerBatch(): number | null {
    const all = this.#all;
    const timed = all.flatMap(({ setting, trials }) =>
      setting.numWorkers > 0 ? trials.flatMap(({ makeNsPerBatch }) => makeNsPerBatch || []) : [],
    );
    const inProcess = all.flatMap(({ setting, trials }) =>
      setting.numWorkers === 0 && !setting.pinMemory
        ? // The loop's wait has no other cause there.
          trials.flatMap((trial) => trial.makeNsPerBatch || trial.waitNsPerBatch || [])
        : [],
    );
    const makeNs = Math.min(...(timed.length > 0 ? timed : inProcess));
    const most = (workers: number) => (constants.workerSlack * workers * 1e9) / makeNs;
    const isDisproved = this.measured.some(
      ({ setting: { numWorkers }, score }) => numWorkers > 0 && score.batchesPerSecond > most(numWorkers),
    );
    return Number.isFinite(makeNs) && !isDisproved ? makeNs : null;
  }

  epochCost(setting: LoaderSetting): EpochCost | null {
    const made = this.#all.flatMap(({ trials }) => trials.flatMap((trial) => trial.makeNsPerBatch ?? []));
    return epochCost(setting, this.#all, made.length === 0 ? null : Math.min(...made));
  }

  /**
   * The setting for trying a number of workers. In a running job the rest is as in the script, except that workers
   * persist if starting them would take a notable part of each epoch.
   */
  settingOf(numWorkers: number, pinMemory: boolean, prefetchFactor?: number): LoaderSetting {
    const own = this.isLive ? this.probe.facts.startingPoint : null;
    const prefetch = prefetchFactor ?? own?.prefetchFactor ?? defaultPrefetchFactor;
    const usual = usualSetting(numWorkers, pinMemory, prefetch);
    if (own === null) return usual;
    const script = { ...usual, persistentWorkers: false, nonBlocking: own.nonBlocking };
    const persists = own.persistentWorkers || this.#isPersistenceWorth(script);
    return { ...script, persistentWorkers: numWorkers > 0 && persists };
  }

  #isPersistenceWorth(setting: LoaderSetting): boolean {
    const rate = bestOf(this.measured)?.score.batchesPerSecond;
    const [now, then] = [setting, { ...setting, persistentWorkers: true }].map((one) => this.epochCost(one));
    if (!now || !then || rate === undefined || this.probe.facts.isRenewed) return false;
    return now.firstBatchNs - then.firstBatchNs > (this.rule.tolerance * now.batches * 1e9) / rate;
  }

  /** Why a setting cannot be tried (it is then listed as skipped); null if it can. */
  misfit(setting: LoaderSetting): string | null {
    // The script already runs with its own setting.
    if (this.isLive && settingKey(setting) === settingKey(this.startingPoint)) return null;
    const reason = misfit(setting, this.probe.facts, this.options, this.#workerBytes);
    if (reason !== null) this.#skipped.set(settingKey(setting), { setting, reason });
    return reason;
  }

  /** Why a tried setting would run out of memory over an epoch; null if it would not, or if unknown. */
  memoryMisfit(setting: LoaderSetting): string | null {
    if (settingKey(setting) === settingKey(this.startingPoint)) return null;
    return memoryMisfit(setting, this.probe.facts, this.options.limits, this.#workerBytes);
  }

  /** Runs one trial of a setting, unless it does not fit. */
  async run(setting: LoaderSetting, stopping: Partial<StoppingRule> = {}): Promise<TriedSetting | null> {
    if (this.misfit(setting) !== null) return null;
    const { probe, options } = this;
    const best = bestOf(this.measured);
    options.onTrial(setting, best);
    const dropped = droppedBatches(setting, this.isLive ? probe.facts.epochBatches : null);
    const rule = { ...options.stopping, ...stopping };
    const { setting: _, ...trial } = await probe.measure(setting, {
      enough: enoughFor(setting, rule, best === null ? null : this.#toBeat(best, setting), dropped),
      signal: options.signal,
      timeoutNs: options.timeoutNs,
      ...this.#epochTurns(setting),
    });
    const isNoResult = trial.aborted && trial.failure !== null;
    const score = isNoResult ? null : scoreOf(trial.arrivalsNs, setting, dropped);
    const kept = this.#kept.get(settingKey(setting)) ?? { setting, trials: [], scores: [] };
    this.#kept.set(settingKey(setting), kept);
    kept.trials.push({ ...trial, droppedBatches: Math.min(dropped, trial.arrivalsNs.length) });
    // The first trial is not comparable: caches are cold, kernels are chosen, clocks are highest. Another one replaces
    // it.
    if (score?.isSettled && kept === this.#all[0]) kept.scores.fill(null, 0, 1);
    // Samples delivered by several workers count once.
    kept.scores.push(score && scaled(score, 1 / (trial.sampleCopies ?? 1)));
    const ownedBytes = trial.workerEpochBytes ?? trial.workerPrivateBytes;
    if (setting.numWorkers > 0 && ownedBytes !== null) {
      this.#workerBytes = Math.max(this.#workerBytes, ownedBytes / setting.numWorkers);
    }
    return this.find(setting);
  }

  /** The steady rate at which `setting` would be worth as much as the best. */
  #toBeat(best: Measured, setting: LoaderSetting): Score {
    const steady = this.find(best.setting)!.steady!;
    const factor = best.value / best.score.batchesPerSecond;
    return scaled(steady, factor * (setting.numWorkers === 0 ? this.overlapWorth : 1));
  }

  /** Requests an epoch start in the trial, if none was seen under such a setting and one comes in time. */
  #epochTurns(setting: LoaderSetting): Pick<TrialControl, "epochTurns"> {
    const { epochBatches } = this.probe.facts;
    const rate = bestOf(this.measured)?.score.batchesPerSecond;
    if (!this.isLive || epochBatches === null || rate === undefined || setting.numWorkers === 0) return {};
    const isKnown = this.#all.some(
      (one) =>
        startsWorkers(one.setting) === startsWorkers(setting) &&
        one.trials.some(({ epochTurns = [] }) => epochTurns.length > 0),
    );
    const withinNs = (1.5 * epochBatches * 1e9) / rate;
    if (isKnown || withinNs > this.options.stopping.mostNs) return {};
    return { epochTurns: { least: 1, withinNs } };
  }
}

/**
 * Whether a setting cannot be recommended, however fast it was before it failed. The end of the data is not its fault,
 * and an aborted trial proves nothing.
 */
export function isBroken({ aborted, failure }: TrialRecord): boolean {
  return failure !== null && failure.fault !== "data-ended" && !aborted;
}
