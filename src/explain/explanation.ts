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
  /** The claim of articles. */
  claim: z.string(),
  /**
   * The claim holds on this machine, or it does not, or the figures do not decide, because an interval includes a bound,
   * or something could not be measured; "not run" if something that it needs is missing, such as torch.
   */
  verdict: z.enum(["true", "not here", "inconclusive", "not run"]),
  /** What decided it, in one line: the figures in words, or why there are none. */
  summary: z.string(),
  figures: z.array(figureSchema),
  /** Why nothing, or not everything, was measured; null without a failure. Missing hardware is no failure. */
  failure: z.string().nullable(),
  /** Whether it failed because data came back wrong. */
  hasWrongData: z.boolean(),
  wallNs: nanoseconds,
});

/** The zod schema of the whole document. */
export const explanationSchema = z.object({
  ...headSchema("explanation"),
  devices: z.array(z.object({ ordinal: count, name: z.string() })),
  /** All requested questions; those without an answer were not reached before an interruption. */
  asked: z.array(z.enum(questionNames)),
  /** In the order of the questions. */
  answers: z.array(answerSchema),
});

/** The document of `explain`. */
export type Explanation = z.infer<typeof explanationSchema>;
/** The answer to one question. */
export type ExplainedAnswer = z.infer<typeof answerSchema>;
export type MeasuredFigure = z.infer<typeof figureSchema>;

explanationSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:explanation-v1",
  title: "pinbench explanation, version 1",
  description:
    "What articles claim about pinned memory, what pinbench explain measured, and its verdict on each claim.",
});
