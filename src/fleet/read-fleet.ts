import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { groupByOccasion } from "../compare/occasions.js";
import { timeText } from "../draw/words.js";
import { PinbenchError } from "../errors.js";
import { checkedFigures, withoutSamples } from "../results/parse.js";
import { cannotRead, isObject, parseJson, readTextFile } from "../text-file.js";
import {
  absentNodes,
  confirmationFolder,
  type FleetManifest,
  fleetManifestSchema,
  type LaunchedNode,
  manifestName,
  withoutFigures,
} from "./fleet-manifest.js";
import { cellText, percent } from "./fleet-wording.js";
import {
  cellOfKey,
  type DeviceFigures,
  type FailedCell,
  figuresOfNode,
  kindOf,
  type NodeFigures,
} from "./node-figures.js";

export interface FleetFigures {
  /** One for each host, sorted by name. */
  nodes: readonly NodeFigures[];
  /** Figures of fresh processes on nodes that looked slow, one for each host. */
  fresh: readonly NodeFigures[];
  /** Number of results that were read. */
  results: number;
  /** Results from before `since`, and nodes that left none in launches before it. */
  leftOut: readonly NodeFigures[];
}

/** Kinds of pinbench's documents that may be in the folder, but are no results. */
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
 * Reads results of nodes from files and folders, including all subfolders. It holds only a few files in memory at a
 * time, and keeps only their figures. Other documents of pinbench in a folder are skipped; a file that cannot be read,
 * or is no result, becomes an "unreadable" node named after the file. The lists of `fleet run` have the names of nodes,
 * and show which left no result. Results from before `since` (ISO 8601, UTC) do not count. Rejects with a usage error
 * if a path cannot be read at all, or none has a result.
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
  const leftOut = read.flatMap(({ node }) => (isSince(node, since) ? [] : (node ?? [])));
  const first = nodesOf(false);
  const fresh = nodesOf(true);
  const results = first.length + fresh.length;
  const launches = [...lists].flatMap(([folder, list]) =>
    list === null || isConfirmation(folder, lists) ? [] : [{ folder, ...list }],
  );
  const counts = (one: FleetManifest) => since === null || (one.finishedAt ?? one.startedAt) >= since;
  const absentOf = (some: typeof launches) => absentNodes(some, [...first, ...leftOut]);
  const absent = absentOf(launches.filter(counts));
  const absentBefore = absentOf(launches.filter((one) => !counts(one)));
  if (results + absent.length === 0 && since !== null && leftOut.length > 0) {
    const latest = leftOut.map(({ startedAt }) => startedAt ?? "").reduce((a, b) => (a > b ? a : b));
    throw new PinbenchError(
      "usage",
      `all results in ${paths.join(", ")} are from before ${timeText(since)}: the latest is of ${timeText(latest)}.`,
      { hint: "Measure again, or give an earlier --since." },
    );
  }
  if (results + absent.length === 0) {
    throw new PinbenchError("usage", `there is no result of a node in ${paths.join(", ")}.`, {
      hint: "Give files that `pinbench run --output` wrote on each node, or the folder that has them.",
    });
  }
  const later = new Set(absent.map(({ host }) => host));
  const counting = first.filter(({ host }) => !later.has(host));
  return {
    nodes: joinResults([...counting, ...absent]),
    fresh: joinResults(fresh),
    results,
    leftOut: [...leftOut, ...absentBefore],
  };
}

/** Whether it began then or later. An unreadable file has no time, and counts. */
function isSince(node: NodeFigures | null, since: string | null): boolean {
  return since === null || node?.startedAt == null || node.startedAt >= since;
}

/** Number of files read at once: while one is parsed, others are loaded. */
const readersAtOnce = 4;

/** The results of an action on each item, in order, with a few running at a time. */
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

/** A folder named "confirm" confirms the results next to it if these have a list. */
function isConfirmation(folder: string, lists: ReadonlyMap<string, unknown>): boolean {
  return basename(folder) === confirmationFolder && lists.has(dirname(folder));
}

/** The JSON files at a path, sorted by name, without hidden and unfinished ones. */
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
      // Reading a fifo would never end.
      .filter((entry) => entry.isFile() || entry.isSymbolicLink())
      .map((entry) => join(relative(path, entry.parentPath), entry.name))
      .filter((name) => name.endsWith(".json") && !isHidden(name))
      .map((name) => join(path, name))
      .sort()
  );
}

/** Also files in a hidden folder, such as the one through which a running fleet communicates. */
function isHidden(name: string): boolean {
  return name.split(sep).some((part) => part.startsWith("."));
}

