import { z } from "zod";

/**
 * The outcome of `compare` and `check`, `schemaVersion: 1`: what `--format json` prints and all other outputs are
 * made from. schema/comparison-v1.json is generated from here (`npm run schema`). Changes are relative to the
 * baseline (-0.06 is 6 % less); what is not known is null.
 */

const count = z.number().int().nonnegative();

/** What can be said of a cell; `describeVerdict` in src/report says each in a sentence. */
export const verdicts = [
  "slower",
  "faster",
  "same",
  "inconclusive",
  "not comparable",
  "missing",
  "new",
] as const;

/** An estimate of how much a figure changed. */
const changeSchema = z.object({
  /** The candidate's figure: the centre of its processes' medians, in the cell's unit. */
  figure: z.number(),
  runs: count,
  /** Candidate over baseline, minus 1; null where the baseline lacks the cell. */
  change: z.number().nullable(),
  /** 95 % interval of the change, for this cell alone; null where no spread is known. */
  low: z.number().nullable(),
  high: z.number().nullable(),
  /** One-sided, that the cell is no slower; null where no spread is known. */
  pValue: z.number().nullable(),
});

const cellComparisonSchema = z.object({
  id: z.string(),
  device: count,
  direction: z.enum(["h2d", "d2h", "bidir", "d2d"]),
  /** What of the cell is compared: its own direction; of bidir cells each direction, and of their throughput "sum". */
  moved: z.enum(["h2d", "d2h", "d2d", "sum"]),
  memory: z.string(),
  sizeBytes: count,
  workers: count,
  mode: z.enum(["throughput", "latency"]),
  timer: z.enum(["wall", "event"]),
  cache: z.enum(["cold", "warm"]),
  /** "GB/s" for throughput, where more is faster; "us" a copy for latency, where less is. */
  unit: z.enum(["GB/s", "us"]),
  baseline: z.object({ figure: z.number(), runs: count }).nullable(),
  /** From all of the candidate's processes, those of the confirmation included; null where they lack the cell. */
  candidate: changeSchema.nullable(),
  /** The confirmation's fresh processes alone; null where the cell was not measured again. */
  confirmation: changeSchema.nullable(),
  /** `candidate.pValue` after Holm's correction over all cells. */
  adjustedPValue: z.number().nullable(),
  /** The relative drop that counts for this cell. */
  threshold: z.number().positive(),
  /** What the interval and the p-value take for the noise between processes. */
  spread: z
    .object({
      source: z.enum(["these runs", "recorded"]),
      /** Standard deviation of the logarithm of a process's median. */
      logDeviation: z.number().nonnegative(),
      degreesOfFreedom: z.number().positive(),
    })
    .nullable(),
  verdict: z.enum(verdicts),
  /** One sentence for people: why this verdict. */
  reason: z.string(),
});

const resultSetSchema = z.object({
  /** As it was given; null for what `check` measured itself. */
  path: z.string().nullable(),
  runs: count,
  /** Of the first run. */
  startedAt: z.string(),
  deviceNames: z.array(z.string()),
  fingerprint: z.record(z.string(), z.string().nullable()),
});

const differenceSchema = z.object({
  /** For people, such as "driver" or "link under load". */
  fact: z.string(),
  baseline: z.string().nullable(),
  candidate: z.string().nullable(),
  /** Results that differ in this are not comparable. */
  blocks: z.boolean(),
  /** They were not, but for --allow-mismatch. */
  isOverruled: z.boolean(),
});

export const outcomes = ["pass", "regression", "failed", "not comparable", "inconclusive"] as const;

export const comparisonSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("comparison"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  command: z.enum(["compare", "check"]),
  createdAt: z.iso.datetime(),
  backend: z.enum(["cuda", "emulated"]),
  /** Set for the emulated device: its figures are no GPU's. */
  notice: z.string().nullable(),
  baseline: resultSetSchema,
  candidate: resultSetSchema,
  differences: z.array(differenceSchema),
  rule: z.object({
    /** Of the whole comparison: the chance that it calls any cell slower where none is, if its assumptions hold. */
    significance: z.number().positive(),
    threshold: z.number().positive(),
    floorGBps: z.number().nonnegative(),
    floorUs: z.number().nonnegative(),
    allowMismatch: z.boolean(),
    strict: z.boolean(),
  }),
  /** Null where nothing was measured again. */
  confirmation: z.object({ runs: count, suspects: z.array(z.string()) }).nullable(),
  cells: z.array(cellComparisonSchema),
  /** How many cells have each verdict. */
  counts: z.record(z.enum(verdicts), count),
  /** What a reader must know besides: where the spread was taken from, what failed. */
  notes: z.array(z.string()),
  /** What the exit code follows from; "inconclusive" under --strict alone. */
  outcome: z.enum(outcomes),
});

export type Comparison = z.infer<typeof comparisonSchema>;
export type CellComparison = z.infer<typeof cellComparisonSchema>;
export type CellChange = z.infer<typeof changeSchema>;
export type Difference = z.infer<typeof differenceSchema>;
export type ResultSetSummary = z.infer<typeof resultSetSchema>;
export type Verdict = (typeof verdicts)[number];
export type ComparisonOutcome = (typeof outcomes)[number];
