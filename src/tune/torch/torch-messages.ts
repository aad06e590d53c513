import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { PythonProcess, SpokenProgram } from "../../host/python/python-process.js";
import { readLine } from "../../host/python/python-programs.js";
import { failureSchema, type LoaderSetting } from "../../results/tuning.js";
import { count } from "../../settings/schema-parts.js";
import type { TuneSettings } from "../../settings/tune-settings.js";
import { isObject } from "../../text-file.js";
import { batchFactsSchema, type Figures, type ProbeFacts } from "../loader-probe.js";
import type { ProcessPlacement } from "../process-binding.js";

/** Options of a torch probe, from the settings of a search. */
export interface TorchProbeOptions extends Pick<TuneSettings, "batchSize" | "step" | "timeoutNs"> {
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

const trial = count;
/** Another program's figures are checked where they are used. */
const figures = z.custom<Partial<Figures>>(isObject);

const messageSchema = z.discriminatedUnion("type", [
  /** "the data set was being made": the current phase of opening, for messages on an end or a hang in it. */
  z.object({ type: z.literal("phase"), phase: z.string() }),
  z.object({
    type: z.literal("ready"),
    facts: batchFactsSchema.loose() as unknown as z.ZodType<
      Omit<ProbeFacts, "kind" | "source" | "places"> & { place: ProcessPlacement }
    >,
  }),
  /** Why the data set cannot be opened, for a PinbenchError. */
  z.object({
    type: z.literal("refused"),
    kind: z.enum(["usage", "unavailable", "unsupported", "measurement"]),
    message: z.string(),
    hint: z.string().nullable(),
    traceback: z.string().nullable(),
  }),
  /** The trial has not begun yet; repeated while files are being dropped from the page cache. */
  z.object({ type: z.literal("preparing"), trial }),
  z.object({ type: z.literal("arrivals"), ns: z.array(z.number()) }),
  /** The means so far, sent if asked to stop in the middle of a batch that may take too long. */
  z.object({ type: z.literal("sums"), trial, figures }),
  /** The loop has ended, the workers have not. */
  z.object({ type: z.literal("ending"), trial, failure: failureSchema.nullable(), figures }),
  /** The workers are gone. */
  z.object({ type: z.literal("ended"), trial }),
]);

/** Messages of the Python program, a JSON object a line. */
export type Message = z.infer<typeof messageSchema>;

export type MessageOf<Type extends Message["type"]> = Extract<Message, { type: Type }>;

/** The Python process of a search. */
export type ProbeProcess = PythonProcess<Message, Command>;

/** The Python program of a search, in src/ and in dist/. */
export const spokenProbe: SpokenProgram<Message> = {
  path: fileURLToPath(new URL("../python/main.py", import.meta.url)),
  read: (line) => readLine(line, messageSchema),
};
