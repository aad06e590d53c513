import type { LoaderSetting } from "./setting.js";

/**
 * Something that can run a loader under a setting and tell when its batches arrive: the user's own Dataset in the
 * user's own Python (torch/), or the engine's model of a loader (native/). Mechanism only: it knows neither how many
 * batches are enough nor which setting is good. One trial at a time.
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

export interface TrialControl {
  /**
   * Called with all arrivals until now whenever some have come; true ends the trial. Steady clock, from the moment
   * the loader was started.
   */
  enough(arrivalsNs: readonly number[]): boolean;
  /** Ends the trial with what there is: its `failure` is null and `aborted` true. */
  signal: AbortSignal;
  /** So long without a batch is a hang. */
  timeoutNs: number;
}

export interface Trial {
  setting: LoaderSetting;
  /** When each batch had arrived on the device (in host memory where there is none), ascending, from the start. */
  arrivalsNs: number[];
  aborted: boolean;
  /** Null where the trial ended by `enough` or an abort. */
  failure: TrialFailure | null;
  /** Means a batch over the whole trial: the loop's waiting for the loader, and for the copy that it issued. */
  waitNsPerBatch: number | null;
  copyNsPerBatch: number | null;
  /** Highest use of /dev/shm over what it was before the trial, and of pinned memory; null where it cannot be told. */
  sharedMemoryBytes: number | null;
  pinnedBytes: number | null;
  /** Private memory of the workers together as last seen (their part of the parent's pages not counted). */
  workerPrivateBytes: number | null;
  /** Bytes that storage had to deliver during the trial: 0 where all came from the page cache. */
  storageReadBytes: number | null;
}

/** What can go wrong with one setting, each with its own name. */
export const faults = [
  "dataset-raised",
  "worker-killed",
  "hang",
  "device-tensors",
  "custom-batch",
  "shared-memory-full",
  "out-of-memory",
  "too-many-files",
  "not-picklable",
  "data-ended",
  "probe-died",
  "device-error",
] as const;

export type Fault = (typeof faults)[number];

export interface TrialFailure {
  fault: Fault;
  /** One sentence for the user: what happened, in which file and line where that is known. */
  message: string;
  /** What to do about it. */
  hint: string | null;
  /** The user's traceback, innermost frame last; null without one. */
  traceback: string | null;
  /** Every other setting would fail in the same way. */
  everywhere: boolean;
}

/** What a probe knows as soon as it is ready. */
export interface ProbeFacts {
  kind: "torch" | "native";
  /** "train_data.py:make_dataset" or "samples of 602112 B, 500 us each". */
  source: string;
  /** Name of the device that batches are copied to; null where they stay in host memory. */
  device: string | null;
  /** "torch 2.11.0, Python 3.12.3"; null for the native probe. */
  runtime: string | null;
  batch: BatchFacts;
  /** Batches of an epoch; null where it is not known (iterable data sets, generated samples). */
  epochBatches: number | null;
  /** The settings of the user's DataLoader, where that is what was given. */
  startingPoint: LoaderSetting | null;
  /** Why pinned settings are of no use here ("torch sees no GPU"); null where they can be tried. */
  pinningOff: string | null;
  /** Why settings with workers are of no use here ("batches are CUDA tensors"); null where they can be tried. */
  workersOff: string | null;
  /** Copies of one batch from host to device and nothing beside them, bytes a second; null without a device. */
  link: { pinnedBytesPerSecond: number; pageableBytesPerSecond: number } | null;
  /** The step that stands beside the loader, as it takes without one; null where there is none. */
  stepNs: number | null;
  /** File descriptors that a batch in flight holds in the probe's process, and the soft limit there. */
  filesPerBatch: number;
  fileLimit: number | null;
  filesInUse: number | null;
  /** What the user should know of the data, a sentence each. */
  notes: string[];
}

export interface BatchFacts {
  samples: number;
  /** Bytes of all its tensors together, of the first batch. */
  bytes: number;
  /** "float32 [64, 3, 224, 224] + int64 [64]". */
  description: string;
}
