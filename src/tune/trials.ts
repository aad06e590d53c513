import { settingKey, torchDefault, usualSetting } from "../results/loader-setting.js";
import type { LoaderSetting, TrialRecord, Tuning } from "../results/tuning.js";
import type { Probe } from "./loader-probe.js";
import { type MachineLimits, misfit } from "./machine-limits.js";
import { fastest, type Measured, type Score, scoreOf } from "./score.js";
import { droppedBatches } from "./steady-state.js";
import { enoughFor, type StoppingRule } from "./stopping.js";
import { readsStorage } from "./storage-reads.js";

/**
 * A setting that was tried: as the document has it, but for the score of all its trials together. Null where none had
 * enough batches, or one of them failed.
 */
export interface TriedSetting extends Omit<Tuning["tried"][number], "score"> {
  score: Score | null;
}

/** What all trials of a search have in common. */
export interface TrialsOptions {
  limits: MachineLimits;
  /** Most workers of a setting: the CPUs of each rank, or what the user allows. */
  maxWorkers: number;
  /** Of trials; the search narrows what it must know better. */
  stopping: StoppingRule;
  timeoutNs: number;
  /** Storage is to be part of what is measured: no trial is repeated for it. */
  cold?: boolean;
  /** Aborted where the search is, and where its time is up. */
  signal: AbortSignal;
  /** Before each trial: what is tried, and the best until now. */
  onTrial(setting: LoaderSetting, best: Measured | null): void;
}

/** How often a trial that read storage is repeated. */
const mostRepeats = 2;

/** All trials of a search: runs them, one at a time, and keeps what came of them. */
export class Trials {
  readonly #tried = new Map<string, TriedSetting>();
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
    return [...this.#tried.values()];
  }

  get skipped(): Tuning["skipped"] {
    return [...this.#skipped].filter(([key]) => !this.#tried.has(key)).map(([, skipped]) => skipped);
  }

  get measured(): Measured[] {
    return this.tried.flatMap(({ setting, score }) => (score === null ? [] : [{ setting, score }]));
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

  /** What making a batch takes: the wait for it where the training process makes it itself; null where not tried. */
  get makeNsPerBatch(): number | null {
    return this.find(usualSetting(0, false))?.trials[0]?.waitNsPerBatch ?? null;
  }

  find(setting: LoaderSetting): TriedSetting | null {
    return this.#tried.get(settingKey(setting)) ?? null;
  }

  /** Why a setting cannot be tried, kept among those skipped; null where it can. */
  misfit(setting: LoaderSetting): string | null {
    const { probe, options } = this;
    const reason = misfit(setting, probe.facts, options, this.#workerBytes);
    if (reason !== null) this.#skipped.set(settingKey(setting), { setting, reason });
    return reason;
  }

  /**
   * Tries a setting once (more), unless it does not fit. A trial that met files on storage is repeated, as what it has
   * read is in the page cache then; where it is not, storage is part of all figures, and nothing is repeated any more.
   */
  async run(setting: LoaderSetting, stopping: Partial<StoppingRule> = {}): Promise<TriedSetting | null> {
    let tried = await this.#runOnce(setting, stopping);
    for (let repeat = 0; repeat < mostRepeats && this.#lastReadStorage(tried); ++repeat) {
      if (this.#isStorageBound || this.isOver) return tried;
      tried = (await this.#runOnce(setting, stopping)) ?? tried;
    }
    if (this.#lastReadStorage(tried)) this.#isStorageBound = true;
    return tried;
  }

  #readsStorage(trial: TrialRecord): boolean {
    return this.options.cold !== true && readsStorage(trial, this.probe.facts.batch.bytes);
  }

  #lastReadStorage(tried: TriedSetting | null): boolean {
    const last = tried?.trials.at(-1);
    return last !== undefined && last.failure === null && this.#readsStorage(last);
  }

  async #runOnce(setting: LoaderSetting, stopping: Partial<StoppingRule>): Promise<TriedSetting | null> {
    const { probe, options } = this;
    if (this.misfit(setting) !== null) return null;
    const best = fastest(this.measured);
    options.onTrial(setting, best);
    const rule = { ...options.stopping, ...stopping };
    const { setting: _, ...trial } = await probe.measure(setting, {
      enough: enoughFor(setting, rule, best?.score ?? null),
      signal: options.signal,
      timeoutNs: options.timeoutNs,
    });
    const before = this.find(setting);
    const delivered = scoreOf(trial.arrivalsNs, setting, rule.epochBatches, true);
    const score = delivered && scaled(delivered, 1 / (trial.sampleCopies ?? 1));
    const dropped = Math.min(droppedBatches(setting), trial.arrivalsNs.length);
    const record = { ...trial, droppedBatches: dropped };
    const trials = [...(before?.trials ?? []), record];
    // One that read storage counts as long as none did not.
    const warm = before?.trials.filter((one) => !this.#readsStorage(one)).length ?? 0;
    const counted = warm > 0 || !this.#readsStorage(record) ? warm : trials.length - 1;
    const isPassedOver = warm > 0 && this.#readsStorage(record);
    const earlier = counted > 0 ? (before?.score ?? null) : null;
    const tried: TriedSetting = {
      setting,
      score: trials.some(isBroken) ? null : isPassedOver ? earlier : pooled(earlier, score, counted),
      trials,
    };
    this.#tried.set(settingKey(setting), tried);
    const { numWorkers } = setting;
    const ownedBytes = trial.workerEpochBytes ?? trial.workerPrivateBytes;
    if (numWorkers > 0 && ownedBytes !== null) {
      this.#workerBytes = Math.max(this.#workerBytes, ownedBytes / numWorkers);
    }
    return tried;
  }
}

/** Samples that several workers deliver count once. */
function scaled({ batchesPerSecond, low, high, isSettled }: Score, factor: number): Score {
  return { batchesPerSecond: batchesPerSecond * factor, low: low * factor, high: high * factor, isSettled };
}

/** Whether a setting cannot be recommended, however fast it was until it failed. Data that end are no fault of it. */
function isBroken({ failure }: TrialRecord): boolean {
  return failure !== null && failure.fault !== "data-ended";
}

/**
 * The score of `trials` trials of a setting and that of one more as one: the mean, and an interval that holds both
 * rates. What differs from one start of a loader to the next (where its memory lies, for one) shows only between trials.
 * A rough figure, of a trial that was cut off, adds nothing to one that is settled.
 */
function pooled(a: Score | null, b: Score | null, trials: number): Score | null {
  if (a === null || b === null) return a ?? b;
  if (a.isSettled !== b.isSettled) return a.isSettled ? a : b;
  const share = 1 / (trials + 1);
  const batchesPerSecond = (1 - share) * a.batchesPerSecond + share * b.batchesPerSecond;
  const apart = Math.max(
    Math.abs(a.batchesPerSecond - batchesPerSecond),
    Math.abs(b.batchesPerSecond - batchesPerSecond),
  );
  const half = (one: number, other: number) => Math.max(apart, Math.hypot((1 - share) * one, share * other));
  return {
    batchesPerSecond,
    low: batchesPerSecond - half(a.batchesPerSecond - a.low, b.batchesPerSecond - b.low),
    high: batchesPerSecond + half(a.high - a.batchesPerSecond, b.high - b.batchesPerSecond),
    isSettled: a.isSettled,
  };
}
