import { dirname } from "node:path";
import { z } from "zod";
import { groupBy } from "../draw/report.js";
import { count, nanoseconds } from "../settings/schema-parts.js";
import type { NodeFigures } from "./node-figures.js";

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

/** A list with its folder. */
type Launch = Pick<FleetManifest, "nodes" | "startedAt"> & { folder: string };

/**
 * The nodes of these launches of which no result counts, each as in its latest launch: those without any result there
 * or later, because older ones would hide a later failure. An unreadable file hides none either, as nothing is known of
 * it: it becomes a note. If the launch does not know of a failure, its own unreadable file is the reason.
 */
export function absentNodes(launches: readonly Launch[], read: readonly NodeFigures[]): NodeFigures[] {
  const readOf = groupBy(read, ({ host }) => host);
  const latest = new Map<string, { node: LaunchedNode; folder: string; startedAt: string }>();
  for (const { folder, nodes, startedAt } of launches) {
    for (const node of nodes) {
      const other = latest.get(node.host);
      if (other === undefined || other.startedAt < startedAt)
        latest.set(node.host, { node, folder, startedAt });
    }
  }
  return [...latest.values()].flatMap(({ node, folder, startedAt }) => {
    const ofHost = readOf.get(node.host) ?? [];
    const isHere = ({ file }: NodeFigures) => file !== null && dirname(file) === folder;
    const readable = ofHost.filter((one) => one.startedAt !== null);
    if (readable.some((one) => isHere(one) || one.startedAt! >= startedAt)) return [];
    const unreadable = ofHost.filter((one) => one.startedAt === null);
    const hasFailed = node.state !== "measured" && node.state !== "running";
    const own = hasFailed ? undefined : unreadable.find(isHere);
    const others = unreadable.filter((one) => one !== own);
    const notes = [
      ...(readable.length === 0 ? [] : ["an older result of it does not count"]),
      ...others.map(({ reason }) => reason ?? ""),
    ];
    return [{ ...(own ?? absentNode(node, folder)), notes }];
  });
}

function absentNode({ host, state, reason }: LaunchedNode, folder: string): NodeFigures {
  const node = withoutFigures(host);
  if (state === "running") {
    return { ...node, state: "late", reason: reason ?? "it had not finished when the run ended" };
  }
  if (state === "measured") {
    return { ...node, state: "missing", reason: reason ?? `its result is not in ${folder} any more` };
  }
  return { ...node, state, reason: reason ?? "no reason is known" };
}

/** A node of which no result was read. */
export function withoutFigures(host: string): Omit<NodeFigures, "state" | "reason"> {
  return {
    ...{ host, file: null, runId: null, startedAt: null, wallNs: null, notice: null },
    ...{ labels: {}, facts: {}, devices: [], notes: [] },
  };
}
