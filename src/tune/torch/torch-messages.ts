import type { ErrorKind } from "../../errors.js";
import type { LoaderSetting, TrialFailure } from "../../results/tuning.js";
import type { ProbeFacts, TrainingStep } from "../loader-probe.js";

/** What a torch probe runs, and with what. */
export interface TorchProbeOptions {
  /** The Python to run: a path, or a name to look up in PATH. */
  python: string;
  /**
   * "train_data.py:make_dataset" or "my.module:make_dataset": a Dataset, a DataLoader, or something to call that
   * returns one of them. Paths are relative to the current folder.
   */
  target: string;
  /** Null where a DataLoader says it. */
  batchSize: number | null;
  /** "collate.py:fn"; null for the DataLoader's own, or torch's. */
  collate: string | null;
  /** What the target is called with. */
  kwargs: Readonly<Record<string, unknown>>;
  /** A step of so long beside the loader, or "auto": about as much computing for a batch as ResNet-50 does. */
  step: TrainingStep | null;
  /** Takes the samples of a Dataset in random order, as `seed` has it; a DataLoader keeps its own order. */
  shuffle: boolean;
  seed: number;
  /** So long each part of the opening may take: importing torch, making the data set, the first batch. */
  timeoutNs: number;
  /** Closes the probe. */
  signal: AbortSignal;
}

/** What pinbench writes to the Python program, a JSON object a line: "open" first and once. */
export type Command =
  | ({ type: "open"; link: boolean } & Omit<TorchProbeOptions, "python" | "timeoutNs" | "signal">)
  | { type: "measure"; trial: number; setting: LoaderSetting }
  | { type: "stop"; trial: number }
  | { type: "exit" };

/** What the program says of a trial when its loop has ended, before the workers have. */
export interface Ending {
  type: "ending";
  trial: number;
  /** `broken`: the process can run no further trial. */
  failure: (TrialFailure & { broken: boolean }) | null;
  waitNs: number | null;
  copyNs: number | null;
  sharedMemoryBytes?: number | null;
  pinnedBytes?: number | null;
  workerPrivateBytes?: number | null;
  storageReadBytes?: number | null;
}

/** Means a batch of the running trial until now; null before its first batch. */
export interface Sums {
  type: "sums";
  trial: number;
  waitNs: number | null;
  copyNs: number | null;
}

/** Why the data set cannot be opened; it becomes a PinbenchError. */
export interface Refused {
  type: "refused";
  kind: ErrorKind;
  message: string;
  hint: string | null;
  traceback: string | null;
}

/** What the Python program writes, a JSON object a line. */
export type Message =
  /** "the data set was being made": what it is at while it opens, for a message about an end or a hang in it. */
  | { type: "phase"; phase: string }
  | { type: "ready"; facts: Omit<ProbeFacts, "kind" | "source"> }
  | Refused
  | { type: "arrivals"; ns: number[] }
  /** On being asked to stop, in the middle of a batch that may take longer than it is waited for: means until then. */
  | Sums
  | Ending
  /** The workers are gone. */
  | { type: "ended"; trial: number };
