import { formatSetting, roundUp } from "../../draw/numbers.js";
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
import { counted, listed, timeText } from "../../draw/words.js";
import { absentFigure, shareFigure } from "../../results/naming/cell-figure.js";
import type { FleetDocument, FleetGroup, FleetOutlier } from "../fleet-document.js";
import { groupNote, mostNamed, nodesText, otherRemarks, waysToFind } from "./fleet-answer.js";
import {
  countGpus,
  figureText,
  fleetFigure,
  groupFacts,
  isUnclear,
  lackingNodes,
  lossText,
  type NameOfFleetCell,
  shownState,
  sinceText,
  unitName,
  worstCell,
} from "./fleet-text.js";

/** The common content of a fleet's table, Markdown and page. */

/** Alerts before any figure. */
export function fleetAlerts({ notice }: FleetDocument): Note[] {
  return notice === null ? [] : [note(notice, "warning")];
}

/** What was judged, and by which rule. */
export function fleetFacts(document: FleetDocument): Fact[] {
  const { nodes, groups, rule } = document;
  const states = [...groupBy(nodes, shownState)].map(([state, members]) => `${members.length} ${state}`);
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

function period(first: string, last: string): string {
  const [from, to] = [timeText(first), timeText(last)];
  return from === to ? from : `${from} to ${to}`;
}

/** A table of slow GPUs and nodes, one of nodes without a valid, complete and clear result, and one for each group. */
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

/** A row for each reason why nodes have no valid or no complete result, or may be slow. */
function lackingGrid(document: FleetDocument): (Grid & { caption: string })[] {
  const unclear = document.nodes.filter(isUnclear);
  const rows = [...lackingNodes(document), ["unclear", unclear] as const].flatMap(([state, nodes]) =>
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
  return [{ caption: "Nodes without a valid, complete and clear result", columns, rows, keepsRepeats: true }];
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

/** Notes that help to read the tables: further evidence on outliers, and open questions. */
export function fleetNotes(document: FleetDocument): Note[] {
  const { outliers, cleared, groups, nodes } = document;
  return [
    ...otherRemarks(document),
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
