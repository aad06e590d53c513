import {
  defaultPrefetchFactor,
  describeSetting,
  settingKey,
  torchDefault,
  usualSetting,
} from "../results/loader-setting.js";
import type { LoaderSetting, TrialRecord, Tuning } from "../results/tuning.js";
import { type EpochCost, epochCost, jobScore } from "./epoch-cost.js";
import type { Probe, Trial, TrialControl } from "./loader-probe.js";
import { type MachineLimits, misfit } from "./machine-limits.js";
import {
  comparable,
  cycleBatches,
  droppedBatches,
  pooledScore,
  readsStorage,
  type Score,
  scoreOf,
  trialSpread,
  waitingShare,
} from "./score.js";
import { bestOf, type ChoiceRule, type Measured, overlapWorthWithoutStep } from "./search/choice.js";
import { mayCopyFaster, withCommonBody } from "./search/loop-body.js";
import { supplySlack } from "./search/rate-bounds.js";
import { enoughFor, type StoppingRule } from "./search/stopping.js";

/**
 * A tried setting: the document's record with the score of all its trials together. The score is null if none had
 * enough batches, or one failed.
 */
export interface TriedSetting extends Omit<Tuning["tried"][number], "score"> {
  score: Score | null;
  /**
   * Time lost between epochs, and its share of the job's time; null if no epoch of a running job began during the
   * search: the score is then that of the steady state.
   */
  epochs: (EpochCost & { share: number }) | null;
}

/** Terms of all trials of a search. */
export interface TrialsOptions {
  limits: MachineLimits;
  /** Most workers of a setting: the CPUs of each rank, or what the user allows. */
  maxWorkers: number;
  /** Tolerance of trials; the search measures some settings more precisely. */
  stopping: StoppingRule;
  timeoutNs: number;
  /** Aborted with the search, and when its time is up. */
  signal: AbortSignal;
  /** Called before each trial with the setting and the best so far. */
  onTrial(setting: LoaderSetting, best: Measured | null): void;
}

/** The `tolerance` of a trial that runs to its end, however slow its setting is. */
export const neverRuledOut = 1;

/** A setting with its trials, and the scores that count. */
interface KeptTrial {
  setting: LoaderSetting;
  trials: TrialRecord[];
  scores: Score[];
  /** Whether these scores are of trials that read from storage. */
  areCold: boolean;
}
/** Most repetitions of a trial that read from storage. */
const mostRepeats = 2;

/** `forget`: earlier trials no longer count. */
type TrialOptions = Partial<StoppingRule> & Pick<TrialControl, "epochTurns"> & { forget?: boolean };

/** Runs all trials of a search, one at a time, and keeps their results. */
export class Trials {
  readonly #tried = new Map<string, KeptTrial>();
  readonly #skipped = new Map<string, Tuning["skipped"][number]>();
  /** Whether files come from storage on every read, because the page cache has no room for them. */
  #isStorageBound = false;
  /** Most memory that a worker comes to own. */
  #workerBytes = 0;
  /** Whether workers that persist have proved faster than those of the script, which do not. */
  havePersistentWon = false;

  constructor(
    readonly probe: Probe,
    readonly options: TrialsOptions,
  ) {}

