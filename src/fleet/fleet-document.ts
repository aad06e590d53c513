import { z } from "zod";
import { directionsMoved } from "../settings/choices.js";
import { count, leastFigure, mostFigure, nanoseconds, ratio } from "../settings/schema-parts.js";

/**
 * The fleet document, `schemaVersion: 1`: `fleet` prints it with `--format json`, and all its other outputs are made
 * from it. schema/fleet-v1.json is generated from here (`npm run schema`). Unknown values are null.
 */

/**
 * The state of a node: `measured`; `incomplete` (measured, but it lacks a GPU, or a GPU failed in some cells); or why it
 * has no valid result.
 */
export const nodeStates = [
  "measured",
  "wrong data",
  "incomplete",
  "failed",
  "late",
  "missing",
  "unreadable",
] as const;

/** What to do: keep jobs away, reset the GPU or the node, look again later, or nothing. */
const action = z.enum(["isolate", "reset", "monitor", "none"]).default("none");

const nodeSchema = z.object({
  /** Its host name; without one, the path of its file. */
  host: z.string(),
  state: z.enum(nodeStates),
  /** One sentence on why it is not `measured`; null otherwise. */
  reason: z.string().nullable(),
  /** The action for its state. Slow GPUs and parts have actions of their own. */
  action,
  /** The file that was read; null without one. */
  file: z.string().nullable(),
  /** The run of its figures; the latest if several processes of one session were joined. */
  runId: z.string().nullable(),
  startedAt: z.iso.datetime().nullable(),
  wallNs: nanoseconds.nullable(),
  labels: z.record(z.string(), z.string()),
  /** Index of its group in `groups`; null without figures. */
  group: count.nullable(),
  /** Whether a reference or other nodes show if it is slow. */
  compared: z.boolean(),
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

/** A relative change of speed below 0: -0.1 is 10 % less bandwidth, or the equivalent latency. */
const loss = z.number().min(-1).max(0);

const figureKindSchema = z.object({
  /** A cell id without its device: "h2d/pinned/67108864/w1/throughput/cold". */
  cell: z.string(),
  /** The direction of the figure: one direction of a bidir cell, otherwise that of the cell. */
  moved: z.enum(directionsMoved),
  unit: z.enum(["GB/s", "us"]),
});

const groupCellSchema = z.object({
  ...figureKindSchema.shape,
  /** One figure per GPU, in the order of the group's `nodes` and their `devices`; null without a figure. */
  values: z.array(figure.nullable()),
  figures: count,
  median: figure,
  lowest: figure,
  highest: figure,
  /** The median as a share of a healthy machine's rate; null without a reference for the kind of GPU. */
  shareOfReference: ratio.nullable(),
});

const groupSchema = z.object({
  /** Facts that its nodes share, one string each, as in a result's fingerprint. */
  facts: z.record(z.string(), z.string().nullable()),
  nodes: count,
  devices: count,
  cells: z.array(groupCellSchema),
  /** The slower of two parts of the nodes, whose cause is not known; null without parts. */
  slowPart: z
    .object({ hosts: z.array(z.string()).min(1), change: loss, reason: z.string(), action })
    .nullable(),
  /** The losses from which on a node or a GPU is slow, by kind of copies; null if nothing can be compared. */
  bounds: z.array(
    z.object({
      copies: z.string(),
      kind: z.enum(["pinned", "copiesByCpu"]),
      node: ratio.nullable(),
      gpu: ratio.nullable(),
      reference: ratio.nullable(),
    }),
  ),
  /** A sentence each: slots that are slower on all nodes, and links that can do less than those of a larger group. */
  notes: z.array(z.string()),
});

const outlierCellSchema = z.object({
  ...figureKindSchema.shape,
  /** The GPU's figure; if the whole node is slow, the median of its GPUs. */
  figure,
  /** The median of the GPUs that it is compared with, or the rate of healthy machines. */
  expected: figure,
  change: loss,
});

const outlierSchema = z.object({
  host: z.string(),
  group: count,
  /** The slow GPU's ordinal; null if the node as a whole is slow. */
  device: count.nullable(),
  uuid: z.string().nullable(),
  /** Whether it is slower than healthy machines of its kind, or than similar GPUs. */
  against: z.enum(["reference", "group"]),
  /** The largest loss first. */
  cells: z.array(outlierCellSchema).min(1),
  /**
   * Since when it is slow: the start of the first of its node's consecutive slow results, and of the last earlier one
   * that was not; null with one result.
   */
  since: z
    .object({ startedAt: z.iso.datetime(), lastHealthy: z.iso.datetime().nullable() })
    .nullable()
    .default(null),
  /** Whether fresh processes on the node found it slow again; null if none measured it. */
  confirmed: z.boolean().nullable(),
  action,
  /** Further evidence from its result, a sentence each: a link that is narrower than its group's, another governor. */
  evidence: z.array(z.string()),
});

export const fleetSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("fleet"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  createdAt: z.iso.datetime(),
  /** Set if devices were emulated: their figures do not describe a GPU. */
  notice: z.string().nullable(),
  /** The smallest relative losses that are reported, by kind of copies. */
  rule: z.object({ pinned: z.number().min(0).max(1), copiesByCpu: z.number().min(0).max(1) }),
  nodes: z.array(nodeSchema),
  groups: z.array(groupSchema),
  /** A sentence each: what all slow nodes have and no other, and nodes without a new result. */
  notes: z.array(z.string()),
  /** The slowest first; `cleared` has those that fresh processes found to be as fast as their group. */
  outliers: z.array(outlierSchema),
  /** GPUs and nodes that looked slow, but not in the fresh processes' measurements. */
  cleared: z.array(outlierSchema),
  /** Nodes that fresh processes should measure again: those of outliers and of smaller parts. */
  suspects: z.array(z.string()),
});

export type FleetDocument = z.infer<typeof fleetSchema>;
export type FleetAction = z.infer<typeof action>;
export type FleetNode = z.infer<typeof nodeSchema>;
export type FleetGroup = z.infer<typeof groupSchema>;
export type FleetGroupCell = z.infer<typeof groupCellSchema>;
export type FigureKind = z.infer<typeof figureKindSchema>;
export type FleetOutlier = z.infer<typeof outlierSchema>;

fleetSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:fleet-v1",
  title: "pinbench fleet, version 1",
  description:
    "Results of many nodes: groups of similar nodes, and the nodes and GPUs that are slower than their group.",
});

/** A fact's name in a sentence: "NUMA nodes", "link under load". */
export function factName(fact: string): string {
  const words = fact.replaceAll(/[A-Z]/g, (sign) => ` ${sign.toLowerCase()}`);
  return words.replaceAll(/\b(?:cpu|gpu|numa)/g, (word) => word.toUpperCase());
}
