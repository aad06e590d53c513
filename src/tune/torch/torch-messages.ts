import type { ErrorKind } from "../../errors.js";
import type { LoaderSetting, TrialFailure } from "../../results/tuning.js";
import type { TuneSettings } from "../../settings/settings.js";
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

/** What a torch probe runs, and with what: the settings of a search that it heeds. */
export interface TorchProbeOptions
  extends Pick<
    TuneSettings,
    "batchSize" | "collate" | "kwargs" | "stepTime" | "step" | "shuffle" | "seed" | "timeoutNs"
  > {
  torch: string;
  python: string;
  /** Which of the node's training processes it stands for, counted from 0; null where there is one. */
  rank: { index: number; count: number } | null;
  /** Its files are dropped from the page cache before each trial; null where they are left there. */
  coldFolder: string | null;
  /** Variables of its Python beside those of this process; none where there is no such field. */
  environment?: Readonly<Record<string, string>>;
  /** Closes the probe. */
  signal: AbortSignal;
}

/** What pinbench writes to the Python program, a JSON object a line: "open" first and once. */
export type Command =
  | ({ type: "open"; link: boolean } & Omit<TorchProbeOptions, "signal" | "environment">)
  | { type: "measure"; trial: number; setting: LoaderSetting }
  | { type: "stop"; trial: number }
  | { type: "exit" };

/** What the program measures of a trial beside the arrivals. */
export type Figures = Omit<Trial, "setting" | "arrivalsNs" | "aborted" | "failure">;

/** What the Python program writes, a JSON object a line. */
export type Message =
  /** "the data set was being made": what it is at while it opens, for a message about an end or a hang in it. */
  | { type: "phase"; phase: string }
  | { type: "ready"; facts: Omit<ProbeFacts, "kind" | "source"> }
  /** Why the data set cannot be opened; it becomes a PinbenchError. */
  | { type: "refused"; kind: ErrorKind; message: string; hint: string | null; traceback: string | null }
  /** The trial has not begun yet; said every now and then while files are being dropped from the page cache. */
  | { type: "preparing"; trial: number }
  | { type: "arrivals"; ns: number[] }
  /** On being asked to stop, in the middle of a batch that may take longer than it is waited for: means until then. */
  | { type: "sums"; trial: number; figures: Partial<Figures> }
  /** The loop has ended, the workers have not yet. `broken`: the process can run no further trial. */
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

/** A line of the Python program's; null for one that is no message. */
export function readProbeMessage(line: string): Message | null {
  return readShaped(line, shapes);
}
