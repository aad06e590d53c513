import { groupBySession } from "../compare/sessions.js";
import { counted } from "../draw/words.js";
import { groupBy } from "../stats/group-by.js";
import { type DeviceFigures, kindOf, type NodeFigures } from "./node-figures.js";

/**
 * Joins results to one entry for each node, sorted by name. Only the newest session counts: its results are repeats, of
 * which the median counts, or parts of the node, as in a job with a process for each GPU. A result without a host name
 * belongs to the node with its GPU, by UUID; otherwise it is a node of its own, named by its file. Wrong data stays: a
 * later clean result does not show that the cause is gone. Copies of a result count once.
 */
export function joinResults(results: readonly NodeFigures[]): NodeFigures[] {
  const ids = new Set<string>();
  const distinct = results.filter(({ runId }) => runId === null || (!ids.has(runId) && ids.add(runId)));
  const hostOfGpu = new Map<string, string>();
  const hostOf = ({ host, isNamed, devices }: NodeFigures) => {
    if (isNamed) return host;
    const uuids = devices.flatMap(({ uuid }) => uuid ?? []);
    const known = uuids.map((uuid) => hostOfGpu.get(uuid)).find((one) => one !== undefined) ?? host;
    for (const uuid of uuids) hostOfGpu.set(uuid, known);
    return known;
  };
  const nodes = [...groupBy(distinct, hostOf).values()].map(latestOf);
  return nodes.sort((a, b) => (a.host < b.host ? -1 : 1));
}

function latestOf(results: readonly NodeFigures[]): NodeFigures {
  if (results.length === 1) return results[0]!;
  const sessions = groupBySession(results.map((one) => ({ ...one, startedAt: one.startedAt! })));
  const last = sessions.pop()!.toReversed();
  const [newest] = last as [NodeFigures];
  const earlier = sessions.flat().reverse();
  const devices = [
    ...groupBy(
      last.flatMap((one) => one.devices),
      gpuOf,
    ).values(),
  ].map(joinedDevice);
  const isOfParts = devices.length > newest.devices.length;
  const failed = isOfParts ? last.find(({ state }) => state !== "measured") : undefined;
  const { state, reason } = standing(results) ?? failed ?? newest;
  return {
    ...newest,
    ...{ state, reason, earlier },
    facts: { ...newest.facts, ...(isOfParts && { gpuCount: String(devices.length) }) },
    devices: isOfParts ? inOrder(devices) : devices,
    choseDevices: last.some(({ choseDevices }) => choseDevices),
    notes: [
      ...newest.notes,
      ...(earlier.length === 0 ? [] : [`without ${counted(earlier.length, "older result")} of it`]),
      ...(last.length === 1 ? [] : [`its figures are of ${last.length} processes`]),
    ],
  };
}

const gpuOf = ({ uuid, ordinal, name }: DeviceFigures) => uuid ?? `${ordinal} ${name}`;

/** Numbers the GPUs of all processes by PCI address: each process numbers its own from 0. */
function inOrder(devices: readonly DeviceFigures[]): DeviceFigures[] {
  return devices
    .toSorted((a, b) => (a.pciBusId ?? "").localeCompare(b.pciBusId ?? ""))
    .map((device, ordinal) => ({ ...device, ordinal }));
}

/**
 * A GPU with the median figures of its processes; the better one of two. A mean may be a rate that no process had, and
 * a loss in only one of two processes is not certain.
 */
function joinedDevice(all: readonly DeviceFigures[]): DeviceFigures {
  const keys = new Set(all.flatMap(({ figures }) => [...figures.keys()]));
  const figures = [...keys].map((key) => {
    const ofKey = all.flatMap((one) => one.figures.get(key) ?? []);
    const bestFirst = ofKey.sort((a, b) => (kindOf(key).unit === "us" ? a - b : b - a));
    return [key, bestFirst[Math.floor((bestFirst.length - 1) / 2)]!] as const;
  });
  const failures = new Map(all.flatMap((one) => [...one.failures]));
  return { ...all[0]!, figures: new Map(figures), failures };
}

/** The last result with wrong data, which counts until older results are excluded; null without any. */
function standing(results: readonly NodeFigures[]): Pick<NodeFigures, "state" | "reason"> | null {
  const wrong = results.filter(({ state }) => state === "wrong data");
  if (wrong.length === 0) return null;
  const last = wrong.reduce((a, b) => (a.startedAt! > b.startedAt! ? a : b));
  const isOver = results.some(({ state, startedAt }) => state === "measured" && startedAt! > last.startedAt!);
  const later = "; later copies were right: after a repair, leave older results out with --since";
  return { state: last.state, reason: isOver ? `${last.reason}${later}` : last.reason };
}
