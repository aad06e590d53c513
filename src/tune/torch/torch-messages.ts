import type { ErrorKind } from "../../errors.js";
import type { LoaderSetting, TrialFailure } from "../../results/tuning.js";
import type { TuneSettings } from "../../settings/tune-settings.js";
import { isObject } from "../../text-file.js";
import type { ProbeFacts, Trial } from "../loader-probe.js";
import {
  isBoolean,
  isCount,
  isNumber,
  isText,
  listOf,
  type MessageShapes,
  oneOf,
  orNull,
  readShaped,
  withFields,
} from "../message-shape.js";

/** Options of a torch probe, from the settings of a search. */
export interface TorchProbeOptions
  extends Pick<
    TuneSettings,
    "batchSize" | "collate" | "kwargs" | "stepTime" | "step" | "shuffle" | "seed" | "timeoutNs"
  > {
  torch: string;
  python: string;
  /** Index (from 0) of the training process on the node that it represents; null if there is only one. */
  rank: { index: number; count: number } | null;
  /** Folder whose files are dropped from the page cache before each trial; null for none. */
  coldFolder: string | null;
  /** Additional environment variables of its Python; may be absent. */
  environment?: Readonly<Record<string, string>>;
  /** Closes the probe. */
  signal: AbortSignal;
}

/** Messages to the Python program, a JSON object a line: "open" first and once. */
export type Command =
  | ({ type: "open"; link: boolean } & Omit<TorchProbeOptions, "signal" | "environment">)
  | { type: "measure"; trial: number; setting: LoaderSetting }
  | { type: "stop"; trial: number }
  | { type: "exit" };

/** Measurements of a trial besides the arrivals. */
export type Figures = Omit<Trial, "setting" | "arrivalsNs" | "aborted" | "failure">;

/** Messages of the Python program, a JSON object a line. */
export type Message =
  /** "the data set was being made": the current phase of opening, for messages on an end or a hang in it. */
  | { type: "phase"; phase: string }
  | { type: "ready"; facts: Omit<ProbeFacts, "kind" | "source"> }
  /** Why the data set cannot be opened, for a PinbenchError. */
  | { type: "refused"; kind: ErrorKind; message: string; hint: string | null; traceback: string | null }
  /** The trial has not begun yet; repeated while files are being dropped from the page cache. */
  | { type: "preparing"; trial: number }
  | { type: "arrivals"; ns: number[] }
  /** The means so far, sent if asked to stop in the middle of a batch that may take too long. */
  | { type: "sums"; trial: number; figures: Partial<Figures> }
  /** The loop has ended, the workers have not. `broken`: the process can run no further trial. */
  | {
      type: "ending";
      trial: number;
      failure: (TrialFailure & { broken: boolean }) | null;
      figures: Partial<Figures>;
    }
  /** The workers are gone. */
  | { type: "ended"; trial: number };

/** The message of a type. */
export type MessageOf<Type extends Message["type"]> = Extract<Message, { type: Type }>;

const isTrialFailure = withFields({
  fault: isText,
  message: isText,
  hint: orNull(isText),
  traceback: orNull(isText),
  everywhere: isBoolean,
  broken: isBoolean,
});

const shapes: MessageShapes<Message> = {
  phase: { phase: isText },
  ready: {
    facts: withFields({ batch: withFields({ samples: isCount, bytes: isCount, description: isText }) }),
  },
  refused: {
    kind: oneOf("usage", "unavailable", "unsupported", "measurement"),
    message: isText,
    hint: orNull(isText),
    traceback: orNull(isText),
  },
  preparing: { trial: isCount },
  arrivals: { ns: listOf(isNumber) },
  sums: { trial: isCount, figures: isObject },
  ending: { trial: isCount, failure: orNull(isTrialFailure), figures: isObject },
  ended: { trial: isCount },
};

/** The message of the Python program's line; null for other lines. */
export function readProbeMessage(line: string): Message | null {
  return readShaped(line, shapes);
}