/** Null if it is invalid: a run that was killed while writing it must not block the nodes' results. */
async function readManifest(file: string): Promise<FleetManifest | null> {
  try {
    return fleetManifestSchema.safeParse(parseJson(await readTextFile(file), file)).data ?? null;
  } catch {
    return null;
  }
}

/** Null for another document of pinbench. */
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
 * Joins the results of each host; returns one entry for each host, sorted by name:
 *
 * - results that share a GPU are of one node. The newest counts, with those of the same occasion, which are taken to be
 *   fresh processes that measured the same: each figure is their median;
 * - results with different GPUs at different places are parts of one node, as in a job with a process for each GPU;
 * - results with different GPUs at the same places are of two machines that share a name, as containers do. They stay
 *   apart; the older one is also named by the UUID of its first GPU.
 *
 * Wrong data stays: a later clean result does not show that the cause is gone. A copy of a result counts once.
 */
export function joinResults(results: readonly NodeFigures[]): NodeFigures[] {
  const byHost = new Map<string, NodeFigures[]>();
  const ids = new Set<string>();
  for (const one of results) {
    if (one.runId !== null && ids.has(one.runId)) continue;
    if (one.runId !== null) ids.add(one.runId);
    const ofHost = byHost.get(one.host);
    if (ofHost === undefined) byHost.set(one.host, [one]);
    else ofHost.push(one);
  }
  const nodes = [...byHost.values()].flatMap((ofHost) => (ofHost.length === 1 ? ofHost : joinHost(ofHost)));
  return nodes.sort((a, b) => (a.host < b.host ? -1 : 1));
}

function joinHost(ofHost: readonly NodeFigures[]): NodeFigures[] {
  const read = ofHost.filter(({ startedAt }) => startedAt !== null);
  // Files of several folders may have one name, and their nodes are unknown: each is listed by its path.
  if (read.length === 0) return ofHost.map((one) => ({ ...one, host: one.file ?? one.host }));
  const machines: NodeFigures[][] = [];
  for (const one of read) {
    const same = machines.find((machine) => machine.some((other) => haveCommonDevice(one, other)));
    if (same === undefined) machines.push([one]);
    else same.push(one);
  }
  const latest = machines.map(latestOf);
  const parts: NodeFigures[] = [];
  const namesakes: NodeFigures[] = [];
  for (const one of latest.sort((a, b) => b.startedAt!.localeCompare(a.startedAt!))) {
    (parts.some((part) => haveCommonPlace(one, part)) ? namesakes : parts).push(one);
  }
  const unread = ofHost.filter(({ startedAt }) => startedAt === null).map(({ reason }) => reason ?? "");
  const joined = parts.length === 1 ? parts[0]! : joinParts(parts);
  return [
    { ...joined, notes: [...joined.notes, ...unread] },
    ...namesakes.map((one) => ({
      ...one,
      host: `${one.host}/${one.devices[0]?.uuid ?? one.runId}`,
      notes: [...one.notes, `another machine with other GPUs has the same name, ${one.host}`],
    })),
  ];
}

function haveCommonDevice(a: NodeFigures, b: NodeFigures): boolean {
  return a.devices.some((one) => b.devices.some((other) => isSame(one, other)));
}

function haveCommonPlace(a: NodeFigures, b: NodeFigures): boolean {
  if (a.devices.length === 0 || b.devices.length === 0) return true;
  return a.devices.some(({ pciBusId }) => {
    return b.devices.some((other) => pciBusId === null || other.pciBusId === pciBusId);
  });
}

function isSame(a: DeviceFigures, b: DeviceFigures): boolean {
  if (a.uuid !== null && b.uuid !== null) return a.uuid === b.uuid;
  return a.ordinal === b.ordinal && a.name === b.name;
}

