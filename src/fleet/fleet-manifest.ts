import { z } from "zod";
import { count, nanoseconds } from "../results/schema-parts.js";

/**
 * The list in a folder that `fleet run` fills, `fleet-run.json`: the nodes that should measure, and the state of each.
 * It tells readers of the folder which nodes left no result. It is replaced as a whole.
 */

/** The list's file name. */
export const manifestName = "fleet-run.json";

/**
 * A folder next to the list with the results of fresh processes on slow nodes, and a list of its own: it confirms or
 * clears these nodes, and adds no second result of them.
 */
export const confirmationFolder = "confirm";

/** State of a node that should measure; "running" in the list of a run that has not ended, or was killed. */
export const launchStates = ["running", "measured", "failed", "wrong data", "late", "missing"] as const;

const launchedNodeSchema = z.object({
  /** The node's name for the scheduler or the user, which its result has too. */
  host: z.string().min(1),
  state: z.enum(launchStates),
  /** One sentence on why it is not `measured`; null if it is, and while it runs. */
  reason: z.string().nullable(),
  /** The name of its result in this folder; null without one. */
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
  /** Null while it runs, and if it was killed. */
  finishedAt: z.iso.datetime().nullable(),
  /** Time limit of each node; null without a deadline. */
  deadlineNs: nanoseconds.nullable(),
  /** The command that started one process per node, word for word. */
  launcher: z.array(z.string()),
  /** The exit status of that command; null if a signal ended it, or it has not ended. */
  launcherExit: count.nullable(),
  nodes: z.array(launchedNodeSchema),
});

/** The list in a folder of nodes' results. */
export type FleetManifest = z.infer<typeof fleetManifestSchema>;
/** A node that should measure, and its state. */
export type LaunchedNode = z.infer<typeof launchedNodeSchema>;
