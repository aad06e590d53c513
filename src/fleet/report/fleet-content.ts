import { formatSetting, formatWholeShare, roundUp } from "../../draw/numbers.js";
import {
  type Fact,
  type Figure,
  figure,
  type Grid,
  groupBy,
  type Note,
  note,
  numberColumn,
  reasonNotes,
  spared,
  wordColumn,
} from "../../draw/report.js";
import { counted, listed, timeText, withoutFullStop } from "../../draw/words.js";
import { absentFigure, shareFigure } from "../../results/naming/cell-figure.js";
import {
  type FleetDocument,
  type FleetGroup,
  type FleetNode,
  type FleetOutlier,
  factName,
} from "../fleet-document.js";
import { isListable, nodeList } from "./drain-lines.js";
import {
  countGpus,
  figureText,
  fleetFigure,
  isRunInDoubt,
  lackingNodes,
  lossText,
  type NameOfFleetCell,
  sinceText,
  slowPart,
  unitName,
  worstCell,
  worstOutlier,
} from "./fleet-text.js";

/** The common content of a fleet's table, Markdown and page. */

/** Alerts before any figure. */
export function fleetAlerts({ notice }: FleetDocument): Note[] {
  return notice === null ? [] : [note(notice, "warning")];
}

/** Most outliers that are named in a sentence. */
const mostNamed = 3;
/** Most sentences on what many have in common, and most reasons. With more, the answer may fill a screen of 20 lines. */
const mostSaid = 2;

/**
 * The slow nodes, the nodes without a valid and complete result, results in doubt, and what many have in common, in that
 * order: the first screen. The rest of the last two is among the notes.
 */
