import { z } from "zod";
import { count, nanoseconds } from "../results/schema-parts.js";

/**
 * The list of a folder that `fleet run` fills, `fleet-run.json`: which nodes were to measure, and what became of each.
 * Whoever reads the folder learns from it of the nodes that have left no result. It is replaced whole.
 */

/** The list's name in its folder. */
export const manifestName = "fleet-run.json";

/**
 * The folder beside the list that has what fresh processes measured on nodes that looked slow, with a list of its own:
 * it confirms or clears them, and is no second result of these nodes.
 */
export const confirmationFolder = "confirm";

/** What became of a node that was to measure; "running" in a list whose run is not over, or was killed. */
export const launchStates = ["running", "measured", "failed", "wrong data", "late", "missing"] as const;

const launchedNodeSchema = z.object({
  /** As the scheduler or the user calls the node: what its result must be called too. */
  host: z.string().min(1),
  state: z.enum(launchStates),
  /** One sentence: why it is not `measured`; null where it is, and while it runs. */
  reason: z.string().nullable(),
  /** The name of its result in this folder; null where there is none. */
  file: z
    .string()
    .regex(/^[^/]*\.json$/)
    .nullable(),
});

/** The zod schema of the list. */
export const fleetManifestSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("fleet-run"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  startedAt: z.iso.datetime(),
  /** Null while it runs, and where it was killed. */
  finishedAt: z.iso.datetime().nullable(),
  /** How long nodes had; null without a deadline. */
  deadlineNs: nanoseconds.nullable(),
  /** The command that started one process a node, word for word. */
  launcher: z.array(z.string()),
  /** The exit status of that command; null where a signal ended it, or it has not ended. */
  launcherExit: count.nullable(),
  nodes: z.array(launchedNodeSchema),
});

/** The list of a folder of nodes' results. */
export type FleetManifest = z.infer<typeof fleetManifestSchema>;
/** A node that was to measure, and what became of it. */
export type LaunchedNode = z.infer<typeof launchedNodeSchema>;
