import { z } from "zod";
import { directionsMoved } from "../settings/choices.js";
import { count, leastFigure, mostFigure, nanoseconds, ratio } from "../settings/schema-parts.js";

/**
 * The fleet document, `schemaVersion: 1`: `fleet` prints it with `--format json`, and all its other outputs are made
 * from it. schema/fleet-v1.json is generated from here (`npm run schema`). Unknown values are null.
 */

/**
 * The state of a node: `measured`, `incomplete` (a GPU is missing, or failed in some cells), or why there is no valid
 * result.
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

/** What to do: keep jobs away, reset the GPU or the node, watch it, or nothing. */
const action = z.enum(["isolate", "reset", "monitor", "none"]).default("none");

const nodeSchema = z.object({
  /** Its host name; without one, the path of its file. */
  host: z.string(),
  state: z.enum(nodeStates),
  /** A sentence on why it is not `measured`; null if it is. */
  reason: z.string().nullable(),
  /** The action for its state; slow GPUs and slow parts have actions of their own. */
  action,
  /** The file of its result; null without one. */
  file: z.string().nullable(),
  /** The run of its figures; the latest if several processes were joined. */
  runId: z.string().nullable(),
  startedAt: z.iso.datetime().nullable(),
  wallNs: nanoseconds.nullable(),
  labels: z.record(z.string(), z.string()),
  /** Index of its group in `groups`; null without figures. */
  group: count.nullable(),
  /** Whether it could be compared, with a reference or with other nodes. */
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
  /** One sentence each: GPUs or figures that its group has but it lacks, and ignored results. */
  notes: z.array(z.string()),
});

/** In GB/s or microseconds; above 0, because ratios are computed. */
const figure = z.number().min(leastFigure).max(mostFigure);

/** A relative change of speed below 0: -0.1 is 10 % less bandwidth, or the equivalent change of latency. */
const loss = z.number().min(-1).max(0);

const figureKindSchema = z.object({
  /** A cell id without its device: "h2d/pinned/67108864/w1/throughput/cold". */
  cell: z.string(),
  /** The measured direction: one of a bidir cell's, otherwise that of the cell. */
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
  /** Facts that its nodes share, as in a result's fingerprint. */
  facts: z.record(z.string(), z.string().nullable()),
  nodes: count,
  devices: count,
  cells: z.array(groupCellSchema),
  /** The slower part of the nodes, if they split in two and no reference shows which part is healthy; else null. */
  slowPart: z
    .object({ hosts: z.array(z.string()).min(1), change: loss, reason: z.string(), action })
    .nullable(),
  /** Losses from which on a node or a GPU counts as slow, by series of copies; null if nothing can be compared. */
  bounds: z.array(
    z.object({
      copies: z.string(),
      kind: z.enum(["pinned", "copiesByCpu"]),
      node: ratio.nullable(),
      gpu: ratio.nullable(),
      reference: ratio.nullable(),
    }),
  ),
  /** One sentence each: slots that are slower on all nodes, and links with a lower best speed than a larger group. */
  notes: z.array(z.string()),
});

const outlierCellSchema = z.object({
  ...figureKindSchema.shape,
  /** The GPU's figure; if the whole node is slow, the median of its GPUs. */
  figure,
  /** Median of the GPUs that it is compared with, or the rate of healthy machines. */
  expected: figure,
  change: loss,
});

const outlierSchema = z.object({
  host: z.string(),
  group: count,
  /** Ordinal of the slow GPU; null if the whole node is slow. */
  device: count.nullable(),
  uuid: z.string().nullable(),
  /** What it is slower than: healthy machines, or similar GPUs. */
  against: z.enum(["reference", "group"]),
  /** The largest loss first. */
  cells: z.array(outlierCellSchema).min(1),
  /**
   * When it became slow: the start of the earliest result since which all of the node's are slow, and that of the last
   * result that was not slow, if any; null without older results.
   */
  since: z
    .object({ startedAt: z.iso.datetime(), lastHealthy: z.iso.datetime().nullable() })
    .nullable()
    .default(null),
  /** Whether fresh processes on the node found it slow too; null if none measured it. */
  confirmed: z.boolean().nullable(),
  action,
  /** Further evidence from its result, one sentence each: a narrower link than its group's, another governor. */
  evidence: z.array(z.string()),
});

export const fleetSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("fleet"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  createdAt: z.iso.datetime(),
  /** Set for emulated devices, whose figures are not a GPU's. */
  notice: z.string().nullable(),
  /** The smallest relative losses that are reported, by kind of copies. */
  rule: z.object({ pinned: z.number().min(0).max(1), copiesByCpu: z.number().min(0).max(1) }),
  nodes: z.array(nodeSchema),
  groups: z.array(groupSchema),
  /** One sentence each: facts that only slow nodes share, and nodes without a new result. */
  notes: z.array(z.string()),
  /** Slowest first. */
  outliers: z.array(outlierSchema),
  /** GPUs and nodes that looked slow, but were not in fresh processes. */
  cleared: z.array(outlierSchema),
  /** Nodes to measure again with fresh processes: outliers and nodes of smaller parts. */
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

export function factName(fact: string): string {
  const words = fact.replaceAll(/[A-Z]/g, (sign) => ` ${sign.toLowerCase()}`);
  return words.replaceAll(/\b(?:cpu|gpu|numa)/g, (word) => word.toUpperCase());
}
