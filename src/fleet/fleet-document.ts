import { z } from "zod";
import { count, leastFigure, mostFigure, nanoseconds, ratio } from "../results/schema-parts.js";
import { directionsMoved } from "../settings/choices.js";

/**
 * The fleet document, `schemaVersion: 1`: what `fleet` prints with `--format json`, and what all its other outputs are
 * made from. schema/fleet-v1.json is generated from here (`npm run schema`). Changes are relative to the centre of a
 * node's group (-0.1 is 10 % less); what is not known is null.
 */

/** What became of a node: `measured`, or why there are no figures of it. */
export const nodeStates = [
  "measured",
  "failed",
  "wrong data",
  "late",
  "missing",
  "unreadable",
  "not compared",
] as const;

/** What to do: keep jobs away, reset the GPU or the node, look again later, or nothing. */
const action = z.enum(["isolate", "reset", "monitor", "none"]).default("none");

const nodeSchema = z.object({
  host: z.string(),
  state: z.enum(nodeStates),
  /** One sentence: why it is not `measured`; null where it is. */
  reason: z.string().nullable(),
  /** Because of its state; what is slow of it has an action of its own. */
  action,
  /** The file that was read; null where there is none. */
  file: z.string().nullable(),
  /** Of the run whose figures stand; the latest where several processes of one occasion were joined. */
  runId: z.string().nullable(),
  startedAt: z.iso.datetime().nullable(),
  wallNs: nanoseconds.nullable(),
  labels: z.record(z.string(), z.string()),
  /** The index in `groups` of the nodes that it is like; null where it has no figures. */
  group: count.nullable(),
  /** `link` as it was under load, "gen5 x16"; null where it is not known. */
  devices: z.array(
    z.object({
      ordinal: count,
      name: z.string(),
      uuid: z.string().nullable(),
      pciBusId: z.string().nullable(),
      link: z.string().nullable(),
    }),
  ),
  /** A sentence each: GPUs or figures that its like have and it lacks, and results of it that do not count. */
  notes: z.array(z.string()),
});

/** GB/s, or microseconds: above 0, as ratios of it are taken. */
const figure = z.number().min(leastFigure).max(mostFigure);

/** What figures are of, on any node: GB/s, or microseconds a copy. */
const figureKindSchema = z.object({
  /** A cell id without its device: "h2d/pinned/67108864/w1/throughput/wall/cold". */
  cell: z.string(),
  /** What the figure is of: one direction of a bidir cell, else the cell's own. */
  moved: z.enum(directionsMoved),
  unit: z.enum(["GB/s", "us"]),
});

/** A cell of a group: where its GPUs stand. */
const groupCellSchema = z.object({
  ...figureKindSchema.shape,
  /** A figure a GPU: in the order of `nodes` those of this group, of each in the order of its `devices`; null where there is none. */
  values: z.array(figure.nullable()),
  /** GPUs with a figure. */
  figures: count,
  /** Median over the group. */
  centre: figure,
  lowest: figure,
  highest: figure,
  /** Standard deviation of the logarithm between healthy GPUs, as assumed: by the median absolute deviation, or recorded. */
  logDeviation: z.number().min(0).max(100),
  /** The least loss of one GPU that would be told here: 0.05 is 5 %; null where figures are too few for any. */
  leastLoss: ratio.nullable(),
  /** The centre as a share of what healthy machines of the kind reach; null where there is no reference. */
  shareOfReference: ratio.nullable(),
});

const groupSchema = z.object({
  /** What its nodes have in common, a string a fact, as a result's fingerprint has it. */
  facts: z.record(z.string(), z.string().nullable()),
  nodes: count,
  devices: count,
  cells: z.array(groupCellSchema),
  /** Whether nodes lie on two levels, so that a centre says little: the nodes of the slow one. Null where they do not. */
  slowPart: z.object({ hosts: z.array(z.string()).min(1), reason: z.string(), action }).nullable(),
  /** Places (slots) whose GPUs are slow on many nodes: on how many, of how many, by how much, and a sentence. */
  slowPlaces: z
    .array(
      z.object({
        place: z.string(),
        nodes: count,
        of: count,
        change: z.number().min(-1).max(0),
        reason: z.string(),
        action,
      }),
    )
    .default([]),
  /**
   * The losses that are found in 99 of 100 cases, by kind of memory: of a GPU beside its like in any one cell, in all cells
   * of the kind, and below what is known of its kind of GPU; null where that finds nothing.
   */
  found: z
    .array(
      z.object({
        memory: z.string(),
        cells: count,
        inOneCell: ratio.nullable(),
        inAllCells: ratio.nullable(),
        belowReference: ratio.nullable(),
      }),
    )
    .default([]),
  /** One sentence where the group as a whole is below the reference; null where it is not, or there is none. */
  slowAsAWhole: z.string().nullable(),
  /** One sentence if nodes are too few to tell an outlier, or a GPU's loss from noise; null if they are not. */
  tooFew: z.string().nullable(),
  /** A sentence each: places of a GPU that are slower on all nodes, nodes that differ from larger groups by one fact alone. */
  notes: z.array(z.string()),
});

