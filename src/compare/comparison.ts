import { z } from "zod";
import { ExitCode } from "../errors.js";
import { variantSchema } from "../results/cell-schema.js";
import { backendNames, caches, directions, directionsMoved, modes } from "../settings/choices.js";
import { count } from "../settings/schema-parts.js";

/**
 * The comparison document, `schemaVersion: 1`: `compare` and `check` print it with `--format json`, and all their other
 * outputs are made from it. schema/comparison-v1.json is generated from here (`npm run schema`). Changes are relative
 * to the baseline (-0.06 is 6 % less); unknown values are null.
 */

export const verdicts = [
  "slower",
  "unsteady",
  "undecided",
  "missing",
  "not slower",
  "faster",
  "new",
] as const;

/** One side's figure of a cell: the median of each session's runs, and then the geometric mean of these. */
const sideSchema = z.object({ figure: z.number().describe("In the cell's unit."), runs: count });

const cellComparisonSchema = z.object({
  id: z.string(),
  device: count,
  direction: z.enum(directions),
  moved: z
    .enum([...directionsMoved, "sum"])
    .describe("The figure that is compared: a bidir cell has one for each direction, and one for their sum."),
  memory: z.string(),
  sizeBytes: count,
  workers: count,
  mode: z.enum(modes),
  cache: z.enum(caches),
  ...variantSchema.shape,
  unit: z
    .enum(["GB/s", "us"])
    .describe("GB/s for throughput (more is faster), us a copy for latency (less is faster)."),
  baseline: sideSchema.nullable(),
  candidate: sideSchema
    .nullable()
    .describe("Of the runs that decide: those that measured a suspect again, or else the first ones."),
  change: z.number().nullable().describe("Candidate over baseline, minus 1; null if a side lacks the cell."),
  standardErrors: z
    .number()
    .nullable()
    .describe("The change against the cell's group over its standard error; null for a group of one cell."),
  verdict: z
    .enum(verdicts)
    .nullable()
    .describe("The group's, unless the cell differs from it; null for host memory."),
});

/** `slow` of `runs` runs were far slower than the others of their session. */
const slowRunsSchema = z.object({ slow: count, runs: count });

const groupComparisonSchema = z.object({
  kind: z.string().describe('The kind of memory, the mode and the variant: "pinned", "pinned latency".'),
  device: count,
  direction: z.enum(directions),
  moved: z.enum([...directionsMoved, "sum"]),
  ids: z.array(z.string()),
  runs: z
    .object({ baseline: count, sessions: count, candidate: count })
    .nullable()
    .describe("Those that decide; null if no cell has figures on both sides, like the changes."),
  change: z
    .number()
    .nullable()
    .describe("Relative change of the median cell's speed; for latency too, more is faster."),
  standardError: z.number().nullable().describe("Of the logarithm of the change."),
  firstChange: z
    .number()
    .nullable()
    .describe("The change in the first runs, if fresh ones measured the group again; else null."),
  hostChange: z.number().nullable().describe("That of the host's memory in the same runs; null if unknown."),
  changeOverTime: z
    .number()
    .nullable()
    .describe("That of the speed over time, which slow copies lower; null if unknown."),
  slowRuns: z.object({ baseline: slowRunsSchema, candidate: slowRunsSchema }).nullable(),
  missing: z.array(z.string()).describe("Ids of the cells that only the baseline has figures of."),
  slowerAlone: z.array(z.string()).describe("Ids of the cells that are slower than the group."),
  threshold: z.number().positive().describe("The relative drop that counts."),
  wouldShow: z
    .number()
    .nullable()
    .describe("The relative loss that this comparison finds in 39 of 40 cases."),
  verdict: z
    .enum(verdicts)
    .nullable()
    .describe("Null for host memory, which explains losses and is none by itself."),
  basis: z
    .enum(["change", "single cells", "slow runs", "slow copies"])
    .nullable()
    .describe("What decides the verdict; null without figures on both sides."),
  reason: z.string().describe("One sentence for people."),
});

