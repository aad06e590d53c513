import type { LoaderSetting, ProbeRecord, TrialRecord } from "../results/tuning.js";

/**
 * Something that can run a loader under a setting and tell when its batches arrive: the user's own Dataset in the
 * user's own Python (torch/), or the engine's model of a loader (model/). It only measures: how many batches are enough
 * and which setting is good is decided by its caller. One trial at a time.
 */
export interface Probe {
  readonly facts: ProbeFacts;
  /**
   * Runs one setting from its start until `enough` says so, a fault, or an abort. A fault of this setting is a Trial
   * with a failure; rejects with a PinbenchError only where no further trial can succeed.
   */
  measure(setting: LoaderSetting, control: TrialControl): Promise<Trial>;
  /** Ends what the probe has started, by force where it must; nothing is left behind. Never rejects. */
  close(): Promise<void>;
}

/** When a trial is to end. */
export interface TrialControl {
  /**
   * Called with all arrivals until now whenever some have come; true ends the trial. Steady clock, from the moment
   * the loader was started.
   */
  enough: (arrivalsNs: readonly number[]) => boolean;
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
}
