import { z } from "zod";
import { variantSchema } from "../results/cell-schema.js";
import { count } from "../results/schema-parts.js";
import { backendNames, caches, directions, directionsMoved, modes, timers } from "../settings/choices.js";

/**
 * The comparison document, `schemaVersion: 1`: what `compare` and `check` print with `--format json`, and what all
 * their other outputs are made from. schema/comparison-v1.json is generated from here (`npm run schema`). Changes are
 * relative to the baseline (-0.06 is 6 % less); what is not known is null.
 */

/** What a comparison can say of a cell; `verdictMeaning` in src/report explains each. */
export const verdicts = [
  "slower",
  "probably slower",
  "unsteady",
  "uneven",
  "faster",
  "not slower",
  "cannot be told",
  "not comparable",
  "missing",
  "new",
] as const;

/** The candidate's figure of a cell, and by how much it differs from the baseline's. */
const changeSchema = z.object({
  /** The candidate's figure: the centre of its processes' medians, in the cell's unit. */
  figure: z.number(),
  runs: count,
  /** Candidate over baseline, minus 1; null where the baseline lacks the cell. */
  change: z.number().nullable(),
  /** 95 % interval of the change, for all compared cells at once; null if no spread is known. */
  low: z.number().nullable(),
  high: z.number().nullable(),
  /** One-sided, that the cell is no slower; null where no spread is known. */
  pValue: z.number().nullable(),
});

/** Runs of the candidate that lie far outside the spread between the baseline's. */
const slowRunsSchema = z.object({
  count,
  /** Of so many. */
  runs: count,
  /** 95 % interval of the share of runs that are slow. */
  share: z.object({ low: z.number(), high: z.number() }),
  /** As slow ones among the baseline's runs. */
  ofBaseline: count,
  /** The change of the slowest of them: -0.4 is 40 % less. */
  worstChange: z.number(),
  /** When each of them started, ISO 8601. */
  startedAt: z.array(z.string()),
});

const cellComparisonSchema = z.object({
  id: z.string(),
  device: count,
  direction: z.enum(directions),
  /**
   * Which figure of the cell is compared: that of its own direction; a bidir cell has an entry for each direction, and
   * in throughput mode one for their "sum".
   */
  moved: z.enum([...directionsMoved, "sum"]),
  memory: z.string(),
  sizeBytes: count,
  workers: count,
  mode: z.enum(modes),
  timer: z.enum(timers),
  cache: z.enum(caches),
  ...variantSchema.shape,
  /** "GB/s" for throughput, where more is faster; "us" a copy for latency, where less is. */
  unit: z.enum(["GB/s", "us"]),
  baseline: z.object({ figure: z.number(), runs: count }).nullable(),
  /** From all of the candidate's runs, those of the confirmation included; null where they lack the cell. */
  candidate: changeSchema.nullable(),
  /** From the confirmation's runs alone; null where the cell was not measured again. */
  confirmation: changeSchema.nullable(),
  /** `candidate.pValue` after Holm's correction over all cells. */
  adjustedPValue: z.number().nullable(),
  /**
   * What the host's memory explains of `candidate.change`, relative (-0.1 is 10 % less), by the CPU's own copies in the
   * same runs; the verdict, the p-values and the confirmation are about the rest. Null where there is no such control.
   */
  explainedByHost: z.number().nullable(),
  /** Null where the verdict is not about single slow runs. */
  slowRuns: slowRunsSchema.nullable(),
  /**
   * The share of the time that slow copies took from the others, the mean over the runs of each side: 1 - bytes over time /
   * median rate. Null if not known, absent in older documents.
   */
  lostShare: z.object({ baseline: z.number(), candidate: z.number() }).nullish(),
  /** The relative drop that counts as one for this cell. */
  threshold: z.number().positive(),
  /** The relative loss of speed that this comparison finds in the cell 19 times out of 20; null if no spread is known. */
  wouldShow: z.number().nullable(),
  /** The noise between processes that the interval and the p-value assume; null where it is not known. */
  spread: z
    .object({
      source: z.enum(["these runs", "recorded"]),
      /** Standard deviation of the logarithm of a run's median. */
      logDeviation: z.number().nonnegative(),
      degreesOfFreedom: z.number().positive(),
    })
    .nullable(),
  verdict: z.enum(verdicts),
  /** One sentence for people: why this verdict. */
  reason: z.string(),
});

/** What the cells of one kind, device and direction did together: surer than what any of them did. */
const groupComparisonSchema = z.object({
  /** The kind of memory, with what tells its cells apart from plain ones: "pinned", "pinned latency". */
  kind: z.string(),
  device: count,
  moved: z.enum([...directionsMoved, "sum"]),
  /** Ids of its cells. */
  ids: z.array(z.string()),
  /** Of the cells' middle speed, relative; in latency mode too, more is faster. */
  change: z.number().nullable(),
  /** 95 % interval of the change, for all groups at once; null if no spread is known. */
  low: z.number().nullable(),
  high: z.number().nullable(),
  /** Whether the change is that of the copies with what the host's memory explains, which lost as well. */
  isWithHost: z.boolean(),
  /** The loss that this comparison finds 19 times out of 20; null if no spread is known. */
  wouldShow: z.number().nullable(),
  verdict: z.enum(verdicts),
  reason: z.string(),
});

