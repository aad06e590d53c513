import { z } from "zod";
import { count, nanoseconds, ratio } from "../results/schema-parts.js";

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

const nodeSchema = z.object({
  host: z.string(),
  state: z.enum(nodeStates),
  /** One sentence: why it is not `measured`; null where it is. */
  reason: z.string().nullable(),
  /** The file that was read; null where there is none. */
  file: z.string().nullable(),
  runId: z.string().nullable(),
  startedAt: z.iso.datetime().nullable(),
  wallNs: nanoseconds.nullable(),
  labels: z.record(z.string(), z.string()),
  /** The index in `groups` of the nodes that it is like; null where it has no figures. */
  group: count.nullable(),
  devices: z.array(z.object({ ordinal: count, name: z.string(), uuid: z.string().nullable() })),
});

/** A cell of a group: where its GPUs stand. The cell is a cell id without its device: "h2d/pinned/67108864/w1/…". */
const groupCellSchema = z.object({
  cell: z.string(),
  unit: z.enum(["GB/s", "us"]),
  /** GPUs with a figure. */
  figures: count,
  /** Median over the group. */
  centre: z.number(),
  lowest: z.number(),
  highest: z.number(),
  /** Standard deviation of the logarithm between healthy GPUs, as assumed: median absolute deviation, at least the floor. */
  logDeviation: z.number().nonnegative(),
  /** The centre as a share of what healthy machines of the kind reach; null where there is no reference. */
  shareOfReference: ratio.nullable(),
});

const groupSchema = z.object({
  /** What its nodes have in common, a string a fact, as a result's fingerprint has it. */
  facts: z.record(z.string(), z.string().nullable()),
  nodes: count,
  devices: count,
  cells: z.array(groupCellSchema),
  /** One sentence where the group as a whole is below the reference; null where it is not, or there is none. */
  slowAsAWhole: z.string().nullable(),
  /** One sentence where there are too few nodes to tell an outlier, with what could be found; null where there are enough. */
  tooFew: z.string().nullable(),
});

const outlierCellSchema = z.object({
  cell: z.string(),
  unit: z.enum(["GB/s", "us"]),
  figure: z.number(),
  centre: z.number(),
  /** How much slower than the centre, always below 0: -0.1 is 10 % less bandwidth, or the like of latency. */
  change: z.number(),
  /** One-sided, after Holm's correction over all nodes and cells of the group. */
  adjustedPValue: z.number(),
});

const outlierSchema = z.object({
  host: z.string(),
  group: count,
  /** The slow GPU's ordinal; null where the node as a whole is slow. */
  device: count.nullable(),
  uuid: z.string().nullable(),
  cells: z.array(outlierCellSchema).min(1),
  /** Whether fresh processes on the node found it slow again; null where none did measure. */
  confirmed: z.boolean().nullable(),
  /** One sentence for people: what is slow, and by how much. */
  reason: z.string(),
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
    significance: z.number(),
    /** The least relative loss that is told. */
    threshold: z.number(),
  }),
  nodes: z.array(nodeSchema),
  groups: z.array(groupSchema),
  /** The slowest first. */
  outliers: z.array(outlierSchema),
});

/** What `fleet` says of many nodes. */
export type FleetDocument = z.infer<typeof fleetSchema>;
/** A node, and what became of it. */
export type FleetNode = z.infer<typeof nodeSchema>;
/** Nodes that are alike. */
export type FleetGroup = z.infer<typeof groupSchema>;
/** A GPU, or a node, that is slower than those that are like it. */
export type FleetOutlier = z.infer<typeof outlierSchema>;

fleetSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:fleet-v1",
  title: "pinbench fleet, version 1",
  description:
    "Many nodes beside each other: groups of like ones, and which nodes and GPUs are slower than their group.",
});
