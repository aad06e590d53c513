import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { PinbenchError } from "../errors.js";
import { checkedFigures, withoutSamples } from "../results/parse-figures.js";
import { cannotRead, checkShape, isObject, parseJson, readTextFile } from "../text-file.js";
import {
  confirmationFolder,
  type FleetManifest,
  fleetManifestSchema,
  type LaunchedNode,
  manifestName,
} from "./fleet-manifest.js";
import { joinResults } from "./join-results.js";
import { figuresOfNode, type NodeFigures } from "./node-figures.js";

/** What was read of a fleet. */
export interface FleetFigures {
  /** Each host once, sorted by name. */
  nodes: readonly NodeFigures[];
  /** What fresh processes measured on suspects, each host once. */
  fresh: readonly NodeFigures[];
  /** Results that were read. */
  results: number;
}

/** Kinds of pinbench's documents that may lie beside results, and are none. */
const otherKinds = [
  "comparison",
  "tuning",
  "history",
  "baseline",
  "diagnosis",
  "explanation",
  "pinning",
  "fleet",
  "fleet-run",
];

/**
 * Reads results of nodes from files and folders, these with all folders below them. A few files are held in memory at a time,
 * and of each only its figures stay. Other documents of pinbench's in a folder are passed over; a file that cannot be
 * read, or is no result, is a node "unreadable" that is called by the file's name. The lists of `fleet run` say how nodes are called, and
 * which left no result. Results from before `since` (ISO 8601, UTC) do not count. Rejects with a usage error where a path cannot be read at all, or none of them has a result.
 */
export async function readFleet(
  paths: readonly string[],
  since: string | null = null,
): Promise<FleetFigures> {
  const files: string[] = [];
  for (const path of paths) files.push(...(await filesOf(path)));
  const lists = new Map<string, FleetManifest | null>();
  for (const file of files.filter((one) => basename(one) === manifestName)) {
    lists.set(dirname(file), await readManifest(file));
  }
  const nodeFiles = [...new Set(files)].filter((file) => basename(file) !== manifestName);
  const launchedOf = new Map(
    [...lists].flatMap(([folder, list]) =>
      (list?.nodes ?? []).flatMap((node) =>
        node.file === null ? [] : [[join(folder, node.file), node] as const],
      ),
    ),
  );
  const read = await mapSome(nodeFiles, async (file) => {
    const launched = launchedOf.get(file);
    return { isFresh: isConfirmation(dirname(file), lists), node: await readNode(file, launched) };
  });
  const nodesOf = (fresh: boolean) =>
    read.flatMap(({ isFresh, node }) => (isFresh === fresh && isSince(node, since) ? (node ?? []) : []));
  const first = nodesOf(false);
  const fresh = nodesOf(true);
  const results = first.length + fresh.length;
  const absent = absentNodes(
    [...lists].filter(([folder]) => !isConfirmation(folder, lists)),
    first,
  );
  if (results + absent.length === 0) {
    throw new PinbenchError("usage", `there is no result of a node in ${paths.join(", ")}.`, {
      hint: "Give files that `pinbench run --output` wrote on each node, or the folder that has them.",
    });
  }
  const later = new Set(absent.map(({ host }) => host));
  const counting = first.filter(({ host }) => !later.has(host));
  return { nodes: joinResults([...counting, ...absent]), fresh: joinResults(fresh), results };
}

/** Whether it began then or later. A file that cannot be read has no time, and counts. */
function isSince(node: NodeFigures | null, since: string | null): boolean {
  return since === null || node?.startedAt == null || node.startedAt >= since;
}

/** Files that are read at once: while one is taken apart, others come from the disk or the network. */
const readersAtOnce = 4;

/** Results of an action on each, in their order, with a few under way at a time. */
async function mapSome<T, R>(items: readonly T[], action: (item: T) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(items.length);
  const entries = items.entries();
  const readers = Array.from({ length: readersAtOnce }, async () => {
    // All readers draw from one iterator.
    for (const [index, item] of entries) results[index] = await action(item);
  });
  await Promise.all(readers);
  return results;
}

/** A folder named "confirm" confirms what lies beside it where that has a list. */
function isConfirmation(folder: string, lists: ReadonlyMap<string, unknown>): boolean {
  return basename(folder) === confirmationFolder && lists.has(dirname(folder));
}