const outlierCellSchema = z.object({
  ...figureKindSchema.shape,
  /** The GPU's; the median of the node's GPUs where it is the node that is slow. */
  figure,
  /** Of the group: of the GPUs at the same place, where these differ by design. */
  centre: figure,
  /** How much slower than the centre, always below 0: -0.1 is 10 % less bandwidth, or the like of latency. */
  change: z.number().min(-1).max(0),
  /** One-sided, after Holm's correction over all nodes and cells of the group. */
  adjustedPValue: z.number().min(0).max(1),
});

const outlierSchema = z.object({
  host: z.string(),
  group: count,
  /** The slow GPU's ordinal; null where the node as a whole is slow. */
  device: count.nullable(),
  uuid: z.string().nullable(),
  cells: z.array(outlierCellSchema).min(1),
  /** If no cell shows it by itself: the kind of memory, how many cells it has, and the median change over these. */
  together: z
    .object({ memory: z.string(), cells: count, change: z.number().min(-1).max(0) })
    .nullable()
    .default(null),
  /**
   * Since when: the start of the first of its node's results that show the loss one after the other up to now, and of the last
   * one before that does not; null where there is none, or nothing is known.
   */
  since: z
    .object({ startedAt: z.iso.datetime(), lastHealthy: z.iso.datetime().nullable() })
    .nullable()
    .default(null),
  /** Whether fresh processes on the node found it slow again; null where none did measure. */
  confirmed: z.boolean().nullable(),
  /** One sentence for people: what is slow, and by how much. */
  reason: z.string(),
  action,
  /** What its result tells besides, a sentence each: a link that is narrower than its group's, another governor. */
  evidence: z.array(z.string()),
});

/** The zod schema of the whole document. */
export const fleetSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("fleet"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  createdAt: z.iso.datetime(),
  /** Set where devices were emulated: their figures are no GPU's. */
  notice: z.string().nullable(),
  rule: z.object({
    /** Chance that a fleet with no slow node has an outlier all the same, a group. */
    significance: z.number().min(0).max(1),
    /** Smallest relative loss that is reported. */
    threshold: z.number().min(0).max(1),
  }),
  nodes: z.array(nodeSchema),
  groups: z.array(groupSchema),
  /** Labels and facts that slow nodes have more often than chance gives: how many slow ones do, and how many nodes. */
  shared: z
    .array(
      z.object({
        trait: z.string(),
        value: z.string(),
        slow: count,
        nodes: count,
        chance: z.number().min(0).max(1),
        reason: z.string(),
      }),
    )
    .default([]),
  /** The slowest first; what fresh processes found to be as fast as its group is in `cleared`. */
  outliers: z.array(outlierSchema),
  /** What looked slow, and was not slow when fresh processes measured it again. */
  cleared: z.array(outlierSchema),
  /** Nodes that fresh processes should measure again: those of outliers, and those that may be slow and are not shown to be. */
  suspects: z.array(z.string()),
});

/** What `fleet` says of many nodes. */
export type FleetDocument = z.infer<typeof fleetSchema>;
/** What to do about a finding. */
export type Action = z.infer<typeof action>;
/** A node, and what became of it. */
export type FleetNode = z.infer<typeof nodeSchema>;
/** Nodes that are alike. */
export type FleetGroup = z.infer<typeof groupSchema>;
/** Where the GPUs of a group stand in one cell. */
export type FleetGroupCell = z.infer<typeof groupCellSchema>;
/** What figures are of. */
export type FigureKind = z.infer<typeof figureKindSchema>;
/** A GPU, or a node, that is slower than those that are like it. */
export type FleetOutlier = z.infer<typeof outlierSchema>;

fleetSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:fleet-v1",
  title: "pinbench fleet, version 1",
  description:
    "Results of many nodes: groups of like nodes, and the nodes and GPUs that are slower than their group.",
});

const factNames: Readonly<Record<string, string>> = {
  linkUnderLoad: "link under load",
  linkCapability: "best link",
  gpuCount: "number of GPUs",
  transparentHugePages: "transparent huge pages",
  usableCpus: "usable CPUs",
  numaNodes: "NUMA nodes",
  workersOn: "workers on NUMA node",
};

/** A fact's name in a sentence. */
export function factName(fact: string): string {
  return factNames[fact] ?? fact;
}
