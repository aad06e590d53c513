import type { DocumentKind } from "../../draw/document-kind.js";
import {
  formatChange,
  formatGBps,
  formatMicroseconds,
  formatSetting,
  formatWholeShare,
  roundDown,
  roundUp,
} from "../../draw/numbers.js";
import {
  type Block,
  type Column,
  detail,
  environment,
  type Fact,
  type Figure,
  facts,
  figure,
  fold,
  type Grid,
  type Note,
  note,
  numberColumn,
  type Report,
  shortened,
  tables,
  texts,
  wordColumn,
} from "../../draw/report.js";
import { fileScreen } from "../../draw/screen.js";
import { drawTerminal } from "../../draw/terminal/draw-terminal.js";
import { counted, listed, timeText } from "../../draw/words.js";
import { absentFigure } from "../../results/naming/cell-figure.js";
import { groupBy } from "../../stats/group-by.js";
import { comparedNames, groupName, type NameOfCompared } from "../compared-names.js";
import {
  type CellComparison,
  type Comparison,
  comparisonSchema,
  type Difference,
  type GroupComparison,
  isFailing,
  isOpen,
  type ResultSetSummary,
  verdicts,
} from "../comparison.js";
import { decide, errorsOf, limitOf } from "../decision.js";
import { githubReport } from "./github.js";
import { junitReport } from "./junit.js";
import { headline, outcomeTone, verdictTone } from "./outcome.js";

export const comparisonKind: DocumentKind<Comparison> = {
  schema: comparisonSchema,
  report: comparisonReport,
  exports: {
    junit: junitReport,
    // A job's log has no colours and an unknown width.
    github: (comparison, { screen: { showsAll } }) => {
      const screen = fileScreen({ showsAll });
      return githubReport(comparison, drawTerminal(comparisonReport(comparison), screen));
    },
  },
  async pictures(comparison) {
    return { charts: (await import("./comparison-charts.js")).comparisonCharts(comparison) };
  },
};

function comparisonReport(comparison: Comparison): Report {
  const { baseline, candidate, command, tool, groups, cells, notes, outcome } = comparison;
  const nameOf = comparedNames(comparison);
  const devices = listed([...new Set(candidate.deviceNames)]) || "no device";
  const what = command === "check" ? "Check" : "Comparison";
  const answers = headline(comparison).map((line) => note(line, outcomeTone[outcome]));
  const first = [...texts("alert", alerts(comparison)), ...texts("answer", answers)];
  const decided = tables(groupGrids(groups, isDecided));
  const others = tables(groupGrids(groups, (group) => !isDecided(group)));
  const urgent = groups.filter((group) => isFailing(group) || isOpen(group, comparison.rule)).length;
  const changed = cellsBeyondThreshold(comparison);
  const rest = cells.filter((cell) => !changed.includes(cell));
  const changedCells = tables(cellGrids(changed, nameOf));
  return {
    command,
    version: tool.version,
    hasTerms: true,
    name: `${what}: ${devices}, ${timeText(baseline.startedAt)} and ${timeText(candidate.startedAt)}`,
    brief: {
      blocks: [
        ...first,
        facts(briefFacts(comparison)),
        ...shortened(tables(groupGrids(groups, () => true)), Math.max(changed.length > 0 ? 3 : 8, urgent)),
        ...shortened(changedCells.slice(0, 1), 2),
        ...texts("note", outcome === "failed" || outcome === "mismatch" ? lastNotes(notes) : []),
      ],
      leavesOut: "all rows and notes",
    },
    blocks: [
      ...first,
      environment(headerFacts(comparison)),
      ...decided,
      ...(decided.length === 0 ? others : folded("Without a decided difference", others)),
      ...changedCells,
      ...folded("Other cells", tables(cellGrids(rest, nameOf))),
      ...texts("note", [...reasonsOf(groups), ...notes.map((text) => note(`note: ${text}`))]),
      fold("The machines, before and after", tables([machineGrid(comparison)])),
    ],
  };
}

function lastNotes(notes: readonly string[]): Note[] {
  return notes.slice(-4).map((text) => note(`note: ${text}`));
}

function folded(title: string, blocks: readonly Block[]): Block[] {
  return blocks.length === 0 ? [] : [fold(title, blocks)];
}

