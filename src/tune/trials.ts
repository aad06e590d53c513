import { defaultPrefetchFactor, settingKey, torchDefault, usualSetting } from "../results/loader-setting.js";
import type { LoaderSetting, TrialRecord, Tuning } from "../results/tuning.js";
import { median } from "../stats/order-statistics.js";
import { type EpochCost, epochCost, jobScore } from "./epoch-cost.js";
import type { Probe, TrialControl } from "./loader-probe.js";
import { type MachineLimits, misfit } from "./machine-limits.js";
import { withOpenWait } from "./open-wait.js";
import { comparable, pooledScore, trialSpread } from "./pooled-score.js";
import { type Score, scoreOf } from "./score.js";
import { bestOf, type ChoiceRule, type Measured, overlapWorthWithoutStep } from "./search/choice.js";
import { supplySlack } from "./search/rate-bounds.js";
import { enoughFor, type StoppingRule } from "./search/stopping.js";
import { droppedBatches } from "./steady-state.js";
import { readsStorage } from "./storage-reads.js";

/**
 * A setting that was tried: as the document has it, but for the score of all its trials together. Null where none had
 * enough batches, or one of them failed.
 */
export interface TriedSetting extends Omit<Tuning["tried"][number], "score"> {
  score: Score | null;
  /**
   * What is lost between epochs, and which share of the job's time; null where none of a running job began in the search:
   * the score is that of the steady state alone then.
   */
  epochs: (EpochCost & { share: number }) | null;
}

/** What all trials of a search have in common. */
export interface TrialsOptions {
  limits: MachineLimits;
  /** Most workers of a setting: the CPUs of each rank, or what the user allows. */
  maxWorkers: number;
  /** Of trials; the search narrows what it must know better. */
  stopping: StoppingRule;
  timeoutNs: number;
  /** Aborted where the search is, and where its time is up. */
  signal: AbortSignal;
  /** Before each trial: what is tried, and the best until now. */
  onTrial(setting: LoaderSetting, best: Measured | null): void;
}

/** The `tolerance` of a trial that is to be measured to the end, however slow its setting is. */
export const neverRuledOut = 1;

/** A setting with its trials, and the scores of those that count. */
interface Kept {
  setting: LoaderSetting;
  trials: TrialRecord[];
  scores: Score[];
  /** These are of trials that met files on storage. */
  areCold: boolean;
}
/** How often a trial that read storage is repeated. */
const mostRepeats = 2;

/** `forget`: the trials before count no more. */
type RunOptions = Partial<StoppingRule> & Pick<TrialControl, "epochTurns"> & { forget?: boolean };

/** All trials of a search: runs them, one at a time, and keeps what came of them. */
export class Trials {
  readonly #tried = new Map<string, Kept>();
  readonly #skipped = new Map<string, Tuning["skipped"][number]>();
  /** Files come from storage however often they are read: there is no room for them in the page cache. */
  #isStorageBound = false;
  /** What a worker comes to own, at most. */
  #workerBytes = 0;

  constructor(
    readonly probe: Probe,
    readonly options: TrialsOptions,
  ) {}