/** The JSON files at a path, sorted by name; hidden ones and those that are still being written are none. */
async function filesOf(path: string): Promise<string[]> {
  const info = await stat(path).catch((cause: unknown) => {
    throw cannotRead(path, cause);
  });
  if (!info.isDirectory()) return [path];
  const entries = await readdir(path, { withFileTypes: true, recursive: true }).catch((cause: unknown) => {
    throw cannotRead(path, cause);
  });
  return (
    entries
      // Reading a fifo would wait without end.
      .filter((entry) => entry.isFile() || entry.isSymbolicLink())
      .map((entry) => join(relative(path, entry.parentPath), entry.name))
      .filter((name) => name.endsWith(".json") && !isHidden(name))
      .map((name) => join(path, name))
      .sort()
  );
}

/** Also what lies in a hidden folder, such as that through which a run that is not over speaks with its nodes. */
function isHidden(name: string): boolean {
  return name.split(sep).some((part) => part.startsWith("."));
}

/** Null where it is no list: that a run was killed while it wrote must not keep anybody from what nodes measured. */
async function readManifest(file: string): Promise<FleetManifest | null> {
  try {
    return checkShape(fleetManifestSchema, parseJson(await readTextFile(file), file)).data ?? null;
  } catch {
    return null;
  }
}

/** Null for another document of pinbench's than a result. */
async function readNode(file: string, launched: LaunchedNode | undefined): Promise<NodeFigures | null> {
  try {
    const value = parseJson(withoutSamples(await readTextFile(file)), file);
    if (isObject(value) && otherKinds.includes(String(value.kind))) return null;
    return figuresOfNode(checkedFigures(value, file), file, launched?.host);
  } catch (error) {
    if (!(error instanceof PinbenchError)) throw error;
    const host = launched?.host ?? basename(file, ".json");
    return { ...withoutFigures(host), state: "unreadable", reason: error.message, file };
  }
}

/**
 * The nodes of the lists of launches, by their folders, that left no result there: each that has no result elsewhere, or only
 * older ones, which would hide that it has failed since. A host is in it once, as its latest list has it.
 */
function absentNodes(
  lists: readonly (readonly [string, FleetManifest | null])[],
  read: readonly NodeFigures[],
): NodeFigures[] {
  const absent = new Map<string, NodeFigures>();
  const readOf = new Map<string, NodeFigures[]>();
  for (const one of read) {
    const ofHost = readOf.get(one.host);
    if (ofHost === undefined) readOf.set(one.host, [one]);
    else ofHost.push(one);
  }
  const latestFirst = lists
    .flatMap(([folder, list]) => (list === null ? [] : [{ folder, ...list }]))
    .sort((a, b) => b.startedAt.localeCompare(a.startedAt));
  for (const { folder, nodes, startedAt } of latestFirst) {
    for (const node of nodes) {
      const ofHost = readOf.get(node.host) ?? [];
      const isHere = ofHost.some(({ file }) => file !== null && dirname(file) === folder);
      const isLater = ofHost.some((one) => one.startedAt === null || one.startedAt >= startedAt);
      if (isHere || isLater || absent.has(node.host)) continue;
      absent.set(node.host, absentNode(node, folder, ofHost.length > 0));
    }
  }
  return [...absent.values()];
}

function absentNode({ host, state, reason }: LaunchedNode, folder: string, hasOlder: boolean): NodeFigures {
  const node = {
    ...withoutFigures(host),
    notes: hasOlder ? ["an older result of it does not count"] : [],
  };
  if (state === "running") {
    return { ...node, state: "late", reason: reason ?? "it had not finished when the run ended" };
  }
  if (state === "measured") {
    return { ...node, state: "missing", reason: reason ?? `its result is not in ${folder} any more` };
  }
  return { ...node, state, reason: reason ?? "no reason is known" };
}

function withoutFigures(host: string): Omit<NodeFigures, "state" | "reason"> {
  return {
    ...{ host, file: null, runId: null, startedAt: null, wallNs: null, notice: null },
    ...{ labels: {}, facts: {}, devices: [], notes: [] },
  };
}