function alerts({ notice, differences, unfinished = [] }: Comparison): Note[] {
  const overruled = differences.filter(({ isOverruled }) => isOverruled);
  const facts = listed(overruled.map(({ fact }) => fact));
  return [
    ...(notice === null ? [] : [notice]),
    ...(overruled.length > 0 ? [`different ${facts}, compared anyway (--allow-mismatch)`] : []),
    ...unfinished,
  ].map((text) => note(text, "warning"));
}

function headerFacts({ baseline, candidate, differences, confirmation, groups, rule }: Comparison): Fact[] {
  const judged = groups.filter(({ verdict, runs }) => verdict !== null && runs !== null);
  const again =
    confirmation &&
    `${counted(confirmation.suspects.length, "cell")} in ${counted(confirmation.runs, "fresh process", "fresh processes")}`;
  return [
    ["Baseline", describeSet(baseline)],
    ["Candidate", describeSet(candidate)],
    ["Device", namesOfDevices(baseline, candidate)],
    ...(judged.length === 0
      ? []
      : [["Rule", `threshold ${describeThresholds(judged)}${rule.strict ? ", strict" : ""}`] as const]),
    ...(again === null ? [] : [["Measured again", again] as const]),
    ...differences.map((difference): Fact => ["Differs", describeDifference(difference)]),
  ];
}

function briefFacts({ baseline, candidate, differences }: Comparison): Fact[] {
  return [
    ["Baseline", describeSet(baseline)],
    ["Candidate", describeSet(candidate)],
    ...(differences.length === 0 ? [] : [["Differs", listed(differences.map(({ fact }) => fact))] as const]),
  ];
}

/** "3 %", or "3 % (pinned) and 5 % (pageable and staged)". */
function describeThresholds(groups: readonly GroupComparison[]): string {
  const byThreshold = groupBy(groups, ({ threshold }) => formatSetting(threshold));
  if (byThreshold.size === 1) return [...byThreshold.keys()][0]!;
  const texts = [...byThreshold].map(
    ([threshold, members]) => `${threshold} (${listed([...new Set(members.map(({ kind }) => kind))])})`,
  );
  return listed(texts);
}

function describeSet({ path, runs, sessions, startedAt }: ResultSetSummary): string {
  const when = sessions > 1 ? ` in ${sessions} sessions` : "";
  return `${path ?? "measured now"}, ${counted(runs, "run")}${when}, from ${timeText(startedAt)}`;
}

function namesOfDevices(baseline: ResultSetSummary, candidate: ResultSetSummary): string {
  const names = ({ deviceNames }: ResultSetSummary) => listed([...new Set(deviceNames)]) || "not known";
  const [before, now] = [names(baseline), names(candidate)];
  return before === now ? now : `${before} before, ${now} now`;
}

function describeDifference({ fact, baseline, candidate, blocks }: Difference): string {
  const obstacle = blocks ? " (not comparable)" : "";
  return `${fact}: ${baseline ?? "not known"} before, ${candidate ?? "not known"} now${obstacle}`;
}

const groupColumns: readonly Column[] = [
  wordColumn("group"),
  detail(numberColumn("cells")),
  detail(numberColumn("runs")),
  numberColumn("change"),
  detail(numberColumn("std errors")),
  detail(numberColumn("would show")),
  wordColumn("verdict"),
];

function isDecided({ verdict }: GroupComparison): boolean {
  return verdict !== null && verdict !== "undecided" && verdict !== "not slower";
}

function rankOf({ verdict }: Pick<GroupComparison, "verdict">): number {
  return verdict === null ? verdicts.length : verdicts.indexOf(verdict);
}

/**
 * A table of groups, most urgent verdict and largest loss first; none without groups. "40+5" runs are 40 of the
 * baseline and 5 of the candidate.
 */
function groupGrids(
  groups: readonly GroupComparison[],
  isShown: (group: GroupComparison) => boolean,
): Grid[] {
  const some = groups.filter(isShown);
  if (some.length === 0) return [];
  some.sort((a, b) => rankOf(a) - rankOf(b) || (a.change ?? 0) - (b.change ?? 0));
  const rows = some.map((group): Figure[] => {
    const { ids, runs, change, standardError, verdict } = group;
    const tone = verdict === null ? "muted" : verdictTone[verdict];
    return [
      figure(groupName(group, groups)),
      figure(`${ids.length}`),
      runs === null ? absentFigure : figure(`${runs.baseline}+${runs.candidate}`),
      change === null ? absentFigure : figure(formatChange(change, "down"), "", tone),
      change === null ? absentFigure : figure(errorsText(change, standardError!)),
      group.wouldShow === null ? absentFigure : figure(formatWholeShare(group.wouldShow, roundUp)),
      verdict === null ? figure("(control)", "", tone) : figure(verdict, "", tone),
    ];
  });
  return [{ caption: "Groups of cells, by speed: more is faster", columns: groupColumns, rows }];
}

