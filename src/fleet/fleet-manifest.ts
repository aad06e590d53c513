import { dirname } from "node:path";
import { z } from "zod";
import { groupBy } from "../stats/group-by.js";
import { type NodeFigures, withoutFigures } from "./node-figures.js";

/**
 * `fleet-run.json` in the folder of `fleet run`: the nodes to measure and the state of each, so that readers know which
 * nodes left no result. It is replaced as a whole.
 */

export const manifestName = "fleet-run.json";

/**
 * A folder with the results of fresh processes on slow nodes, and their own list: they confirm or clear nodes, and are
 * no second results.
 */
export const confirmationFolder = "confirm";

const launchedNodeSchema = z.object({
  /** The node's name for the scheduler or the user; its result has the same. */
  host: z.string().min(1),
  /** "running" while the run has not ended, or if it was killed. */
  state: z.enum(["running", "measured", "failed", "wrong data", "late", "missing"]),
  /** A sentence on why it is not `measured`; null if it is or still runs. */
  reason: z.string().nullable(),
  file: z
    .string()
    .regex(/^[^/]*\.json$/)
    .nullable(),
});

export const fleetManifestSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("fleet-run"),
  startedAt: z.iso.datetime(),
  /** Null while the run is running, or if it was killed. */
  finishedAt: z.iso.datetime().nullable(),
  nodes: z.array(launchedNodeSchema),
});

export type FleetManifest = z.infer<typeof fleetManifestSchema>;
export type LaunchedNode = z.infer<typeof launchedNodeSchema>;

export type Launch = FleetManifest & { folder: string };

/**
 * Nodes without a result of their latest launch or later, each as in that launch. Older results do not count, because
 * they would hide a later failure.
 */
export function absentNodes(launches: readonly Launch[], read: readonly NodeFigures[]): NodeFigures[] {
  const readOf = groupBy(read, ({ host }) => host);
  const inOrder = launches.toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
  const latest = new Map(
    inOrder.flatMap(({ nodes, ...launch }) => nodes.map((node) => [node.host, { ...launch, node }] as const)),
  );
  return [...latest.values()].flatMap(({ node, folder, startedAt }) => {
    const ofHost = readOf.get(node.host) ?? [];
    if (ofHost.some((one) => dirname(one.file!) === folder || one.startedAt! >= startedAt)) return [];
    const notes = ofHost.length === 0 ? [] : ["an older result of it does not count"];
    return [{ ...withoutFigures(node.host), ...stateOf(node), notes }];
  });
}

function stateOf({ state, reason }: LaunchedNode): Pick<NodeFigures, "state" | "reason"> {
  if (state === "running") return { state: "late", reason: "it had not finished when the run ended" };
  if (state === "measured") return { state: "missing", reason: "its result is gone, or cannot be read" };
  return { state, reason: reason ?? "no reason is known" };
}
