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

export interface TorchProbeOptions extends Pick<TuneSettings, "batchSize" | "step" | "timeoutNs"> {
  torch: string;
  python: string;
  /** Index (from 0) of this training process and the number on the node; null if there is only one. */
  rank: { index: number; count: number } | null;
  /** Folder whose files are dropped from the page cache before each trial; null for none. */
  coldFolder: string | null;
  /** Additional environment variables of the Python process. */
  environment?: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/** Messages to the Python program, one JSON object per line. "open" comes first, and once. */
export type Command =
  | ({ type: "open"; link: boolean } & Omit<TorchProbeOptions, "signal" | "environment">)
  | { type: "measure"; trial: number; setting: LoaderSetting }
  | { type: "stop"; trial: number }
  | { type: "exit" };

const trial = count;
/** Figures from another program are checked where they are used. */
const figures = z.custom<Partial<Figures>>(isObject);

const messageSchema = z.discriminatedUnion("type", [
  /** Current phase of opening, for error messages: "the data set was being made". */
  z.object({ type: z.literal("phase"), phase: z.string() }),
  z.object({
    type: z.literal("ready"),
    facts: batchFactsSchema.loose() as unknown as z.ZodType<
      Omit<ProbeFacts, "kind" | "source" | "places"> & { place: ProcessPlacement }
    >,
  }),
  /** Why the data set cannot be opened. */
  z.object({
    type: z.literal("refused"),
    kind: z.enum(["usage", "unavailable", "unsupported", "measurement"]),
    message: z.string(),
    hint: z.string().nullable(),
    traceback: z.string().nullable(),
  }),
  /** The trial has not begun; repeated while files are dropped from the page cache. */
  z.object({ type: z.literal("preparing"), trial }),
  z.object({ type: z.literal("arrivals"), ns: z.array(z.number()) }),
  /** The means so far, because the trial was stopped and the current batch may take too long. */
  z.object({ type: z.literal("sums"), trial, figures }),
  /** The loop has ended, but workers may still run. */
  z.object({ type: z.literal("ending"), trial, failure: failureSchema.nullable(), figures }),
  /** The workers have ended. */
  z.object({ type: z.literal("ended"), trial }),
]);

export type Message = z.infer<typeof messageSchema>;

export type MessageOf<Type extends Message["type"]> = Extract<Message, { type: Type }>;

export type ProbeProcess = PythonProcess<Message, Command>;

/** The Python program; the same path in src/ and dist/. */
export const spokenProbe: SpokenProgram<Message> = {
  path: fileURLToPath(new URL("../python/main.py", import.meta.url)),
  read: (line) => readLine(line, messageSchema),
};
