import { z } from "zod";
import { count, finite, nanoseconds } from "../results/schema-parts.js";
import { backendNames, type QuestionName, questionNames } from "../settings/choices.js";

/**
 * The explanation document, `schemaVersion: 1`: what `explain` prints with `--format json`, and what all its other outputs
 * are made from. schema/explanation-v1.json is generated from here (`npm run schema`).
 */

/** What figures are in. Rates are decimal; a ratio is a number of times; a count says in the figure's name of what. */
export const figureUnits = ["GB/s", "ns", "ratio", "share", "count", "batches/s"] as const;

const figureSchema = z.object({
  /** What was measured, in words: "pinned, 64 MiB, H2D". */
  name: z.string(),
  /** A median, unless the name says otherwise. */
  value: finite,
  unit: z.enum(figureUnits),
  /** Where the value lies at 95 %; null where there are too few samples to tell. */
  interval: z.object({ low: finite, high: finite }).nullable(),
  /** What the value is made of; 0 for one that is computed from others. */
  samples: count,
});

/**
 * What the figures make of a claim: it holds on this machine; it does not; or they do not decide it, because an interval
 * lies on both sides of a bound, or something could not be measured.
 */
const verdictSchema = z.enum(["true", "not here", "inconclusive"]);

const answerSchema = z.object({
  question: z.enum(questionNames),
  title: z.string(),
  /** What articles say. */
  claim: z.string(),
  verdict: verdictSchema,
  /** Where a claim has parts that are decided each by itself. */
  parts: z.array(z.object({ name: z.string(), verdict: verdictSchema })),
  figures: z.array(figureSchema),
  /** For people: what the figures say. */
  sentences: z.array(z.string()).min(1),
  /** What measures the same again. */
  command: z.string(),
  /** Why nothing was measured, or not all of it; null where nothing failed. What this machine lacks is no failure. */
  failure: z.string().nullable(),
  wallNs: nanoseconds,
});

/** The zod schema of the whole document. */
export const explanationSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("explanation"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  createdAt: z.iso.datetime(),
  wallNs: nanoseconds,
  backend: z.enum(backendNames),
  /** Set for the emulated device: its figures are no GPU's. */
  notice: z.string().nullable(),
  host: z.string(),
  devices: z.array(z.object({ ordinal: count, name: z.string() })),
  /** All that was asked; what has no answer was not reached before an interruption. */
  asked: z.array(z.enum(questionNames)),
  /** In the order of the questions. */
  answers: z.array(answerSchema),
});

/** What `explain` says of a machine. */
export type Explanation = z.infer<typeof explanationSchema>;
/** What it says to one question. */
export type ExplainedAnswer = z.infer<typeof answerSchema>;
/** One measured or computed number. */
export type MeasuredFigure = z.infer<typeof figureSchema>;
/** What the figures make of a claim. */
export type ClaimVerdict = z.infer<typeof verdictSchema>;

explanationSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:explanation-v1",
  title: "pinbench explanation, version 1",
  description:
    "What articles claim about pinned memory, what pinbench explain measured, and its verdict on each claim.",
});

/** What is said of a question before it is asked. */
export interface QuestionText {
  name: QuestionName;
  /** One line for a list: a question. */
  title: string;
  /** What articles say. */
  claim: string;
  /** What there must be: a device, several, or the user's Python with torch. */
  needs: "device" | "devices" | "torch";
}