function errorsText(change: number, standardError: number): string {
  return roundDown(errorsOf({ change: Math.log1p(change), standardError }), 1);
}

const cellColumns: readonly Column[] = [
  wordColumn("cell"),
  numberColumn("before"),
  numberColumn("now"),
  numberColumn("change"),
  detail(numberColumn("std errors", "from group")),
  wordColumn("verdict"),
];

const captions = {
  "GB/s": "Throughput in GB/s, more is faster",
  us: "Latency in µs, less is faster",
} as const;

function cellGrids(cells: readonly CellComparison[], nameOf: NameOfCompared): Grid[] {
  return (["GB/s", "us"] as const).flatMap((unit) => {
    const members = cells.filter((cell) => cell.unit === unit);
    if (members.length === 0) return [];
    return [
      { caption: captions[unit], columns: cellColumns, rows: members.map((cell) => cellRow(cell, nameOf)) },
    ];
  });
}

/** Mutes unchanged cells, so that the others stand out. */
function cellRow(cell: CellComparison, nameOf: NameOfCompared): Figure[] {
  const { baseline, candidate, change, standardErrors, unit, verdict } = cell;
  const tone = verdict === null ? "muted" : verdictTone[verdict];
  const format = unit === "us" ? formatMicroseconds : formatGBps;
  const side = (one: CellComparison["baseline"]) =>
    one === null ? absentFigure : figure(format(one.figure), "", tone === "muted" ? tone : "plain");
  return [
    figure(nameOf(cell), "", tone === "muted" ? tone : "plain"),
    side(baseline),
    side(candidate),
    change === null ? absentFigure : figure(formatChange(change, unit === "us" ? "up" : "down"), "", tone),
    standardErrors === null ? absentFigure : figure(roundDown(standardErrors, 1)),
    verdict === null ? figure("(control)", "", tone) : figure(verdict, "", tone),
  ];
}

const mostCells = 24;

function cellsBeyondThreshold({ cells, groups }: Comparison): CellComparison[] {
  const speedChange = ({ change, unit }: CellComparison) =>
    change === null ? 0 : unit === "us" ? 1 / (1 + change) - 1 : change;
  const thresholdOf = ({ id, moved }: CellComparison) =>
    groups.find((group) => group.moved === moved && group.ids.includes(id))?.threshold ?? 0;
  return cells
    .filter((cell) => cell.change === null || Math.abs(speedChange(cell)) > thresholdOf(cell))
    .sort((a, b) => rankOf(a) - rankOf(b) || speedChange(a) - speedChange(b))
    .slice(0, mostCells);
}

/** Why groups are missing or slower, unless the table or the headline shows it. */
function reasonsOf(groups: readonly GroupComparison[]): Note[] {
  return groups
    .filter((one) => one.verdict === "missing" || (one.verdict === "slower" && !isSlowerByItsRow(one)))
    .map((group) =>
      note(`${groupName(group, groups)}: ${group.verdict}. ${group.reason}`, verdictTone[group.verdict!]),
    );
}

function isSlowerByItsRow({ change, standardError, threshold }: GroupComparison): boolean {
  if (change === null || standardError === null) return false;
  return decide({ change: Math.log1p(change), standardError }, limitOf(threshold)) === "slower";
}

function machineGrid({ baseline, candidate }: Comparison): Grid {
  const facts = [...new Set([baseline, candidate].flatMap(({ fingerprint }) => Object.keys(fingerprint)))];
  const rows = facts.map((fact) => {
    const [before, now] = [baseline, candidate].map(({ fingerprint }) => fingerprint[fact] ?? "not known");
    return { isSame: before === now, texts: [fact, before!, now!] };
  });
  return {
    columns: [wordColumn(""), wordColumn("baseline"), wordColumn("candidate")],
    rows: [false, true].flatMap((same) =>
      rows
        .filter(({ isSame }) => isSame === same)
        .map(({ texts }) => texts.map((text) => figure(text, "", same ? "plain" : "warning"))),
    ),
  };
}
