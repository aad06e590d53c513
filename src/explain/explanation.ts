import { z } from "zod";
import { headSchema } from "../results/document-head.js";
import { questionNames } from "../settings/choices.js";
import { count, finite, nanoseconds } from "../settings/schema-parts.js";

/**
 * The explanation document, `schemaVersion: 1`: `explain` prints it with `--format json`, and all its other outputs are
 * made from it. schema/explanation-v1.json is generated from here (`npm run schema`).
 */

const figureSchema = z.object({
  /** The measured quantity in words: "pinned, 64 MiB, H2D". */
  name: z.string(),
  /** A median, unless the name says otherwise. */
  value: finite,
  /** Rates are decimal; a ratio is a factor. */
  unit: z.enum(["GB/s", "ns", "ratio", "share"]),
  /** 95 % interval of the value; null with too few samples. */
  interval: z.object({ low: finite, high: finite }).nullable(),
  /** Number of samples behind the value; 0 for a computed one. */
  samples: count,
});

const answerSchema = z.object({
  question: z.enum(questionNames),
  title: z.string(),
  /** The claim, as articles make it. */
  claim: z.string(),
  /**
   * "true" or "not here": the claim holds on this machine, or not. "inconclusive": an interval includes a bound, or a
   * measurement failed. "not run": something is missing, such as torch.
   */
  verdict: z.enum(["true", "not here", "inconclusive", "not run"]),
  /** The reason for the verdict in one line: the figures in words, or why there are none. */
  summary: z.string(),
  figures: z.array(figureSchema),
  /** Why the measurement is missing or incomplete; null if it is complete. Missing hardware is not a failure. */
  failure: z.string().nullable(),
  /** Whether it failed because data came back wrong. */
  hasWrongData: z.boolean(),
  wallNs: nanoseconds,
});

export const explanationSchema = z.object({
  ...headSchema("explanation"),
  devices: z.array(z.object({ ordinal: count, name: z.string() })),
  /** All requested questions, also those not reached before an interruption. */
  asked: z.array(z.enum(questionNames)),
  answers: z.array(answerSchema),
});

export type Explanation = z.infer<typeof explanationSchema>;
export type ExplainedAnswer = z.infer<typeof answerSchema>;
export type MeasuredFigure = z.infer<typeof figureSchema>;

explanationSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:explanation-v1",
  title: "pinbench explanation, version 1",
  description:
    "What articles claim about pinned memory, what pinbench explain measured, and its verdict on each claim.",
});
