import type { ErrorKind } from "../../errors.js";
import type { ProbeFacts, TrialFailure } from "../probe.js";
import type { LoaderSetting } from "../setting.js";
import type { TorchProbeOptions } from "./options.js";

/** To the Python program, an object a line. The options come first and once. */
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

export interface Sums {
  type: "sums";
  trial: number;
  waitNs: number | null;
  copyNs: number | null;
}

export interface Refused {
  type: "refused";
  kind: ErrorKind;
  message: string;
  hint: string | null;
  traceback: string | null;
}

/** From the Python program. */
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