export function fleetAnswer(document: FleetDocument, nameOf: NameOfFleetCell): Note[] {
  return [
    slowNote(document, nameOf),
    ...lackingNotes(document),
    ...doubtNotes(document).slice(0, mostSaid),
    ...commonNotes(document).slice(0, mostSaid),
  ];
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
function groupNote(
  text: string | null,
  index: number,
  groups: readonly unknown[],
  tone: Note["tone"],
): Note[] {
  if (text === null) return [];
  return [note(`${groups.length > 1 ? `group ${index + 1}: ` : ""}${withoutFullStop(text)}`, tone)];
}

/** What was judged, and by which rule. */
export function fleetFacts(document: FleetDocument): Fact[] {
  const { nodes, groups, rule } = document;
  const states = [...groupBy(nodes, ({ state }) => state)].map(
    ([state, members]) => `${members.length} ${state}`,
  );
  const times = nodes.flatMap(({ startedAt }) => startedAt ?? []).sort();
  const [first, last] = [times[0], times.at(-1)];
  return [
    ["Nodes", `${nodes.length}: ${listed(states)}`],
    ["GPUs", `${countGpus(document)} in ${counted(groups.length, "group")} of similar nodes`],
    ...(first === undefined || last === undefined ? [] : [["Measured", period(first, last)] as const]),
    ...groups.slice(0, mostNamed).flatMap((group, index) => foundFact(group, index, groups)),
    [
      "Rule",
      `threshold ${formatSetting(rule.threshold)}, significance ${formatSetting(rule.significance)} over all nodes and cells of a group`,
    ],
  ];
}

/** The losses that are found in a group, for each kind of memory. */
function foundFact({ found }: FleetGroup, index: number, groups: readonly unknown[]): Fact[] {
  const texts = found.map((one) => `${one.memory} ${waysToFind(one).join(" or ") || "none"}`);
  if (texts.length === 0) return [];
  const name = groups.length > 1 ? `Finds in group ${index + 1}` : "Finds losses of";
  return [[name, texts.join("; ")]];
}

function waysToFind({ cells, inOneCell, inAllCells, belowReference }: FleetGroup["found"][number]): string[] {
  const loss = (share: number) => formatWholeShare(share, roundUp);
  return [
    ...(inAllCells === null ? [] : [`${loss(inAllCells)} in all ${cells} cells`]),
    ...(inOneCell === null ? [] : [`${loss(inOneCell)} in one cell`]),
    ...(belowReference === null ? [] : [`${loss(belowReference)} below healthy machines of its kind`]),
  ];
}

function period(first: string, last: string): string {
  const [from, to] = [timeText(first), timeText(last)];
  return from === to ? from : `${from} to ${to}`;
}

/** A table of slow GPUs and nodes, one of nodes without a valid and complete result, and one for each group. */
export function fleetGrids(document: FleetDocument, nameOf: NameOfFleetCell): (Grid & { caption: string })[] {
  return [
    ...outlierGrid(document, nameOf),
    ...lackingGrid(document),
    ...document.groups.map((group, index) => groupGrid(group, index, document, nameOf)),
  ];
}

/** A row for each slow GPU, and for each node that is slow as a whole. */
function outlierGrid(document: FleetDocument, nameOf: NameOfFleetCell): (Grid & { caption: string })[] {
  const outliers = [...document.outliers, ...document.cleared];
  if (outliers.length === 0) return [];
  const isConfirming = outliers.some(({ confirmed }) => confirmed !== null);
  return [
    {
      caption: "Slower than expected",
      columns: [
        wordColumn("node"),
        wordColumn("GPU"),
        numberColumn("slower by"),
        wordColumn("slowest in"),
        numberColumn("figure"),
        numberColumn("expected"),
        spared(numberColumn("cells"), 1),
        ...(isConfirming ? [wordColumn("again")] : []),
        spared(wordColumn("slow since"), 2),
        wordColumn("do"),
      ],
      keepsRepeats: true,
      rows: outliers.map((outlier) => outlierRow(outlier, document, isConfirming, nameOf)),
      footnote: "cells: number of the group's cells that show it; the row has the slowest",
    },
  ];
}

function outlierRow(
  outlier: FleetOutlier,
  { groups }: FleetDocument,
  isConfirming: boolean,
  nameOf: NameOfFleetCell,
): Figure[] {
  const worst = worstCell(outlier);
  const isCleared = outlier.confirmed === false;
  const tone = isCleared ? "muted" : "plain";
  const since = sinceText(outlier);
  return [
    figure(outlier.host, "", tone),
    figure(outlier.device === null ? "all" : String(outlier.device), "", tone),
    figure(lossText(worst.change), "", isCleared ? "muted" : "failure"),
    figure(nameOf(worst), "", tone),
    figure(figureText(worst.figure, worst.unit), "", tone),
    figure(figureText(worst.centre, worst.unit), "", tone),
    figure(
      `${outlier.cells.length} of ${groups[outlier.group]?.cells.length ?? outlier.cells.length}`,
      "",
      tone,
    ),
    ...(isConfirming
      ? [figure(againText[String(outlier.confirmed) as keyof typeof againText], "", tone)]
      : []),
    since === null ? absentFigure : figure(since, "", tone),
    figure(outlier.action, "", tone),
  ];
}

/** The result of fresh processes. */
const againText = { true: "slow again", false: "not slow", null: "not measured" } as const;

/** A row for each reason why nodes have no valid or no complete result. */
function lackingGrid(document: FleetDocument): (Grid & { caption: string })[] {
  const rows = [...lackingNodes(document)].flatMap(([state, nodes]) =>
    [...groupBy(nodes, ({ reason }) => reason ?? "")].map(([reason, members]) => [
      figure(state, "", state === "wrong data" ? "mismatch" : "failure"),
      figure(String(members.length)),
      figure(nodesText(members)),
      reason === "" ? absentFigure : figure(reason),
      figure(members[0]!.action),
    ]),
  );
  if (rows.length === 0) return [];
  // Next to the names that they are about, however long.
  const sentences = { ...wordColumn("why"), mostLines: 4 };
  const columns = [
    wordColumn("state"),
    numberColumn("nodes"),
    wordColumn("which"),
    sentences,
    wordColumn("do"),
  ];
  return [{ caption: "Nodes without a valid and complete result", columns, rows, keepsRepeats: true }];
}

/** Longest node list printed inside a sentence. */
const mostListed = 36;

/**
 * The nodes' names, compressed, or the first ones if they do not fit in a line. Names that are no host names are not
 * compressed.
 */
function nodesText(nodes: readonly Pick<FleetNode, "host">[]): string {
  const hosts = nodes.map(({ host }) => host);
  const text = hosts.every(isListable) ? nodeList(hosts) : hosts.join(", ");
  if (text.length <= mostListed || hosts.length <= mostNamed) return text;
  const named = hosts.slice(0, mostNamed);
  return `${named.join(", ")} and ${hosts.length - named.length} more`;
}

/** The GPUs of a group, one row per cell. */
function groupGrid(
  group: FleetGroup,
  index: number,
  { groups }: FleetDocument,
  nameOf: NameOfFleetCell,
): Grid & { caption: string } {
  const name = groups.length > 1 ? `Group ${index + 1}` : "All nodes";
  const hasReference = group.cells.some(({ shareOfReference }) => shareOfReference !== null);
  const what = groupFacts(group, groups);
  return {
    caption: `${name}: ${counted(group.nodes, "node")}, ${counted(group.devices, "GPU")}${what === "" ? "" : `, ${what}`}`,
    columns: [
      wordColumn("cell"),
      spared(numberColumn("GPUs"), 2),
      wordColumn("unit"),
      numberColumn("centre"),
      spared(numberColumn("lowest"), 3),
      spared(numberColumn("highest"), 1),
      numberColumn("spread"),
      ...(hasReference ? [numberColumn("of", "healthy")] : []),
    ],
    keepsRepeats: true,
    rows: group.cells.map((cell) => [
      figure(nameOf(cell)),
      figure(String(cell.figures)),
      figure(unitName[cell.unit]),
      ...[cell.centre, cell.lowest, cell.highest].map((value) => figure(fleetFigure(value, cell.unit))),
      figure(`±${roundUp(100 * Math.expm1(cell.logDeviation), 2)} %`),
      ...(hasReference ? [shareFigure(cell.shareOfReference)] : []),
    ]),
  };
}

/** The facts that identify a group; others are listed if the groups differ in them. */
const leadingFacts: readonly string[] = ["gpu", "linkCapability", "driver"];

/** A group in a few words. */
export function groupFacts({ facts }: FleetGroup, groups: readonly FleetGroup[]): string {
  const differs = (fact: string) => groups.some((other) => other.facts[fact] !== facts[fact]);
  const names = Object.keys(facts).filter((fact) => leadingFacts.includes(fact) || differs(fact));
  return names
    .map((fact) =>
      fact === "gpu" ? (facts[fact] ?? "GPU not known") : `${factName(fact)} ${facts[fact] ?? "not known"}`,
    )
    .join(", ");
}

/** Notes that help to read the tables: further evidence on outliers, and open questions. */
export function fleetNotes(document: FleetDocument): Note[] {
  const { outliers, cleared, groups, nodes } = document;
  return [
    ...doubtNotes(document).slice(mostSaid),
    ...commonNotes(document).slice(mostSaid),
    ...reasonNotes(outliers, ({ evidence }) => evidence, hostsOf, "evidence", "plain"),
    ...groups.flatMap(({ tooFew, notes }, index) => [
      ...groupNote(tooFew, index, groups, "warning"),
      ...notes.flatMap((text) => groupNote(text, index, groups, "plain")),
    ]),
    ...(cleared.length === 0
      ? []
      : [
          note(
            `${counted(cleared.length, "GPU or node", "GPUs or nodes")} not slow when measured again: not counted`,
          ),
        ]),
    ...reasonNotes(nodes, ({ notes }) => notes, nodesText, "note", "plain"),
    note(
      "spread: the standard deviation between healthy GPUs of the group, which the verdicts used",
      "muted",
    ),
  ];
}

function hostsOf(outliers: readonly FleetOutlier[]): string {
  return nodesText(outliers.filter(({ host }, i) => outliers.findIndex((one) => one.host === host) === i));
}
