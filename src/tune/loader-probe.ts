import type { LoaderSetting, ProbeRecord, StorageRate, TrialRecord } from "../results/tuning.js";

/**
 * Something that can run a loader under a setting and tell when its batches arrive: the user's own Dataset in the
 * user's own Python (torch/), the engine's model of a loader (model/), or a training job that runs (live/). It only
 * measures: how many batches are enough and which setting is good is decided by its caller. One trial at a time.
 */
export interface Probe {
  readonly facts: ProbeFacts;
  /**
   * Of a job that runs by itself: aborted where no further trial is possible, which is no fault; the reason is
   * jobEnded where the job has ended.
   */
  readonly over?: AbortSignal;
  /**
   * Runs one setting from its start until `enough` says so, a fault, or an abort. A fault of this setting is a Trial
   * with a failure; rejects with a PinbenchError only where no further trial can succeed.
   */
  measure(setting: LoaderSetting, control: TrialControl): Promise<Trial>;
  /**
   * Has what a trial needs ready, so that those of several probes begin at the same moment. Never rejects: what fails is
   * for `measure` to tell. Without it, the probe is always ready.
   */
  ready?(signal: AbortSignal): Promise<void>;
  /** What storage gives of the data set's files; null where that cannot be told. Only of a probe whose trials are cold. */
  storage?(signal: AbortSignal): Promise<StorageRate | null>;
  /** Ends what the probe has started, by force where it must; nothing is left behind. Never rejects. */
  close(): Promise<void>;
}

/** Why a probe is over before the search is. */
export const jobEnded = "the job has ended";

/** When a trial is to end. */
export interface TrialControl {
  /**
   * Called with all arrivals until now whenever some have come; true ends the trial. Steady clock, from the moment
   * the loader was started.
   */
  enough: (arrivalsNs: readonly number[]) => boolean;
  /** Of a running job: as many epochs must have begun as well, unless that takes longer than this from the trial's start. */
  epochTurns?: { least: number; withinNs: number };
  /** Ends the trial with what there is: its `failure` is null, `aborted` true, and `endedNs` when that was. */
  signal: AbortSignal;
  /** A trial in which no batch comes for so long hangs: its fault is then "hang". */
  timeoutNs: number;
}

/** One run of a loader under one setting: as the document has it, but for the batches that a rate leaves out. */
export interface Trial extends Omit<TrialRecord, "droppedBatches"> {
  setting: LoaderSetting;
}

/** A trial that has ended, and whether what ran it can run another one: it has become idle, or let go of its loader. */
export interface TrialRun {
  trial: Trial;
  isUsable: boolean;
}

/** What a probe knows as soon as it is ready: as the document has it, and what decides which settings fit. */
export interface ProbeFacts extends ProbeRecord {
  /** File descriptors that a batch in flight holds in the probe's process, and the soft limit there. */
  filesPerBatch: number;
  fileLimit: number | null;
  filesInUse: number | null;
  /** Memory that another process like the probe's takes, its data set and its libraries' own data; null or not there where unknown. */
  processBytes?: number | null;
}