  /** In the order in which they were first tried. */
  get tried(): TriedSetting[] {
    const { spread } = this.rule;
    return [...this.#tried.values()].map(({ setting, trials, scores }) => {
      const steady = trials.some(isBroken) ? null : pooledScore(scores, spread);
      const cost = this.epochCost(setting);
      if (steady === null || cost === null) return { setting, score: steady, epochs: null, trials };
      const score = jobScore(steady, cost, setting);
      const share = 1 - score.batchesPerSecond / steady.batchesPerSecond;
      return { setting, score, epochs: { ...cost, share }, trials };
    });
  }

  /** What epochs cost under a setting, tried or not; null where that is not known. */
  epochCost(setting: LoaderSetting): EpochCost | null {
    const all = [...this.#tried.values()];
    const made = all.flatMap(({ trials }) => trials.flatMap((trial) => trial.makeNsPerBatch ?? []));
    return epochCost(setting, all, made.length === 0 ? null : Math.min(...made));
  }

  /** What settings are chosen by: the spread between trials is that of all that were repeated. */
  get rule(): ChoiceRule {
    const { kind, stepNs } = this.probe.facts;
    return {
      tolerance: this.options.stopping.tolerance,
      overlapWorth: stepNs === null && kind !== "live" ? overlapWorthWithoutStep : 1,
      spread: trialSpread([...this.#tried.values()].map(({ scores }) => scores)),
    };
  }

  get skipped(): Tuning["skipped"] {
    return [...this.#skipped].filter(([key]) => !this.#tried.has(key)).map(([, skipped]) => skipped);
  }

  get measured(): Measured[] {
    return this.tried.flatMap(({ setting, score }) => {
      const trials = comparable(this.#tried.get(settingKey(setting))!.scores).length;
      return score === null ? [] : [{ setting, score, trials }];
    });
  }

  /** Every further setting would fail as one has failed. */
  get failedEverywhere(): boolean {
    return this.tried.some(({ trials }) => trials.some(({ failure }) => failure?.everywhere));
  }

  /** No further trial is to be run: there is no time left for one, it was aborted, or it could not succeed. */
  get isOver(): boolean {
    return this.options.signal.aborted || this.failedEverywhere;
  }

  /** What to compare with: the user's own DataLoader, or one that is given no settings. */
  get startingPoint(): LoaderSetting {
    return this.probe.facts.startingPoint ?? torchDefault;
  }

  /**
   * The least that making a batch has taken a worker. Until a trial has timed that: what it took the training process.
   * Null where neither is known, or a rate shows it to be wrong, as that of a first trial whose files came from storage.
   */
  get makeNsPerBatch(): number | null {
    const timed = this.tried.flatMap(({ setting, trials }) =>
      setting.numWorkers > 0 ? trials.flatMap(({ makeNsPerBatch }) => makeNsPerBatch || []) : [],
    );
    const inProcess = this.tried.flatMap(({ setting, trials }) =>
      setting.numWorkers === 0 && !setting.pinMemory
        ? trials.flatMap((trial) => makeNsInProcess(trial) || [])
        : [],
    );
    const known = timed.length > 0 ? timed : inProcess;
    if (known.length === 0) return null;
    const makeNs = Math.min(...known);
    const exceedsIt = ({ setting, score }: Measured) =>
      score.batchesPerSecond > (supplySlack * setting.numWorkers * 1e9) / makeNs;
    return this.measured.some((one) => one.setting.numWorkers > 0 && exceedsIt(one)) ? null : makeNs;
  }

  find(setting: LoaderSetting): TriedSetting | null {
    const key = settingKey(setting);
    return this.tried.find((one) => settingKey(one.setting) === key) ?? null;
  }

  /**
   * The setting under which so many workers are tried. In a running job it is as its script has it in all that is not
   * searched for: its own prefetch_factor, whether workers persist, and how it copies.
   */
  settingOf(numWorkers: number, pinMemory: boolean, prefetchFactor?: number): LoaderSetting {
    const { kind, startingPoint: own } = this.probe.facts;
    if (kind !== "live" || own === null) return usualSetting(numWorkers, pinMemory, prefetchFactor);
    return {
      ...usualSetting(numWorkers, pinMemory, prefetchFactor ?? own.prefetchFactor ?? defaultPrefetchFactor),
      persistentWorkers: numWorkers > 0 && own.persistentWorkers,
      nonBlocking: own.nonBlocking,
    };
  }

  /** Why a setting cannot be tried, kept among those skipped; null where it can. */
  misfit(setting: LoaderSetting): string | null {
    const { probe, options } = this;
    // What a running job has, it has room for.
    if (probe.facts.kind === "live" && settingKey(setting) === settingKey(this.startingPoint)) return null;
    const reason = misfit(setting, probe.facts, options, this.#workerBytes);
    if (reason !== null) this.#skipped.set(settingKey(setting), { setting, reason });
    return reason;
  }

  /**
   * Tries a setting once (more), unless it does not fit. With `forget` the trials before are kept in the document, but
   * count no more. A trial that met files on storage is repeated, as what it has read is in the page cache then; where
   * it is not, storage is part of all figures, and nothing is repeated any more.
   */
  async run(setting: LoaderSetting, options: RunOptions = {}): Promise<TriedSetting | null> {
    let tried = await this.#runOnce(setting, options);
    for (let repeat = 0; repeat < mostRepeats && this.#lastReadStorage(tried); ++repeat) {
      if (this.#isStorageBound || this.isOver) return tried;
      tried = (await this.#runOnce(setting, options)) ?? tried;
    }
    if (this.#lastReadStorage(tried)) this.#isStorageBound = true;
    return tried;
  }

  /** A job that runs, and one whose files are to be read cold, have storage in their figures by right. */
  #readsStorage(trial: TrialRecord): boolean {
    const { facts } = this.probe;
    return facts.isCold !== true && facts.kind !== "live" && readsStorage(trial, facts);
  }

  #lastReadStorage(tried: TriedSetting | null): boolean {
    const last = tried?.trials.at(-1);
    return last !== undefined && last.failure === null && this.#readsStorage(last);
  }

  async #runOnce(
    setting: LoaderSetting,
    { forget = false, epochTurns, ...stopping }: RunOptions,
  ): Promise<TriedSetting | null> {
    const { probe, options } = this;
    if (this.misfit(setting) !== null) return null;
    const best = bestOf(this.measured, this.rule);
    options.onTrial(setting, best);
    const rule = { ...options.stopping, ...stopping };
    const measured = await probe.measure(setting, {
      enough: enoughFor(setting, rule, best === null ? null : this.#toBeat(best, setting)),
      signal: options.signal,
      timeoutNs: options.timeoutNs,
      ...(epochTurns === undefined ? {} : { epochTurns }),
    });
    const { setting: _, ...trial } = withOpenWait(measured);
    const isNoResult = trial.aborted && trial.failure !== null;
    const delivered = isNoResult ? null : scoreOf(trial.arrivalsNs, setting, rule.epochBatches, true);
    const score = delivered && scaled(delivered, 1 / (trial.sampleCopies ?? 1));
    const dropped = Math.min(droppedBatches(setting), trial.arrivalsNs.length);
    const record = { ...trial, droppedBatches: dropped };
    const kept = this.#tried.get(settingKey(setting)) ?? { setting, trials: [], scores: [], areCold: false };
    this.#tried.set(settingKey(setting), kept);
    kept.trials.push(record);
    if (score !== null) keepScore(kept, score, this.#readsStorage(record), forget);
    const { numWorkers } = setting;
    const ownedBytes = trial.workerEpochBytes ?? trial.workerPrivateBytes;
    if (numWorkers > 0 && ownedBytes !== null) {
      this.#workerBytes = Math.max(this.#workerBytes, ownedBytes / numWorkers);
    }
    return this.find(setting);
  }

  /** The score that `setting` has to reach to be worth as much as the best. */
  #toBeat(best: Measured, setting: LoaderSetting): Score {
    const { overlapWorth } = this.rule;
    const factor = (of: LoaderSetting) => (of.numWorkers === 0 ? overlapWorth : 1);
    const scale = factor(setting) / factor(best.setting);
    // As trials are measured: what lies between epochs is added to what is known of them.
    const { scores } = this.#tried.get(settingKey(best.setting))!;
    const steady = pooledScore(scores, this.rule.spread) ?? best.score;
    const { batchesPerSecond, low, high, isSettled } = steady;
    return { batchesPerSecond: batchesPerSecond * scale, low: low * scale, high: high * scale, isSettled };
  }
}

/**
 * What making a batch took the training process, of a trial without workers: as it was timed, or the loop's waiting for
 * it, which is for nothing else then. Null where neither is known.
 */
export function makeNsInProcess({ makeNsPerBatch, waitNsPerBatch }: TrialRecord): number | null {
  return makeNsPerBatch ?? waitNsPerBatch;
}

/** A running loop that waits for less than this share of its time is not limited by its loader. */
export const hardlyWaits = 0.01;

/** Batches a second that a running loop would take under this setting if it never waited; null where that is not known. */
export function loopRate(trials: Trials, measured: Measured | null): number | null {
  const tried = measured === null ? null : trials.find(measured.setting);
  const waiting = tried === null ? null : waitingShare(tried);
  return measured === null || waiting === null || waiting >= 1
    ? null
    : measured.score.batchesPerSecond / (1 - waiting);
}

/**
 * Of the time for a batch, what the loop waited for it; null where that is not known. A trial of which only the first
 * batches came, as a job's first may be, says it where no other does.
 */
export function waitingShare({ trials, score }: Tuning["tried"][number] | TriedSetting): number | null {
  const steady = trials.filter(({ arrivalsNs, droppedBatches }) => arrivalsNs.length > droppedBatches);
  const waits = (steady.length === 0 ? trials : steady).flatMap(({ waitNsPerBatch }) => waitNsPerBatch ?? []);
  if (waits.length === 0 || score === null) return null;
  return Math.min(1, (median(waits) * score.batchesPerSecond) / 1e9);
}

/** A score of a trial that met files on storage counts as long as there is none from the page cache. */
function keepScore(kept: Kept, score: Score, isCold: boolean, forget: boolean): void {
  const replaces = kept.scores.length === 0 || (forget && score.isSettled) || (kept.areCold && !isCold);
  if (replaces) {
    kept.scores = [score];
    kept.areCold = isCold;
  } else if (kept.areCold === isCold) {
    kept.scores.push(score);
  }
}

/** Samples that several workers deliver count once. */
function scaled({ batchesPerSecond, low, high, isSettled }: Score, factor: number): Score {
  return { batchesPerSecond: batchesPerSecond * factor, low: low * factor, high: high * factor, isSettled };
}

/**
 * Whether a setting cannot be recommended, however fast it was until it failed. Data that end are no fault of it, and of a
 * trial that was aborted nobody knows how it would have gone on.
 */
function isBroken({ aborted, failure }: TrialRecord): boolean {
  return failure !== null && failure.fault !== "data-ended" && !aborted;
}