  /** In the order in which they were first tried. */
  get tried(): TriedSetting[] {
    const { spread, tolerance } = this.rule;
    const { arePersistentRefused } = this;
    const all = [...this.#tried.values()].map(({ setting, trials, scores }) => {
      const isOut = (arePersistentRefused && setting.persistentWorkers) || trials.some(isBroken);
      const score = isOut ? null : pooledScore(scores, spread);
      return { setting, trials, score, count: comparable(scores).length };
    });
    const { kind, batch, waitsForRanks = false } = this.probe.facts;
    const steadyScores =
      kind === "live" && !waitsForRanks
        ? withCommonBody(all, spread, (score) => mayCopyFaster(batch.bytes, score, tolerance))
        : all.map(({ score }) => score);
    return all.map(({ setting, trials }, index) => {
      const steady = steadyScores[index]!;
      const cost = this.epochCost(setting);
      if (steady === null || cost === null) return { setting, score: steady, epochs: null, trials };
      const score = jobScore(steady, cost);
      const share = 1 - score.batchesPerSecond / steady.batchesPerSecond;
      return { setting, score, epochs: { ...cost, share }, trials };
    });
  }

  /** Cost of epochs under a setting, tried or not; null if unknown. */
  epochCost(setting: LoaderSetting): EpochCost | null {
    const all = [...this.#tried.values()];
    const made = all.flatMap(({ trials }) => trials.flatMap((trial) => trial.makeNsPerBatch ?? []));
    return epochCost(setting, all, made.length === 0 ? null : Math.min(...made));
  }

  /** Settings with their scores for choosing; the spread between trials is pooled over all repeated ones. */
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

  /**
   * Whether the hook refused persistent workers to a script that has none, because they would not see what it changes
   * between two epochs: then none of them is to be recommended, however fast it was.
   */
  get arePersistentRefused(): boolean {
    if (this.startingPoint.persistentWorkers) return false;
    const isRefused = ({ failure }: TrialRecord) => failure?.fault === "unsafe";
    return [...this.#tried.values()].some(
      ({ setting, trials }) => setting.persistentWorkers && trials.some(isRefused),
    );
  }

  get measured(): Measured[] {
    return this.tried.flatMap(({ setting, score }) => {
      const trials = comparable(this.#tried.get(settingKey(setting))!.scores).length;
      return score === null ? [] : [{ setting, score, trials }];
    });
  }

  /** Whether every further setting would fail in the same way. */
  get failedEverywhere(): boolean {
    return this.tried.some(({ trials }) => trials.some(({ failure }) => failure?.everywhere));
  }

  /** Whether no further trial can run: no time left, aborted, or none could succeed. */
  get isOver(): boolean {
    return this.options.signal.aborted || this.failedEverywhere;
  }

  /** The starting point for comparison: the user's own DataLoader, or DataLoader's defaults. */
  get startingPoint(): LoaderSetting {
    return this.probe.facts.startingPoint ?? torchDefault;
  }

  /**
   * Shortest time in which a worker made a batch; before any was timed, that of the training process. Null if neither
   * is known, or if a rate disproves it, as for a first trial whose files came from storage.
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
   * The setting for trying this number of workers. In a running job all else is as in the script (prefetch_factor,
   * persistent workers, copies), unless workers that persist have proved faster.
   */
  settingOf(numWorkers: number, pinMemory: boolean, prefetchFactor?: number): LoaderSetting {
    const { kind, startingPoint: own } = this.probe.facts;
    if (kind !== "live" || own === null) return usualSetting(numWorkers, pinMemory, prefetchFactor);
    return {
      ...usualSetting(numWorkers, pinMemory, prefetchFactor ?? own.prefetchFactor ?? defaultPrefetchFactor),
      persistentWorkers:
        numWorkers > 0 && (own.persistentWorkers || (this.havePersistentWon && !this.arePersistentRefused)),
      nonBlocking: own.nonBlocking,
    };
  }

  /** Why a setting cannot be tried, also kept in the list of skipped ones; null if it can. */
  misfit(setting: LoaderSetting): string | null {
    const { probe, options } = this;
    // The script's own setting fits by definition.
    if (probe.facts.kind === "live" && settingKey(setting) === settingKey(this.startingPoint)) return null;
    const reason = misfit(setting, probe.facts, options, this.#workerBytes);
    if (reason !== null) this.#skipped.set(settingKey(setting), { setting, reason });
    return reason;
  }

  /**
   * Tries a setting once (more), unless it does not fit. With `forget`, earlier trials stay in the document but no
   * longer count. A trial that read from storage is repeated, because its files are then in the page cache. If they are
   * not, storage is part of all figures, and nothing is repeated any more.
   */
  async run(setting: LoaderSetting, options: TrialOptions = {}): Promise<TriedSetting | null> {
    let tried = await this.#runOnce(setting, options);
    for (let repeat = 0; repeat < mostRepeats && this.#lastReadStorage(tried); ++repeat) {
      if (this.#isStorageBound || this.isOver) return tried;
      tried = (await this.#runOnce(setting, options)) ?? tried;
    }
    if (this.#lastReadStorage(tried)) this.#isStorageBound = true;
    return tried;
  }

  /** Rates of running jobs and of cold trials include storage on purpose. */
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
    { forget = false, epochTurns, ...stopping }: TrialOptions,
  ): Promise<TriedSetting | null> {
    const { probe, options } = this;
    if (this.misfit(setting) !== null) return null;
    const best = bestOf(this.measured, this.rule);
    options.onTrial(setting, best);
    const rule = { ...options.stopping, ...stopping };
    const { kind, epochBatches } = probe.facts;
    const first = droppedBatches(setting, kind === "live" ? epochBatches : null);
    const measured = await probe.measure(setting, {
      enough: enoughFor(setting, rule, best === null ? null : this.#toBeat(best, setting), first),
      signal: options.signal,
      timeoutNs: options.timeoutNs,
      ...(epochTurns === undefined ? {} : { epochTurns }),
    });
    const { setting: _, ...trial } = withOpenWait(measured);
    const isNoResult = trial.aborted && trial.failure !== null;
    const delivered = isNoResult ? null : scoreOf(trial.arrivalsNs, setting, true, first);
    const score = delivered && scaled(delivered, 1 / (trial.sampleCopies ?? 1));
    const record = { ...trial, droppedBatches: Math.min(first, trial.arrivalsNs.length) };
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

  /** The score that `setting` needs to be as good as the best. */
  #toBeat(best: Measured, setting: LoaderSetting): Score {
    const { overlapWorth } = this.rule;
    const factor = (of: LoaderSetting) => (of.numWorkers === 0 ? overlapWorth : 1);
    const scale = factor(setting) / factor(best.setting);
    // Trials are measured without the time between epochs, so it is taken out.
    const { scores } = this.#tried.get(settingKey(best.setting))!;
    const steady = pooledScore(scores, this.rule.spread) ?? best.score;
    const { batchesPerSecond, low, high, isSettled } = steady;
    return { batchesPerSecond: batchesPerSecond * scale, low: low * scale, high: high * scale, isSettled };
  }
}

/**
 * Time in which the training process made a batch, in a trial without workers: as timed, or else the loop's wait, which
 * has no other cause there. Null if neither is known.
 */
export function makeNsInProcess({ makeNsPerBatch, waitNsPerBatch }: TrialRecord): number | null {
  return makeNsPerBatch ?? waitNsPerBatch;
}

/** Smallest share of a running loop's time spent waiting that makes the loader its limit: a pinned batch's hand-over. */
export const hardlyWaits = 0.015;

/** Batches a second that a running loop would process under this setting without waiting; null if unknown. */
export function loopRate(trials: Trials, measured: Measured | null): number | null {
  const tried = measured === null ? null : trials.find(measured.setting);
  const waiting = tried === null ? null : waitingShare(tried);
  return measured === null || waiting === null || waiting >= 1
    ? null
    : measured.score.batchesPerSecond / (1 - waiting);
}

/** The score of a trial that read from storage counts until there is one from the page cache. */
function keepScore(kept: KeptTrial, score: Score, isCold: boolean, forget: boolean): void {
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
 * Whether a setting cannot be recommended, however fast it was before it failed. Data that end are not its fault, and
 * the continuation of an aborted trial is unknown.
 */
export function isBroken({ aborted, failure }: TrialRecord): boolean {
  return failure !== null && failure.fault !== "data-ended" && !aborted;
}

/** A wait that was cut off is normal if an earlier one was at least this fraction as long. */
const explainedFactor = 10;

/** Shorter waits mean nothing: arrivals are reported some time after they came, later on a busy machine. */
const leastWaitNs = 0.1e9;

/** Longest normal wait for the first batch: the loader starts, and its data may come from slow storage. */
const leastFirstWaitNs = 5e9;

/**
 * The trial, with a failure if it was aborted (for example at the end of the budget) while the loop had waited for a
 * batch for longer than the earlier waits explain. Batches before a hang are no result: a few that were made ahead look
 * like a fast loader.
 */
export function withOpenWait(trial: Trial): Trial {
  const { setting, arrivalsNs, aborted, endedNs, failure } = trial;
  if (!aborted || failure !== null || endedNs === undefined) return trial;
  const waitedNs = endedNs - (arrivalsNs.at(-1) ?? 0);
  if (waitedNs <= explainedWaitNs(arrivalsNs, cycleBatches(setting))) return trial;
  const further = arrivalsNs.length === 0 ? "" : "further ";
  return {
    ...trial,
    failure: {
      fault: "hang",
      message:
        `No ${further}batch had come for ${(waitedNs / 1e9).toPrecision(2)} s with ${describeSetting(setting)} when the trial ` +
        "was ended: the trial has no result.",
      hint: "A larger --budget shows whether the data set hangs or is slow; a wait ends after --timeout.",
      traceback: null,
      everywhere: false,
    },
  };
}

/** The longest wait that is normal after these arrivals. */
function explainedWaitNs(arrivalsNs: readonly number[], cycle: number): number {
  if (arrivalsNs.length === 0) return leastFirstWaitNs;
  // Within the first burst, only the loader's start predicts the wait for the next one.
  let longestNs = arrivalsNs.length <= cycle ? arrivalsNs[0]! : 0;
  for (let batch = 1; batch < arrivalsNs.length; ++batch) {
    longestNs = Math.max(longestNs, arrivalsNs[batch]! - arrivalsNs[batch - 1]!);
  }
  return Math.max(leastWaitNs, explainedFactor * longestNs);
}
