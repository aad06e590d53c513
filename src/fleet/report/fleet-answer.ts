import { formatWholeShare, roundUp } from "../../draw/numbers.js";
import { groupBy, type Note, note } from "../../draw/report.js";
import { counted, listed, withoutFullStop } from "../../draw/words.js";
import type { FleetDocument, FleetGroup, FleetNode, FleetOutlier } from "../fleet-document.js";
import { isListable, nodeList } from "./drain-lines.js";
import {
  countGpus,
  isRunInDoubt,
  isUnclear,
  lackingNodes,
  lossText,
  type NameOfFleetCell,
  sinceText,
  slowPart,
  worstCell,
  worstOutlier,
} from "./fleet-text.js";

/** The first lines of a fleet's report: which nodes are slow or lack a result, and what many have in common. */

/** Most outliers that are named in a sentence. */
export const mostNamed = 3;
/** Most sentences of a kind, and of all kinds. With more, the answer may fill a screen of 20 lines. */
const mostSaid = 2;
const mostSentences = 5;

/**
 * The slow nodes, the nodes without a valid and complete result, results in doubt, and what many have in common, in that
 * order: the first screen. The rest of the last two is among the notes.
 */
export function fleetAnswer(document: FleetDocument, nameOf: NameOfFleetCell): Note[] {
  return [slowNote(document, nameOf), ...lackingNotes(document), ...firstRemarks(document)];
}

/** Results in doubt, and what many have in common: at most two of each, and fewer below many other sentences. */
function firstRemarks(document: FleetDocument): Note[] {
  const most = Math.max(1, mostSentences - 1 - lackingNotes(document).length);
  const doubts = doubtNotes(document).slice(0, mostSaid);
  return [...doubts, ...commonNotes(document).slice(0, mostSaid)].slice(0, most);
}

function doubtNotes({ doubts }: FleetDocument): Note[] {
  return doubts.map((text) => note(withoutFullStop(text), "warning"));
}

function slowNote(document: FleetDocument, nameOf: NameOfFleetCell): Note {
  const { nodes, groups, outliers } = document;
  const judged = groups.reduce((sum, group) => sum + group.nodes, 0);
  if (judged === 0) return note("no node has figures to judge", "failure");
  if (outliers.length === 0) return note(noneSlow(document, judged));
  const byHost = [...groupBy(outliers, ({ host }) => host)];
  const named = byHost.slice(0, mostNamed).map(([host, slow]) => describeNode(host, slow, nameOf));
  const rest = byHost.length - named.length;
  const measured = counted(judged, judged === nodes.length ? "node" : "measured node");
  const verb = byHost.length === 1 ? "is" : "are";
  return note(
    `${byHost.length} of ${measured} ${verb} slow: ${listed([...named, ...(rest === 0 ? [] : [`${rest} more`])])}`,
    "failure",
  );
}

/** "GPU 3 of n07 (50.0 % slower in H2D pinned 64 MiB x1)". */
function describeNode(host: string, outliers: readonly FleetOutlier[], nameOf: NameOfFleetCell): string {
  const worst = worstOutlier(outliers);
  const slowest = worstCell(worst);
  const together =
    worst.together === null
      ? ""
      : `, ${lossText(worst.together.change)} over all ${worst.together.cells} ${worst.together.memory} cells`;
  const since = sinceText(worst) === null ? "" : `, since ${sinceText(worst)}`;
  return `${slowPart(outliers)} of ${host} (${lossText(slowest.change)} slower in ${nameOf(slowest)}${together}${since}; ${worst.action})`;
}

function noneSlow(document: FleetDocument, judged: number): string {
  const { groups } = document;
  if (groups.some((group) => group.slowPart !== null)) {
    return `it is not clear which of ${counted(judged, "node")} (${counted(countGpus(document), "GPU")}) are slow`;
  }
  const unclear = document.nodes.filter(isUnclear);
  if (unclear.length > 0) {
    return `none of ${counted(judged, "node")} (${counted(countGpus(document), "GPU")}) is called slow, but ${nodesText(unclear)} may be`;
  }
  const findsNone = ({ tooFew, found }: FleetGroup) =>
    tooFew !== null && found.every((one) => waysToFind(one).length === 0);
  if (groups.every(findsNone)) {
    return `no node is called slow: ${judged === 1 ? "one is" : `${judged} are`} too few to judge`;
  }
  // "None is slow" would be wrong if a group is slow as a whole or in part, or nobody knows what its kind reaches.
  const isDoubtful = groups.some(
    ({ slowAsAWhole, slowPlaces, found }) =>
      slowAsAWhole !== null ||
      slowPlaces.length > 0 ||
      found.every(({ belowReference }) => belowReference === null),
  );
  const gpus = counted(countGpus(document), "GPU");
  if (judged === 1)
    return `the only node (${gpus}) ${isDoubtful ? "has no GPU slower than the others" : "is not slow"}`;
  return `none of ${counted(judged, "node")} (${gpus}) is ${isDoubtful ? "slower than similar ones" : "slow"}`;
}

