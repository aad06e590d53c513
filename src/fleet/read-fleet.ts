import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { PinbenchError } from "../errors.js";
import { checkedFigures, withoutSamples } from "../results/parse-figures.js";
import { cannotRead, isObject, parseJson, readTextFile } from "../text-file.js";
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
const otherKinds = ["comparison", "tuning", "history", "baseline", "diagnosis", "fleet", "fleet-run"];

/**
 * Reads results of nodes from files and folders, these with all folders below them. One file is held in memory at a time,
 * and of each only its figures stay. Other documents of pinbench's in a folder are passed over; a file that cannot be
 * read, or is no result, is a node "unreadable" that is called by the file's name. The lists of `fleet run` say how nodes are called, and
 * which left no result. Rejects with a usage error where a path cannot be read at all, or none of them has a result.
 */
export async function readFleet(paths: readonly string[]): Promise<FleetFigures> {
  const files: string[] = [];
  for (const path of paths) files.push(...(await filesOf(path)));
  const lists = new Map<string, FleetManifest | null>();
  for (const file of files.filter((one) => basename(one) === manifestName)) {
    lists.set(dirname(file), await readManifest(file));
  }
  const first: NodeFigures[] = [];
  const fresh: NodeFigures[] = [];
  for (const file of new Set(files)) {
    if (basename(file) === manifestName) continue;
    const launched = lists.get(dirname(file))?.nodes.find((node) => node.file === basename(file));
    const node = await readNode(file, launched);
    if (node !== null) (isConfirmation(dirname(file), lists) ? fresh : first).push(node);
  }
  const results = first.length + fresh.length;
  const absent = [...lists]
    .filter(([folder]) => !isConfirmation(folder, lists))
    .flatMap(([folder, list]) => (list?.nodes ?? []).flatMap((node) => absentNode(node, folder, first)));
  if (results + absent.length === 0) {
    throw new PinbenchError("usage", `there is no result of a node in ${paths.join(", ")}.`, {
      hint: "Give files that `pinbench run --output` wrote on each node, or the folder that has them.",
    });
  }
  return { nodes: joinResults([...first, ...absent]), fresh: joinResults(fresh), results };
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
      .filter(({ name }) => name.endsWith(".json") && !name.startsWith("."))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
  );
}

/** Null where it is no list: that a run was killed while it wrote must not keep anybody from what nodes measured. */
async function readManifest(file: string): Promise<FleetManifest | null> {
  try {
    return fleetManifestSchema.parse(parseJson(await readTextFile(file), file));
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

/** A node of a list that left no result, or of which the list knows better than its result. */
function absentNode(node: LaunchedNode, folder: string, read: readonly NodeFigures[]): NodeFigures[] {
  const { host, state, reason } = node;
  if (read.some((one) => one.host === host)) return [];
  if (state === "running") {
    const why = "it had not finished when the run ended";
    return [{ ...withoutFigures(host), state: "late", reason: reason ?? why }];
  }
  if (state === "measured") {
    const why = `its result is not in ${folder} any more`;
    return [{ ...withoutFigures(host), state: "missing", reason: reason ?? why }];
  }
  return [{ ...withoutFigures(host), state, reason: reason ?? "no reason is known" }];
}

function withoutFigures(host: string): Omit<NodeFigures, "state" | "reason"> {
  return {
    ...{ host, file: null, runId: null, startedAt: null, wallNs: null, notice: null },
    ...{ labels: {}, facts: {}, devices: [], notes: [] },
  };
}
