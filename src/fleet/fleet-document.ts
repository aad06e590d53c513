import { z } from "zod";
import { directionsMoved } from "../settings/choices.js";
import { count, leastFigure, mostFigure, nanoseconds, ratio } from "../settings/schema-parts.js";

/**
 * The fleet document, `schemaVersion: 1`: `fleet` prints it with `--format json`, and all its other outputs are made
 * from it. schema/fleet-v1.json is generated from here (`npm run schema`). Changes are relative to the centre of a
 * node's group (-0.1 is 10 % less); unknown values are null.
 */

/**
 * The state of a node: `measured`; `incomplete` (measured, but it lacks a GPU, or a GPU failed in some cells); or why it
 * has no valid result.
 */
export const nodeStates = [
  "measured",
  "incomplete",
  "failed",
  "wrong data",
  "late",
  "missing",
  "unreadable",
] as const;

/** What to do: keep jobs away, reset the GPU or the node, look again later, or nothing. */
const action = z.enum(["isolate", "reset", "monitor", "none"]).default("none");

const nodeSchema = z.object({
  host: z.string(),
  state: z.enum(nodeStates),
  /** One sentence on why it is not `measured`, or why it may be slow; null otherwise. */
  reason: z.string().nullable(),
  /** The action for its state; `monitor` if a loss may be noise. Slow parts have actions of their own. */
  action,
  /** The file that was read; null without one. */
  file: z.string().nullable(),
  /** The run of its figures; the latest if several processes of one occasion were joined. */
  runId: z.string().nullable(),
  startedAt: z.iso.datetime().nullable(),
  wallNs: nanoseconds.nullable(),
  labels: z.record(z.string(), z.string()),
  /** Index of its group in `groups`; null without figures. */
  group: count.nullable(),
  /** `link` under load, "gen5 x16"; null if unknown. */
  devices: z.array(
    z.object({
      ordinal: count,
      name: z.string(),
      uuid: z.string().nullable(),
      pciBusId: z.string().nullable(),
      link: z.string().nullable(),
    }),
  ),
  /** A sentence each: GPUs or figures that it lacks and its group has, and results that do not count. */
  notes: z.array(z.string()),
});

/** GB/s or microseconds; above 0, because ratios are taken. */
const figure = z.number().min(leastFigure).max(mostFigure);

/** The kind of a figure, on any node: GB/s, or microseconds a copy. */
const figureKindSchema = z.object({
  /** A cell id without its device: "h2d/pinned/67108864/w1/throughput/cold". */
  cell: z.string(),
  /** The direction of the figure: one direction of a bidir cell, otherwise that of the cell. */
  moved: z.enum(directionsMoved),
  unit: z.enum(["GB/s", "us"]),
});

/** A cell of a group, with the figures of its GPUs. */
const groupCellSchema = z.object({
  ...figureKindSchema.shape,
  /** One figure per GPU, in the order of the group's `nodes` and their `devices`; null without a figure. */
  values: z.array(figure.nullable()),
  /** Number of GPUs with a figure. */
  figures: count,
  /** Median over the group. */
  centre: figure,
  lowest: figure,
  highest: figure,
  /**
   * The assumed standard deviation of the logarithm between healthy GPUs: from the median absolute deviation, or
   * recorded.
   */
  logDeviation: z.number().min(0).max(100),
  /** The smallest loss of one GPU that would be detected: 0.05 is 5 %; null with too few figures. */
  leastLoss: ratio.nullable(),
  /** The centre as a share of a healthy machine's rate; null without a reference. */
  shareOfReference: ratio.nullable(),
});

const groupSchema = z.object({
  /** Facts that its nodes share, one string each, as in a result's fingerprint. */
  facts: z.record(z.string(), z.string().nullable()),
  nodes: count,
  /** Number of GPUs with figures. */
  devices: count,
  cells: z.array(groupCellSchema),
  /** The nodes of the slow part, if nodes are on two levels, so that the centre means little; null otherwise. */
  slowPart: z.object({ hosts: z.array(z.string()).min(1), reason: z.string(), action }).nullable(),
  /** Places (slots) with slow GPUs on many nodes: on how many, of how many, how much slower, and a sentence. */
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
   * The losses that are found in 99 of 100 cases, by kind of memory: of a GPU in any one cell, in all cells of the
   * kind, and below the reference of its kind of GPU; null if none would be found.
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
  /** One sentence if the group as a whole is below the reference; null otherwise, or without a reference. */
  slowAsAWhole: z.string().nullable(),
  /**
   * One sentence if there are too few nodes to find an outlier; null if there are enough.
   */
  tooFew: z.string().nullable(),
  /**
   * A sentence each: places of a GPU that are slower on all nodes, and nodes that differ from a larger group in only
   * one fact.
   */
  notes: z.array(z.string()),
});

