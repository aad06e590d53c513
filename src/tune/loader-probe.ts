import { z } from "zod";
import type { LoaderSetting, ProbeRecord, TrialRecord } from "../results/tuning.js";
import { count } from "../settings/schema-parts.js";
import { type PlacedRank, processPlacementSchema } from "./process-binding.js";

/**
 * Runs a loader under a setting and reports when its batches arrive: the user's own Dataset in their own Python
 * (torch/), the engine's model of a loader (model/), or a running training job (live/). It only measures: its caller
 * decides how many batches are enough and which setting is good. One trial at a time.
 */
export interface Probe {
  readonly facts: ProbeFacts;
  /**
   * For a running job: aborted if no further trial is possible, which is no fault; the reason is jobEnded if the job
   * has ended.
   */
  readonly over?: AbortSignal;
  /**
   * Runs one setting from its start until `enough` returns true, a fault, or an abort. A fault of this setting is a
   * Trial with a failure; rejects with a PinbenchError only if no further trial can succeed.
   */
  measure(setting: LoaderSetting, control: TrialControl): Promise<Trial>;
  /**
   * Prepares a trial, so that the trials of several probes begin at the same moment. Never rejects: `measure` reports
   * what fails. Without it, the probe is always ready.
   */
  ready?(signal: AbortSignal): Promise<void>;
  /** Ends all that the probe has started, by force if necessary; nothing is left behind. Never rejects. */
  close(): Promise<void>;
}

/** The abort reason if the job ended before the search. */
export const jobEnded = "the job has ended";

/** Conditions that end a trial. */
export interface TrialControl {
  /**
   * Called with all arrivals so far whenever more have come; true ends the trial. Steady clock, from the loader's
   * start. `elapsedNs`: the trial's time if the arrivals leave some of it out.
   */
  enough: (arrivalsNs: readonly number[], elapsedNs?: number) => boolean;
  /**
   * For a running job: this many epochs must have begun as well, unless that takes longer than this from the trial's
   * start.
   */
  epochTurns?: { least: number; withinNs: number };
  /** Ends the trial with the batches so far: `failure` is null, and `aborted` true. */
  signal: AbortSignal;
  /** Time without a batch after which a trial hangs: its fault is then "hang". */
  timeoutNs: number;
}

/** One run of a loader under one setting: the document's record without the number of batches that a rate ignores. */
export interface Trial extends Omit<TrialRecord, "droppedBatches"> {
  setting: LoaderSetting;
}

/** Measurements of a trial besides the arrivals. */
export type Figures = Omit<Trial, "setting" | "arrivalsNs" | "aborted" | "failure">;

/** A trial that has ended, and whether its process can run another: it is idle, or has released its loader. */
export interface TrialRun {
  trial: Trial;
  isUsable: boolean;
}

/** What facts.py says of a loader's first batch, and of the process that gets it. */
export const batchFactsSchema = z.object({
  device: z.string().nullable(),
  runtime: z.string(),
  batch: z.object({ samples: count, bytes: count, description: z.string() }),
  pinningOff: z.string().nullable(),
  workersOff: z.string().nullable(),
  filesPerBatch: count,
  fileLimit: count.nullable(),
  filesInUse: count.nullable(),
  place: processPlacementSchema,
});

export type BatchFacts = z.infer<typeof batchFactsSchema>;

/** Facts that a probe knows when it is ready: those of the document, and those that decide which settings fit. */
export interface ProbeFacts extends ProbeRecord {
  /** File descriptors that a batch in flight holds in the probe's process, and the soft limit there. */
  filesPerBatch: number;
  fileLimit: number | null;
  filesInUse: number | null;
  /** Whether a running job makes its loader anew for each epoch, so that no worker can persist. */
  isRenewed?: boolean;
  /** Whether a running loop also waits for other ranks, which hides their waits for data in its own time. */
  waitsForRanks?: boolean;
  /** The places of the processes that iterate loaders; absent for a model. */
  places?: readonly PlacedRank[];
}