/** The latest of one node's results, with those of its occasion. */
function latestOf(results: readonly NodeFigures[]): NodeFigures {
  if (results.length === 1) return results[0]!;
  const occasions = groupByOccasion(results.map((one) => ({ ...one, startedAt: one.startedAt! })));
  const last = occasions.at(-1)!;
  const newest = last.at(-1)!;
  const good = last.filter(({ devices }) => devices.some(({ figures }) => figures.size > 0));
  const earlier = occasions.slice(0, -1).flat().reverse();
  const older = earlier.length;
  const { notes: ofState = [], ...state } = standing(results);
  const apart: { key: string; loss: number }[] = [];
  const devices = newest.devices.map((device) => {
    const ofDevice = good.flatMap((one) => one.devices.filter((other) => isSame(device, other)));
    const keys = new Set(ofDevice.flatMap(({ figures }) => [...figures.keys()]));
    const figures = [...keys].map((key) => {
      const ofKey = ofDevice.flatMap((one) => one.figures.get(key) ?? []);
      const bestFirst = ofKey.toSorted((a, b) => (kindOf(key).unit === "us" ? a - b : b - a));
      // A median hides processes that were slow, also if these are many.
      const loss = 1 - bestFirst.at(-1)! / bestFirst[0]!;
      if (cellOfKey(key).memory === "pinned" && loss > mostApart) apart.push({ key, loss });
      return [key, betterMiddle(bestFirst)] as const;
    });
    return { ...device, figures: new Map(figures) };
  });
  const [most] = apart.sort((one, other) => other.loss - one.loss);
  const notes = [
    ...newest.notes,
    ...ofState,
    ...(older === 0
      ? []
      : [older === 1 ? "an older result of it does not count" : `${older} older results of it do not count`]),
    ...(good.length > 1
      ? [`its figures are the ${good.length === 2 ? "better ones" : "medians"} of ${good.length} processes`]
      : []),
    ...(most === undefined
      ? []
      : [`its processes differ by ${percent(most.loss)} in ${cellText(kindOf(most.key))}: measure it again`]),
  ];
  const failures = last.flatMap((one) => failuresOn(newest.devices, one));
  return { ...newest, ...state, devices, earlier, failures, notes };
}

/** A result's failed cells, with the numbers that these devices have: the driver may have counted them otherwise. */
function failuresOn(devices: readonly DeviceFigures[], one: NodeFigures): FailedCell[] {
  const numberOf = (own: number) => {
    const failed = one.devices.find(({ ordinal }) => ordinal === own);
    return failed && devices.find((device) => isSame(device, failed))?.ordinal;
  };
  return (one.failures ?? []).map((failed) => ({
    ...failed,
    devices: failed.devices.map((own) => numberOf(own) ?? own),
  }));
}

/** Rates of pinned copies of one GPU that differ by more than this share are reported. */
const mostApart = 0.1;

/**
 * The figure in the middle, of two the better one: a mean may be a rate that no process had, and a loss that one of two
 * processes does not show is not shown yet.
 */
function betterMiddle(bestFirst: readonly number[]): number {
  return bestFirst[Math.floor((bestFirst.length - 1) / 2)]!;
}

/** The state of a node that ever copied wrong data; empty if it never did. */
function standing(results: readonly NodeFigures[]): Partial<Pick<NodeFigures, "state" | "reason" | "notes">> {
  const wrong = results.filter(({ state }) => state === "wrong data");
  const last = wrong.sort((a, b) => a.startedAt!.localeCompare(b.startedAt!)).at(-1);
  if (last === undefined) return {};
  const isOver = results.some((one) => one.state === "measured" && one.startedAt! > last.startedAt!);
  if (!isOver) return { state: "wrong data", reason: last.reason };
  const repaired = "after a repair, leave older results out with --since";
  return { state: "wrong data", reason: `${last.reason}; later copies were right`, notes: [repaired] };
}

/** One node from results of its different GPUs. The newest comes first. */
function joinParts(parts: readonly NodeFigures[]): NodeFigures {
  const [newest] = parts;
  const bad = parts.find(({ state }) => state !== "measured");
  const devices = parts
    .flatMap((part) => part.devices)
    .sort((a, b) => (a.pciBusId ?? "").localeCompare(b.pciBusId ?? ""));
  return {
    ...newest!,
    state: bad?.state ?? "measured",
    reason: bad?.reason ?? null,
    facts: { ...newest!.facts, gpuCount: String(devices.length) },
    earlier: parts
      .flatMap((part) => part.earlier ?? [])
      .sort((a, b) => b.startedAt!.localeCompare(a.startedAt!)),
    // Each process numbers its own GPUs from 0.
    devices: devices.map((device, ordinal) => ({ ...device, ordinal })),
    failures: parts.flatMap((part) =>
      (part.failures ?? []).map((failed) => ({
        ...failed,
        devices: failed.devices.map((own) =>
          devices.findIndex((device) => part.devices.find(({ ordinal }) => ordinal === own) === device),
        ),
      })),
    ),
    choseDevices: parts.some((part) => part.choseDevices),
    notes: [...parts.flatMap(({ notes }) => notes), `${parts.length} results have different GPUs of it`],
  };
}
