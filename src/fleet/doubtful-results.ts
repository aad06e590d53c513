import { counted, timeText } from "../draw/words.js";
import { someOf } from "./fleet-wording.js";
import type { NodeFigures } from "./node-figures.js";

/** Sentences on results that may mislead although each is valid: whose they are, and when they were measured. */
export function doubtsOn(nodes: readonly NodeFigures[], createdAt: string): string[] {
  return [...sharedGpus(nodes), ...futureResults(nodes, createdAt), ...oldResults(nodes, createdAt)];
}

/** GPUs in the results of several hosts. Emulated ones all have the same names. */
function sharedGpus(nodes: readonly NodeFigures[]): string[] {
  const hostsOf = new Map<string, Set<string>>();
  for (const { host, notice, devices } of nodes) {
    if (notice !== null) continue;
    for (const { uuid } of devices) {
      if (uuid !== null) hostsOf.set(uuid, (hostsOf.get(uuid) ?? new Set()).add(host));
    }
  }
  const shared = [...hostsOf.values()].filter(({ size }) => size > 1);
  if (shared.length === 0) return [];
  const hosts = [...new Set(shared.flatMap((ofGpu) => [...ofGpu]))];
  const verb = shared.length === 1 ? "is" : "are";
  return [
    `${counted(shared.length, "GPU")} ${verb} in results of several nodes (${someOf(hosts)}): a machine has two names, a result is a copy, or GPUs were moved.`,
  ];
}

/** Clocks of a fleet differ by less. */
const mostAheadMs = 10 * 60e3;

function futureResults(nodes: readonly NodeFigures[], createdAt: string): string[] {
  const ahead = nodes.filter((node) => isAhead(node, createdAt));
  const [first] = ahead;
  if (first === undefined) return [];
  const whose = ahead.length === 1 ? "The clock of" : "The clocks of";
  const verb = ahead.length === 1 ? "is" : "are";
  return [
    `${whose} ${someOf(ahead.map(({ host }) => host))} ${verb} wrong: a result is of ${timeText(first.startedAt!)}, in the future.`,
  ];
}

function isAhead({ startedAt }: NodeFigures, createdAt: string): boolean {
  return startedAt !== null && Date.parse(startedAt) > Date.parse(createdAt) + mostAheadMs;
}

/** A node may have changed in a month. */
const mostDaysBehind = 30;

function oldResults(nodes: readonly NodeFigures[], createdAt: string): string[] {
  const dated = nodes
    .filter((node) => node.startedAt !== null && !isAhead(node, createdAt))
    .sort((a, b) => a.startedAt!.localeCompare(b.startedAt!));
  const [oldest, latest] = [dated[0], dated.at(-1)];
  if (oldest === undefined || latest === undefined) return [];
  const daysBehind = ({ startedAt }: NodeFigures) =>
    Math.floor((Date.parse(latest.startedAt!) - Date.parse(startedAt!)) / 86_400e3);
  const old = dated.filter((node) => daysBehind(node) > mostDaysBehind);
  if (old.length === 0) return [];
  const result = old.length === 1 ? "The result" : "The results";
  const verb = old.length === 1 ? "is" : "are up to";
  return [
    `${result} of ${someOf(old.map(({ host }) => host))} ${verb} ${daysBehind(oldest)} days older than the latest: measure again.`,
  ];
}

/** A sentence on nodes of which `--since` leaves out all results. */
export function leftOutText(
  leftOut: readonly NodeFigures[],
  nodes: readonly NodeFigures[],
  since: string,
): string[] {
  const kept = new Set(nodes.map(({ host }) => host));
  const hosts = [...new Set(leftOut.map(({ host }) => host))].filter((host) => !kept.has(host));
  if (hosts.length === 0) return [];
  const verb = hosts.length === 1 ? "is" : "are";
  return [
    `${counted(hosts.length, "node")} ${verb} not judged, because all results are from before ${timeText(since)}: ${someOf(hosts)}.`,
  ];
}