/** One side of a comparison; what is not a count is that of its first run. */
const resultSetSchema = z.object({
  /** As it was given; null for what `check` measured itself. */
  path: z.string().nullable(),
  runs: count,
  /** Runs that start within five minutes of the end of the one before are of one occasion. */
  occasions: count,
  startedAt: z.string(),
  deviceNames: z.array(z.string()),
  fingerprint: z.record(z.string(), z.string().nullable()),
});

const differenceSchema = z.object({
  /** What differs, in words: "driver", "link under load". */
  fact: z.string(),
  baseline: z.string().nullable(),
  candidate: z.string().nullable(),
  /** Whether it makes the results not comparable. */
  blocks: z.boolean(),
  /** Whether it would, but for --allow-mismatch. */
  isOverruled: z.boolean(),
  /** True where it says that the candidate ran on a machine, or a GPU, that the baseline does not know. */
  isOtherMachine: z.literal(true).optional(),
});

const linkSchema = z.object({ generation: count, width: count });

/** A link that lost lanes or a generation, on the same GPU in the same slot. */
const linkLossSchema = z.object({
  device: count,
  /** In most of the baseline's runs. */
  baseline: linkSchema,
  /** At its slowest in the candidate's. */
  candidate: linkSchema,
  /** How many of the candidate's runs had less than the baseline's, of those that know their link. */
  runs: count,
  of: count,
});

/** What a comparison as a whole can come to; the exit code follows from it. */
export const outcomes = ["pass", "regression", "failed", "not comparable", "inconclusive"] as const;

/** The zod schema of the whole document. */
export const comparisonSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("comparison"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  command: z.enum(["compare", "check"]),
  createdAt: z.iso.datetime(),
  backend: z.enum(backendNames),
  /** Set for the emulated device: its figures are no GPU's. */
  notice: z.string().nullable(),
  baseline: resultSetSchema,
  candidate: resultSetSchema,
  differences: z.array(differenceSchema),
  /** Each is a regression, whatever the cells say; absent where there are none. */
  linkLosses: z.array(linkLossSchema).optional(),
  rule: z.object({
    /** The chance that the comparison calls any cell slower where none is, if its assumptions hold. */
    significance: z.number().positive(),
    threshold: z.number().positive(),
    floorGBps: z.number().nonnegative(),
    floorUs: z.number().nonnegative(),
    allowMismatch: z.boolean(),
    strict: z.boolean(),
  }),
  /** The ids of the cells that looked slower, and the runs that measured these again; null without such runs. */
  confirmation: z
    .object({
      runs: count,
      /** How many it would have taken at most, until all verdicts were settled. */
      atMost: count,
      suspects: z.array(z.string()),
    })
    .nullable(),
  cells: z.array(cellComparisonSchema),
  /** Of three cells and more that are alike: in the order in which they first appear. */
  groups: z.array(groupComparisonSchema),
  /** How many cells have each verdict. */
  counts: z.record(z.enum(verdicts), count),
  /**
   * Of each run that did not come to its end, a sentence on what of it is compared; absent where all did, and in older
   * documents.
   */
  unfinished: z.array(z.string()).optional(),
  /** What a reader must know besides, a sentence each: where the spread was taken from, what failed. */
  notes: z.array(z.string()),
  /** "inconclusive" under --strict alone. */
  outcome: z.enum(outcomes),
});

/** The document of `compare` and `check`. */
export type Comparison = z.infer<typeof comparisonSchema>;
/** One compared figure: the entry of a cell, or of one direction of a bidir cell. */
export type CellComparison = z.infer<typeof cellComparisonSchema>;
/** The candidate's figure of a cell, and its change. */
export type CellChange = z.infer<typeof changeSchema>;
/** What the cells of one kind and direction did together. */
export type GroupComparison = z.infer<typeof groupComparisonSchema>;
/** Single slow runs of a cell. */
export type CellSlowRuns = z.infer<typeof slowRunsSchema>;
/** A fact or a setting in which the two sides differ. */
export type Difference = z.infer<typeof differenceSchema>;
/** A link that is slower than the baseline's. */
export type LinkLoss = z.infer<typeof linkLossSchema>;
/** What the document says of one side. */
export type ResultSetSummary = z.infer<typeof resultSetSchema>;
/** What the comparison says of a cell. */
export type Verdict = (typeof verdicts)[number];
/** What the comparison as a whole comes to. */
export type ComparisonOutcome = (typeof outcomes)[number];

comparisonSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:comparison-v1",
  title: "pinbench comparison, version 1",
  description:
    "What pinbench compare and pinbench check print with --json. Changes are relative to the baseline (-0.06 is " +
    "6 % less); figures are in the cell's unit; what is not known is null.",
});
