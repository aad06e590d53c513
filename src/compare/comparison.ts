import { z } from "zod";
import { ExitCode } from "../errors.js";
import { type VariantFields, variantSchema } from "../results/cell-schema.js";
import { isSteady } from "../results/variant.js";
import { backendNames, caches, directions, directionsMoved, modes } from "../settings/choices.js";
import { count } from "../settings/schema-parts.js";

/**
 * The comparison document, `schemaVersion: 1`: `compare` and `check` print it with `--format json`, and all their other
 * outputs are made from it. schema/comparison-v1.json is generated from here (`npm run schema`). Changes are relative
 * to the baseline (-0.06 is 6 % less); unknown values are null.
 */

/** Verdicts on a cell; `verdictMeaning` explains each. */
export const verdicts = [
  "slower",
  "probably slower",
  "unsteady",
  "uneven",
  "faster",
  "not slower",
  "inconclusive",
  "not comparable",
  "missing",
  "new",
] as const;

/** The candidate's figure of a cell, and its difference from the baseline's. */
const changeSchema = z.object({
  /** The candidate's figure: the centre of its processes' medians, in the cell's unit. */
  figure: z.number(),
  runs: count,
  /** Candidate over baseline, minus 1; null if the baseline lacks the cell. */
  change: z.number().nullable(),
  /** 95 % interval of the change, for all compared cells at once; null if no spread is known. */
  low: z.number().nullable(),
  high: z.number().nullable(),
  /** One-sided p-value for "not slower"; null if no spread is known. */
  pValue: z.number().nullable(),
});

/** Runs of the candidate that lie far outside the spread between the baseline's. */
const slowRunsSchema = z.object({
  count,
  /** Number of the candidate's runs. */
  runs: count,
  /** 95 % interval of the share of runs that are slow. */
  share: z.object({ low: z.number(), high: z.number() }),
  /** The same for the baseline's runs. */
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
   * The figure of the cell that is compared: that of its direction. A bidir cell has an entry for each direction, and
   * in throughput mode one for their "sum".
   */
  moved: z.enum([...directionsMoved, "sum"]),
  memory: z.string(),
  sizeBytes: count,
  workers: count,
  mode: z.enum(modes),
  cache: z.enum(caches),
  ...variantSchema.shape,
  /** "GB/s" for throughput (more is faster); "us" a copy for latency (less is faster). */
  unit: z.enum(["GB/s", "us"]),
  baseline: z.object({ figure: z.number(), runs: count }).nullable(),
  /** From all of the candidate's runs, confirmation included; null if they lack the cell. */
  candidate: changeSchema.nullable(),
  /** From the confirmation's runs alone; null if the cell was not measured again. */
  confirmation: changeSchema.nullable(),
  /** `candidate.pValue` after Holm's correction over all cells. */
  adjustedPValue: z.number().nullable(),
  /**
   * The part of `candidate.change` that the host's memory explains, relative (-0.1 is 10 % less), from the CPU's own
   * copies in the same runs. Verdict, p-values and confirmation are about the rest. Null without such a control.
   */
  explainedByHost: z.number().nullable(),
  /** Null unless the verdict is about single slow runs. */
  slowRuns: slowRunsSchema.nullable(),
  /**
   * Share of time lost to slow copies, mean over the runs of each side: 1 - bytes over time / median rate. Null if
   * unknown.
   */
  lostShare: z.object({ baseline: z.number(), candidate: z.number() }).nullable(),
  /** The cell's threshold: the relative drop that counts. */
  threshold: z.number().positive(),
  /**
   * The relative loss of speed that this comparison detects in the cell 19 times out of 20; null if no spread is known.
   */
  wouldShow: z.number().nullable(),
  /** The noise between processes that the interval and the p-value assume; null if unknown. */
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

/** A common verdict on the cells of one kind, device and direction, which is more certain than that on each cell. */
const groupComparisonSchema = z.object({
  /** The kind of memory, and the variant if it is not plain: "pinned", "pinned latency". */
  kind: z.string(),
  device: count,
  moved: z.enum([...directionsMoved, "sum"]),
  ids: z.array(z.string()),
  /** Relative change of the median cell's speed; in latency mode too, more is faster. */
  change: z.number().nullable(),
  /** 95 % interval of the change, for all groups at once; null if no spread is known. */
  low: z.number().nullable(),
  high: z.number().nullable(),
  /** Whether the change includes the part that the host's memory explains, because that was slower too. */
  isWithHost: z.boolean(),
  /** The loss that this comparison detects 19 times out of 20; null if no spread is known. */
  wouldShow: z.number().nullable(),
  verdict: z.enum(verdicts),
  reason: z.string(),
});

/** One side of a comparison; all but the counts is from its first run. */
const resultSetSchema = z.object({
  /** The path as given; null for runs that `check` measured itself. */
  path: z.string().nullable(),
  runs: count,
  /** Occasions: runs that start within five minutes of the end of the one before share one. */
  occasions: count,
  startedAt: z.string(),
  deviceNames: z.array(z.string()),
  fingerprint: z.record(z.string(), z.string().nullable()),
});

const differenceSchema = z.object({
  /** The name of the fact: "driver", "link under load". */
  fact: z.string(),
  baseline: z.string().nullable(),
  candidate: z.string().nullable(),
  /** Whether it makes the results not comparable. */
  blocks: z.boolean(),
  /** Whether only --allow-mismatch made them comparable. */
  isOverruled: z.boolean(),
  /** True if the candidate ran on a machine or GPU that the baseline does not have. */
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
  /** Number of the candidate's runs with a slower link than the baseline's, of those with a known link. */
  runs: count,
  of: count,
});

/** Outcomes of a comparison, and their exit codes. */
export const outcomeExitCodes = {
  pass: ExitCode.ok,
  regression: ExitCode.regression,
  failed: ExitCode.measurement,
  mismatch: ExitCode.wrongData,
  "not comparable": ExitCode.notComparable,
  inconclusive: ExitCode.inconclusive,
} as const satisfies Record<string, ExitCode>;

export const outcomes = Object.keys(outcomeExitCodes) as ComparisonOutcome[];

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
  /** Each is a regression, even if no cell is slower; absent without any. */
  linkLosses: z.array(linkLossSchema).optional(),
  rule: z.object({
    /** The chance that the comparison calls any cell slower although none is, if its assumptions hold. */
    significance: z.number().positive(),
    threshold: z.number().positive(),
    floorGBps: z.number().nonnegative(),
    floorUs: z.number().nonnegative(),
    allowMismatch: z.boolean(),
    strict: z.boolean(),
  }),
  /** The ids of the suspects, and the runs that measured these again; null without such runs. */
  confirmation: z
    .object({
      runs: count,
      /** Most runs that it could have taken to settle all verdicts. */
      atMost: count,
      suspects: z.array(z.string()),
    })
    .nullable(),
  cells: z.array(cellComparisonSchema),
  /** Groups of three or more similar cells, in the order of their first appearance. */
  groups: z.array(groupComparisonSchema),
  /** Number of cells by verdict. */
  counts: z.record(z.enum(verdicts), count),
  /**
   * A sentence for each unfinished run on the part that is compared; absent if all runs finished, and in older
   * documents.
   */
  unfinished: z.array(z.string()).optional(),
  /** Notes, a sentence each: the source of the spread, failures. */
  notes: z.array(z.string()),
  /** "mismatch": data came back wrong; "inconclusive" only under --strict. */
  outcome: z.enum(outcomes),
});

