import { z } from "zod";
import type { LoaderSetting, ProbeRecord, TrialRecord } from "../results/tuning.js";
import { count } from "../settings/schema-parts.js";
import { type PlacedRank, processPlacementSchema } from "./process-binding.js";

/**
 * Runs a loader with one setting at a time and reports when its batches arrive: the user's Dataset in their Python
 * (torch/), a simulated loader (model/) or a running job (live/). The caller decides how many batches are enough and
 * which setting is good.
 */
export interface Probe {
  readonly facts: ProbeFacts;
  /** For a running job: aborted if no further trial is possible (no error). `jobEnded`: because the job has ended. */
  readonly over?: AbortSignal;
  /**
   * Runs one setting until `enough` returns true, it fails, or an abort. A failure of this setting is part of the
   * Trial; rejects with a PinbenchError only if no further trial can succeed.
   */
  measure(setting: LoaderSetting, control: TrialControl): Promise<Trial>;
  /**
   * Prepares a trial, so that trials of several probes start together. Never rejects: `measure` reports failures.
   * Absent if no preparation is needed.
   */
  ready?(signal: AbortSignal): Promise<void>;
  /** Ends everything that the probe has started, by force if necessary. Never rejects. */
  close(): Promise<void>;
}

/** The abort reason if the job ended before the search. */
export const jobEnded = "the job has ended";

/** Conditions that end a trial. */
export interface TrialControl {
  /**
   * Called with all arrivals so far when new ones come; true ends the trial. Nanoseconds from the loader's start.
   * `elapsedNs`: the trial's time, if arrivals leave some of it out.
   */
  enough: (arrivalsNs: readonly number[], elapsedNs?: number) => boolean;
  /** For a running job: the trial also waits for `least` epoch starts, until `withinNs` after the trial's start. */
  epochTurns?: { least: number; withinNs: number };
  /** Ends the trial with the batches so far: `aborted` is true and `failure` null. */
  signal: AbortSignal;
  /** Time without a batch after which the trial fails with "hang". */
  timeoutNs: number;
}

/** One run of a loader with one setting; `droppedBatches` is known only to the search. */
export interface Trial extends Omit<TrialRecord, "droppedBatches"> {
  setting: LoaderSetting;
}

/** A trial's measurements other than arrivals. */
export type Figures = Omit<Trial, "setting" | "arrivalsNs" | "aborted" | "failure">;

/** A finished trial, and whether its process can run another one. */
export interface TrialRun {
  trial: Trial;
  isUsable: boolean;
}

/** What facts.py reports about the first batch and about the process that gets it. */
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

/** The document's facts about a probe, and those that decide which settings fit. */
export interface ProbeFacts extends ProbeRecord {
  /** File descriptors that each batch in flight holds open, and the process' soft limit. */
  filesPerBatch: number;
  fileLimit: number | null;
  filesInUse: number | null;
  /** Whether a running job constructs its loader in each epoch, so that workers cannot persist. */
  isRenewed?: boolean;
  /** Whether the loop also waits for other ranks, so that waits for data look like its own work. */
  waitsForRanks?: boolean;
  /** CPUs, memory policy and GPU of the processes that iterate loaders; absent for a model. */
  places?: readonly PlacedRank[];
}
