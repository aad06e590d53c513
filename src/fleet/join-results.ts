import { groupByOccasion } from "../compare/occasions.js";
import { median } from "../stats/order-statistics.js";
import type { DeviceFigures, NodeFigures } from "./node-figures.js";

/**
 * Several results of one host, made into one:
 *
 * - those that have a GPU in common are of one node. The newest counts, together with those of the same occasion, which are
 *   taken to be fresh processes that measured the same: of these the median of each figure;
 * - those that have other GPUs at other places are parts of one node, as where a job has a process for each GPU;
 * - those that have other GPUs at the same places are of two machines that share a name, as containers do. They stay
 *   apart; the older one is called by its first GPU's UUID as well.
 *
 * Wrong data stands: a later clean result does not show that the cause is gone. A copy of a result counts once. Returned are all hosts, each once, by name.
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
  // Of one name are files of several folders, whose nodes are not known: each is told, by its path.
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
      notes: [...one.notes, `another machine with other GPUs is called ${one.host} as well`],
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

/** The latest of results of one node, with those of its occasion. */
function latestOf(results: readonly NodeFigures[]): NodeFigures {
  if (results.length === 1) return results[0]!;
  const occasions = groupByOccasion(results.map((one) => ({ ...one, startedAt: one.startedAt! })));
  const last = occasions.at(-1)!;
  const newest = last.at(-1)!;
  const good = last.filter(({ devices }) => devices.some(({ figures }) => figures.size > 0));
  const earlier = occasions.slice(0, -1).flat().reverse();
  const older = earlier.length;
  const notes = [
    ...newest.notes,
    ...(older === 0
      ? []
      : [older === 1 ? "an older result of it does not count" : `${older} older results of it do not count`]),
    ...(good.length > 1 ? [`its figures are the medians of ${good.length} processes`] : []),
  ];
  const devices = newest.devices.map((device) => {
    const ofDevice = good.flatMap((one) => one.devices.filter((other) => isSame(device, other)));
    const keys = new Set(ofDevice.flatMap(({ figures }) => [...figures.keys()]));
    const medianOf = (key: string) => median(ofDevice.flatMap(({ figures }) => figures.get(key) ?? []));
    return { ...device, figures: new Map([...keys].map((key) => [key, medianOf(key)])) };
  });
  return { ...newest, ...standing(results), devices, earlier, notes };
}

/** The state of a node that copied wrong data at any time; nothing if it never did. */
function standing(results: readonly NodeFigures[]): Partial<Pick<NodeFigures, "state" | "reason">> {
  const wrong = results.filter(({ state }) => state === "wrong data");
  const last = wrong.sort((a, b) => a.startedAt!.localeCompare(b.startedAt!)).at(-1);
  if (last === undefined) return {};
  const isOver = results.some((one) => one.state === "measured" && one.startedAt! > last.startedAt!);
  const after = " Later copies were right. After a repair, leave older results out with --since";
  const reason = `${last.reason} (${last.startedAt!.slice(0, 16)}Z).${after}`;
  return { state: "wrong data", reason: isOver ? reason : last.reason };
}

/** One node of results that have different GPUs of it. The newest comes first. */
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
    // Each process counts its own GPUs from 0.
    devices: devices.map((device, ordinal) => ({ ...device, ordinal })),
    notes: [...parts.flatMap(({ notes }) => notes), `${parts.length} results have different GPUs of it`],
  };
}