const outlierCellSchema = z.object({
  ...figureKindSchema.shape,
  /** The GPU's figure; if the whole node is slow, the median of its GPUs. */
  figure,
  /** Centre of the group, or of the GPUs at the same place if places differ by design. */
  centre: figure,
  /** Relative change from the centre, always below 0: -0.1 is 10 % less bandwidth, or the equivalent latency. */
  change: z.number().min(-1).max(0),
  /** One-sided, after Holm's correction over all nodes and cells of the group. */
  adjustedPValue: z.number().min(0).max(1),
});

const outlierSchema = z.object({
  host: z.string(),
  group: count,
  /** The slow GPU's ordinal; null if the node as a whole is slow. */
  device: count.nullable(),
  uuid: z.string().nullable(),
  cells: z.array(outlierCellSchema).min(1),
  /** If no cell shows it alone: the kind of memory, its number of cells, and the median change over these. */
  together: z
    .object({ memory: z.string(), cells: count, change: z.number().min(-1).max(0) })
    .nullable()
    .default(null),
  /**
   * Since when it is slow: the start of the first of its node's consecutive results with the loss, and of the last
   * earlier one without it; null without any, or if unknown.
   */
  since: z
    .object({ startedAt: z.iso.datetime(), lastHealthy: z.iso.datetime().nullable() })
    .nullable()
    .default(null),
  /** Whether fresh processes on the node found it slow again; null if none measured it. */
  confirmed: z.boolean().nullable(),
  /** One sentence for people: what is slow, and how much. */
  reason: z.string(),
  action,
  /** Further evidence from its result, a sentence each: a link that is narrower than its group's, another governor. */
  evidence: z.array(z.string()),
});

/** The zod schema of the whole document. */
export const fleetSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("fleet"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  createdAt: z.iso.datetime(),
  /** Set if devices were emulated: their figures do not describe a GPU. */
  notice: z.string().nullable(),
  rule: z.object({
    /** For each group, the chance of an outlier although no node is slow. */
    significance: z.number().min(0).max(1),
    /** Smallest relative loss that is reported. */
    threshold: z.number().min(0).max(1),
  }),
  nodes: z.array(nodeSchema),
  groups: z.array(groupSchema),
  /**
   * Labels and facts that slow nodes share more often than by chance: number of slow nodes with it, and of all nodes.
   */
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
  /**
   * A sentence each on losses that may be noise, and on results that may mislead: GPUs with two hosts, wrong clocks, old
   * results, another driver.
   */
  doubts: z.array(z.string()).default([]),
  /** The slowest first; `cleared` has those that fresh processes found to be as fast as their group. */
  outliers: z.array(outlierSchema),
  /** GPUs and nodes that looked slow, but not in the fresh processes' measurements. */
  cleared: z.array(outlierSchema),
  /** Nodes that fresh processes should measure again: those of outliers, and those that may be slow. */
  suspects: z.array(z.string()),
});

/** The document of `fleet`. */
export type FleetDocument = z.infer<typeof fleetSchema>;
/** The action for a finding. */
export type FleetAction = z.infer<typeof action>;
/** A node and its state. */
export type FleetNode = z.infer<typeof nodeSchema>;
/** Like nodes. */
export type FleetGroup = z.infer<typeof groupSchema>;
export type FleetGroupCell = z.infer<typeof groupCellSchema>;
export type FigureKind = z.infer<typeof figureKindSchema>;
/** A GPU or a node that is slower than similar ones. */
export type FleetOutlier = z.infer<typeof outlierSchema>;

fleetSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:fleet-v1",
  title: "pinbench fleet, version 1",
  description:
    "Results of many nodes: groups of similar nodes, and the nodes and GPUs that are slower than their group.",
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