function lackingNotes(document: FleetDocument): Note[] {
  const {
    "wrong data": wrong = [],
    incomplete = [],
    unreadable = [],
    ...others
  } = Object.fromEntries(lackingNodes(document));
  const states = Object.entries(others).map(
    ([state, nodes]) => `${nodes.length} ${state} (${nodesText(nodes)})`,
  );
  const count = Object.values(others).flat().length;
  const all = counted(document.nodes.length, "node");
  const next = isRunInDoubt(document) ? "look at the run first" : "reset, then measure again";
  return [
    ...(wrong.length === 0
      ? []
      : [
          note(
            `${counted(wrong.length, "node")} copied wrong data: ${withReasons(wrong)}: isolate`,
            "mismatch",
          ),
        ]),
    ...[...groupBy(incomplete, ({ action }) => action)].map(([action, nodes]) =>
      note(
        `${counted(nodes.length, "node")} measured in part: ${withReasons(nodes)}: ${action === "reset" ? "reset, then " : ""}measure again`,
        "failure",
      ),
    ),
    ...(count === 0
      ? []
      : [
          note(
            `${count} of ${all} ${count === 1 ? "has" : "have"} no valid result: ${listed(states)}: ${next}`,
            "failure",
          ),
        ]),
    ...(unreadable.length === 0
      ? []
      : [
          note(
            `${counted(unreadable.length, "result")} cannot be read: ${nodesText(unreadable)}: measure again`,
            "failure",
          ),
        ]),
  ];
}

/** The nodes' names; of a few, also the reasons. */
function withReasons(nodes: readonly FleetNode[]): string {
  return nodes.length > mostSaid
    ? nodesText(nodes)
    : listed(nodes.map(({ host, reason }) => `${host} (${withoutFullStop(reason ?? "")})`));
}

/** Sentences on traits that slow nodes share, and on groups that are slow at a place, in part or as a whole. */
function commonNotes({ shared, groups }: FleetDocument): Note[] {
  return [
    ...shared.map(({ reason }) => note(withoutFullStop(reason), "warning")),
    ...groups.flatMap(({ slowAsAWhole, slowPart, slowPlaces }, index) => [
      ...slowPlaces.flatMap(({ reason }) => groupNote(reason, index, groups, "failure")),
      ...groupNote(slowPart?.reason ?? null, index, groups, "failure"),
      ...groupNote(slowAsAWhole, index, groups, "warning"),
    ]),
  ];
}

/** A sentence on a group, with its number if there are several; empty for null. */
export function groupNote(
  text: string | null,
  index: number,
  groups: readonly unknown[],
  tone: Note["tone"],
): Note[] {
  if (text === null) return [];
  return [note(`${groups.length > 1 ? `group ${index + 1}: ` : ""}${withoutFullStop(text)}`, tone)];
}

export function waysToFind({
  cells,
  inOneCell,
  inAllCells,
  belowReference,
}: FleetGroup["found"][number]): string[] {
  const loss = (share: number) => formatWholeShare(share, roundUp);
  return [
    ...(inAllCells === null ? [] : [`${loss(inAllCells)} in all ${cells} cells`]),
    ...(inOneCell === null ? [] : [`${loss(inOneCell)} in one cell`]),
    ...(belowReference === null ? [] : [`${loss(belowReference)} below healthy machines of its kind`]),
  ];
}

/** Longest node list printed inside a sentence. */
const mostListed = 36;

/**
 * The nodes' names, compressed, or the first ones if they do not fit in a line. Names that are no host names are not
 * compressed.
 */
export function nodesText(nodes: readonly Pick<FleetNode, "host">[]): string {
  const hosts = nodes.map(({ host }) => host);
  const text = hosts.every(isListable) ? nodeList(hosts) : hosts.join(", ");
  if (text.length <= mostListed || hosts.length <= mostNamed) return text;
  const named = hosts.slice(0, mostNamed);
  return `${named.join(", ")} and ${hosts.length - named.length} more`;
}

/** The sentences on doubts and on what many have in common that the first lines have no room for. */
export function otherRemarks(document: FleetDocument): Note[] {
  const first = firstRemarks(document);
  return [...doubtNotes(document), ...commonNotes(document)].filter(
    ({ text }) => !first.some((said) => said.text === text),
  );
}