/** One side of a comparison: its path, its counts, and facts of its first run. */
const resultSetSchema = z.object({
  /** The given path; null for runs measured by `check`. */
  path: z.string().nullable(),
  runs: count,
  /** A run belongs to the previous run's session if it starts within five minutes of its end. */
  sessions: count,
  startedAt: z.string(),
  deviceNames: z.array(z.string()),
  fingerprint: z.record(z.string(), z.string().nullable()),
});

const differenceSchema = z.object({
  /** The name of the fact: "driver", "link under load". */
  fact: z.string(),
  baseline: z.string().nullable(),
  candidate: z.string().nullable(),
  /** Whether it makes the results incomparable. */
  blocks: z.boolean(),
  /** Whether --allow-mismatch was needed to compare them. */
  isOverruled: z.boolean(),
  /** True if the candidate ran on a machine or GPU that the baseline does not have. */
  isOtherMachine: z.literal(true).optional(),
});

const linkSchema = z.object({ generation: count, width: count });

/** A link that lost lanes or a generation, on the same GPU in the same slot. */
const linkLossSchema = z.object({
  device: count,
  baseline: linkSchema,
  candidate: linkSchema,
  /** Number of candidate runs with a slower link than the baseline's, and number with a known link. */
  runs: count,
  of: count,
});

export const outcomeExitCodes = {
  pass: ExitCode.ok,
  regression: ExitCode.regression,
  failed: ExitCode.measurement,
  mismatch: ExitCode.wrongData,
  "not comparable": ExitCode.notComparable,
  undecided: ExitCode.undecided,
} as const satisfies Record<string, ExitCode>;

export const outcomes = Object.keys(outcomeExitCodes) as ComparisonOutcome[];

export const comparisonSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("comparison"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  command: z.enum(["compare", "check"]),
  createdAt: z.iso.datetime(),
  backend: z.enum(backendNames),
  /** Set for the emulated device, whose figures are not a GPU's. */
  notice: z.string().nullable(),
  baseline: resultSetSchema,
  candidate: resultSetSchema,
  differences: z.array(differenceSchema),
  /** Each is a regression, even if no cell is slower; absent if there are none. */
  linkLosses: z.array(linkLossSchema).optional(),
  rule: z.object({
    allowMismatch: z.boolean(),
    strict: z.boolean(),
  }),
  /** Cells that looked slower, and number of fresh runs that measured them again; null without such runs. */
  confirmation: z.object({ runs: count, suspects: z.array(z.string()) }).nullable(),
  /** Groups of cells with one device, direction, memory kind, mode and variant; each is judged as a whole. */
  groups: z.array(groupComparisonSchema),
  cells: z.array(cellComparisonSchema),
  /** A sentence for each unfinished run on the part that is compared; absent if all runs finished. */
  unfinished: z.array(z.string()).optional(),
  notes: z.array(z.string()),
  outcome: z.enum(outcomes),
});

export type Comparison = z.infer<typeof comparisonSchema>;
export type CellComparison = z.infer<typeof cellComparisonSchema>;
export type GroupComparison = z.infer<typeof groupComparisonSchema>;
export type Difference = z.infer<typeof differenceSchema>;
export type LinkLoss = z.infer<typeof linkLossSchema>;
export type ResultSetSummary = z.infer<typeof resultSetSchema>;
export type Verdict = (typeof verdicts)[number];
export type ComparisonOutcome = keyof typeof outcomeExitCodes;

comparisonSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:comparison-v1",
  title: "pinbench comparison, version 1",
  description:
    "What pinbench compare and pinbench check print with --json. Changes are relative to the baseline (-0.06 is " +
    "6 % less); figures are in the cell's unit; unknown values are null.",
});

export function isFailing({ verdict }: Pick<GroupComparison, "verdict">): boolean {
  return verdict === "slower" || verdict === "unsteady";
}

/** Whether a group is undecided; with --strict also if the candidate lacks figures. */
export function isOpen(
  { verdict, missing }: Pick<GroupComparison, "verdict" | "missing">,
  { strict }: { strict: boolean },
): boolean {
  return verdict === "undecided" || (strict && missing.length > 0);
}

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

export const machineFacts = {
  hostName: "host name",
  gpuUuids: "GPU UUID",
  pciAddresses: "PCI address",
} as const;
