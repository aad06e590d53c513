import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { timeText } from "../draw/words.js";
import { PinbenchError } from "../errors.js";
import { checkedFigures, withoutSamples } from "../results/parse.js";
import { cannotRead, isObject, parseJson, readTextFile } from "../text-file.js";
import {
  absentNodes,
  confirmationFolder,
  fleetManifestSchema,
  type Launch,
  manifestName,
} from "./fleet-manifest.js";
import { joinResults } from "./join-results.js";
import { figuresOfNode, fileName, type NodeFigures, withoutFigures } from "./node-figures.js";

interface FleetFigures {
  nodes: readonly NodeFigures[];
  /** Figures of fresh processes on nodes that looked slow, one per host. */
  fresh: readonly NodeFigures[];
  /** Hosts whose results are all from before `since`. */
  leftOut: readonly string[];
}

/**
 * Reads nodes' results from files and folders, including subfolders, with only a few files in memory. Skips other
 * documents of pinbench. A file that is unreadable or no result becomes an "unreadable" node, named by its path. The
 * lists of `fleet run` name nodes and show which left no result. Ignores results from before `since` (ISO 8601, UTC).
 * Rejects with a usage error if a path cannot be read or no result counts.
 */
export async function readFleet(
  paths: readonly string[],
  since: string | null = null,
): Promise<FleetFigures> {
  const files = new Set<string>();
  for (const path of paths) for (const file of await filesOf(path)) files.add(file);
  const launches = await readLaunches(files);
  const read = await readEach(
    [...files].filter((file) => basename(file) !== manifestName),
    readNode,
  );
  // An unreadable file has no time, so it counts.
  const counts = (startedAt: string | null) => since === null || startedAt === null || startedAt >= since;
  const listed = new Set(launches.map(({ folder }) => folder));
  const isFresh = ({ file }: NodeFigures) => isConfirmation(dirname(file!), listed);
  const counting = read.filter(({ startedAt }) => counts(startedAt));
  const first = counting.filter((node) => !isFresh(node));
  const absent = absentNodes(
    launches.filter(({ folder, startedAt, finishedAt }) => {
      return !isConfirmation(folder, listed) && counts(finishedAt ?? startedAt);
    }),
    read.filter((node) => !isFresh(node)),
  );
  const known = new Set([...first, ...absent].map(({ host }) => host));
  const leftOut = new Set(read.map(({ host }) => host).filter((host) => !known.has(host)));
  if (known.size === 0) {
    const from = leftOut.size === 0 ? "" : ` from ${timeText(since!)} on`;
    throw new PinbenchError("usage", `there is no result of a node${from} in ${paths.join(", ")}.`, {
      hint: "Give files that `pinbench run --output` wrote on each node, or the folder that has them.",
    });
  }
  const gone = new Set(absent.map(({ host }) => host));
  return {
    nodes: joinResults([...first.filter(({ host }) => !gone.has(host)), ...absent]),
    fresh: joinResults(counting.filter(isFresh)),
    leftOut: [...leftOut],
  };
}

/** Results of `action` for each file, without nulls. While one file is parsed, others are read. */
async function readEach<R>(
  files: readonly string[],
  action: (file: string) => Promise<R | null>,
): Promise<R[]> {
  const atOnce = 8;
  const results: R[] = [];
  for (let at = 0; at < files.length; at += atOnce) {
    const some = await Promise.all(files.slice(at, at + atOnce).map(action));
    results.push(...some.filter((one) => one !== null));
  }
  return results;
}

/** Whether results in a folder named "confirm" confirm those next to it, which needs a list there. */
function isConfirmation(folder: string, listed: ReadonlySet<string>): boolean {
  return basename(folder) === confirmationFolder && listed.has(dirname(folder));
}

/** JSON files at a path, sorted by name, without hidden ones, such as those of a running fleet. */
async function filesOf(path: string): Promise<string[]> {
  const info = await stat(path).catch((cause: unknown) => {
    throw cannotRead(path, cause);
  });
  if (!info.isDirectory()) return [path];
  const entries = await readdir(path, { withFileTypes: true, recursive: true }).catch((cause: unknown) => {
    throw cannotRead(path, cause);
  });
  // Only files and links: reading a fifo would never end.
  return entries
    .filter((entry) => entry.isFile() || entry.isSymbolicLink())
    .map((entry) => join(relative(path, entry.parentPath), entry.name))
    .filter((name) => name.endsWith(".json") && !name.split(sep).some((part) => part.startsWith(".")))
    .map((name) => join(path, name))
    .sort();
}

/** The lists of `fleet run`. Skips invalid ones, because a killed run must not hide the nodes' results. */
async function readLaunches(files: Iterable<string>): Promise<Launch[]> {
  const lists = [...files].filter((file) => basename(file) === manifestName);
  return readEach(lists, async (file) => {
    const value = await readTextFile(file)
      .then(JSON.parse)
      .catch(() => null);
    const { data } = fleetManifestSchema.safeParse(value);
    return data === undefined ? null : { folder: dirname(file), ...data };
  });
}

/** A node's result; null for other documents of pinbench, which have a `kind`. */
async function readNode(file: string): Promise<NodeFigures | null> {
  try {
    const value = parseJson(withoutSamples(await readTextFile(file)), file);
    if (isObject(value) && value.kind !== undefined) return null;
    return figuresOfNode(checkedFigures(value, file), file);
  } catch (error) {
    if (!(error instanceof PinbenchError)) throw error;
    return { ...withoutFigures(fileName(file)), state: "unreadable", reason: error.message, file };
  }
}