/** The document of `compare` and `check`. */
export type Comparison = z.infer<typeof comparisonSchema>;
/** One compared figure: the entry of a cell, or of one direction of a bidir cell. */
export type CellComparison = z.infer<typeof cellComparisonSchema>;
/** The candidate's figure of a cell, and its change. */
export type CellChange = z.infer<typeof changeSchema>;
/** The common verdict on the cells of one kind and direction. */
export type GroupComparison = z.infer<typeof groupComparisonSchema>;
export type CellSlowRuns = z.infer<typeof slowRunsSchema>;
/** A fact or a setting in which the two sides differ. */
export type Difference = z.infer<typeof differenceSchema>;
/** A link that is slower than the baseline's. */
export type LinkLoss = z.infer<typeof linkLossSchema>;
/** The document's entry of one side. */
export type ResultSetSummary = z.infer<typeof resultSetSchema>;
/** A verdict on a cell. */
export type Verdict = (typeof verdicts)[number];
/** The outcome of a comparison. */
export type ComparisonOutcome = keyof typeof outcomeExitCodes;

comparisonSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:comparison-v1",
  title: "pinbench comparison, version 1",
  description:
    "What pinbench compare and pinbench check print with --json. Changes are relative to the baseline (-0.06 is " +
    "6 % less); figures are in the cell's unit; unknown values are null.",
});

/** Whether a verdict fails a comparison. Slow runs are a fault of steady cells only; others may have them by nature. */
export function isFailing(
  cell: Pick<CellComparison, "verdict" | "memory" | keyof VariantFields>,
  { strict }: { strict: boolean },
): boolean {
  const { verdict } = cell;
  if (verdict === "slower" || verdict === "probably slower") return true;
  return (verdict === "unsteady" || verdict === "uneven") && (strict || isSteady(cell));
}

/** Whether a verdict reports a loss, of the median or of single runs or copies. */
export function looksSlower({ verdict }: Pick<CellComparison, "verdict">): boolean {
  return ["slower", "probably slower", "unsteady", "uneven"].includes(verdict);
}

export function isFailingGroup({ verdict }: Pick<GroupComparison, "verdict">): boolean {
  return verdict === "slower" || verdict === "probably slower";
}

/** The facts of the fingerprint that are compared, with their names in messages, in this order. */
export const factNames: Readonly<Record<string, string>> = {
  backend: "backend",
  gpu: "GPU",
  gpuCount: "number of GPUs",
  linkUnderLoad: "link under load",
  driver: "driver",
  cuda: "CUDA",
  cpu: "CPU",
  usableCpus: "usable CPUs",
  numaNodes: "NUMA nodes",
  kernel: "kernel",
  transparentHugePages: "transparent huge pages",
  governor: "CPU governor",
  virtualization: "virtualization",
  container: "container",
  pinbench: "pinbench",
};

/** The facts that distinguish similar machines, with their names in messages. */
export const machineFacts = {
  hostName: "host name",
  gpuUuids: "GPU UUID",
  pciAddresses: "PCI address",
} as const;
