import { formatChange, formatSetting, formatWholeShare, roundUp } from "../../draw/numbers.js";
import {
  type Column,
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
  type Tone,
  wordColumn,
} from "../../draw/report.js";
import { counted, listed, timeText } from "../../draw/words.js";
import { absentFigure, sign } from "../../results/naming/cell-figure.js";
import { noticeIn } from "../../results/naming/wording.js";
import {
  type CellComparison,
  type Comparison,
  type Difference,
  isFailing,
  type ResultSetSummary,
  type Verdict,
} from "../comparison.js";
import {
  bySeverity,
  changeEstimate,
  changeText,
  explainedText,
  freshProcesses,
  groupName,
  intervalText,
  isTooWide,
  type NameOfCompared,
  rangeText,
  sideText,
  unitName,
} from "./cell-text.js";
import { describeVerdict, presentVerdicts, verdictTone } from "./outcome.js";

/** The common content of a comparison's table and its Markdown. */

/** The header: both sides, the rule, and the facts in which they differ. */
export function comparisonFacts(comparison: Comparison): Fact[] {
  const { baseline, candidate, differences, confirmation } = comparison;
  return [
    ["Baseline", describeSet(baseline)],
    ["Candidate", describeSet(candidate)],
    ["Device", namesOfDevices(baseline, candidate)],
    ["Rule", describeRule(comparison)],
    ...(confirmation === null ? [] : [["Confirmed", describeConfirmation(confirmation)] as const]),
    ...differences.map((difference): Fact => ["Differs", describeDifference(difference)]),
  ];
}

/** Alerts before any figure: the emulated device, different machines, unfinished runs. */
export function comparisonAlerts(comparison: Comparison): Note[] {
  const notice = noticeIn(comparison);
  const alerts = notice === null ? [] : [notice];
  const overruled = comparison.differences.filter(({ isOverruled }) => isOverruled);
  if (overruled.length > 0) {
    const facts = listed(overruled.map(({ fact }) => fact));
    alerts.push(`different ${facts}, compared anyway (--allow-mismatch)`);
  }
  return [...alerts, ...(comparison.unfinished ?? [])].map((text) => note(text, "warning"));
}

function describeSet({ path, runs, occasions, startedAt }: ResultSetSummary): string {
  const when = occasions > 1 ? ` on ${occasions} occasions` : "";
  return `${path ?? "measured now"}, ${counted(runs, "run")}${when}, from ${timeText(startedAt)}`;
}

function namesOfDevices(baseline: ResultSetSummary, candidate: ResultSetSummary): string {
  const names = ({ deviceNames }: ResultSetSummary) => listed([...new Set(deviceNames)]) || "not known";
  const [before, now] = [names(baseline), names(candidate)];
  return before === now ? now : `${before} before, ${now} now`;
}

function describeRule({ rule, cells }: Comparison): string {
  const { threshold, floorGBps, floorUs, significance, strict } = rule;
  const floors = [...(floorGBps > 0 ? [`${floorGBps} GB/s`] : []), ...(floorUs > 0 ? [`${floorUs} µs`] : [])];
  return [
    describeThresholds(threshold, cells),
    ...(floors.length === 0 ? [] : [`floor ${floors.join(" and ")}`]),
    `significance ${formatSetting(significance)} over all cells`,
    ...(strict ? ["strict"] : []),
  ].join(", ");
}

/** The usual threshold, and the thresholds of other cells. */
function describeThresholds(usual: number, cells: Comparison["cells"]): string {
  const others = [...new Set(cells.map(({ threshold }) => threshold))].filter((one) => one !== usual);
  const usualText = `threshold ${formatSetting(usual)}`;
  if (others.length === 0) return usualText;
  const isUsed = cells.some(({ threshold }) => threshold === usual);
  const list = listed(others.sort((a, b) => a - b).map(formatSetting));
  return isUsed ? `${usualText}, of some cells ${list}` : `threshold ${list}`;
}

function describeConfirmation({ runs, atMost, suspects }: NonNullable<Comparison["confirmation"]>): string {
  const bound = atMost > runs ? `, of at most ${atMost}` : "";
  return `${counted(suspects.length, "suspect")} measured again by ${freshProcesses(runs)}${bound}`;
}

function describeDifference(difference: Difference): string {
  const { fact, baseline, candidate, blocks } = difference;
  const obstacle = blocks ? " (not comparable)" : "";
  return `${fact}: ${baseline ?? "not known"} before, ${candidate ?? "not known"} now${obstacle}`;
}

const captions = {
  "GB/s": `Throughput in ${unitName["GB/s"]}, more is faster`,
  us: `Latency in ${unitName.us}, less is faster`,
} as const;

const columns: readonly Column[] = [
  wordColumn("cell"),
  numberColumn("before"),
  numberColumn("now"),
  numberColumn("change"),
  wordColumn("verdict"),
];

/** A table for each unit, with a row for each of its cells, in order. */
export function comparisonGrids(
  cells: readonly CellComparison[],
  nameOf: NameOfCompared,
): (Grid & { caption: string })[] {
  return (["GB/s", "us"] as const).flatMap((unit) => {
    const members = cells.filter((cell) => cell.unit === unit);
    return members.length === 0
      ? []
      : [{ caption: captions[unit], columns, rows: members.map((cell) => rowOf(cell, nameOf)) }];
  });
}

/** A table of the groups, in the order of the cells. */
export function groupGrids({ groups }: Pick<Comparison, "groups">): (Grid & { caption: string })[] {
  if (groups.length === 0) return [];
  const rows = groups.map((group) => {
    const { ids, change, low, high, wouldShow, verdict, isWithHost } = group;
    const tone = verdictTone[verdict];
    const interval = low === null || high === null ? sign.noInterval : `(${rangeText(low, high)})`;
    return [
      figure(groupName(group, groups), isWithHost ? "with host memory" : ""),
      figure(`${ids.length}`),
      change === null ? absentFigure : figure(formatChange(change, "down"), interval, tone),
      wouldShow === null ? absentFigure : figure(formatWholeShare(wouldShow, roundUp)),
      figure(verdict, "", tone),
    ];
  });
  const columns = [
    wordColumn("together"),
    spared(numberColumn("cells"), 1),
    numberColumn("change"),
    numberColumn("would show"),
    wordColumn("verdict"),
  ];
  return [{ caption: "Cells of a kind together, in speed: more is faster", columns, rows }];
}

/** Most rows of a table of notable cells. */
const mostRows = { failing: 24, others: 4 };

/**
 * The cells that a table shows by default, worst first: those that fail, and a few other notable ones. Undecided cells
 * of a group are left to the group, unless one seems to have lost its threshold. Those of the host are a control.
 */
export function cellsToShow(comparison: Comparison): CellComparison[] {
  const { cells, groups, rule } = comparison;
  const ordered = bySeverity(cells);
  const isInGroup = ({ id, moved, memory }: CellComparison) =>
    memory === "host" || groups.some((group) => group.moved === moved && group.ids.includes(id));
  const lost = (cell: CellComparison) => {
    const change = changeEstimate(cell)?.figure ?? 0;
    return cell.unit === "us" ? change : -change;
  };
  const isNotable = (cell: CellComparison) =>
    cell.verdict !== "not slower" &&
    (cell.verdict !== "inconclusive" || !isInGroup(cell) || lost(cell) >= cell.threshold);
  const failing = ordered.filter((cell) => isFailing(cell, rule));
  const others = ordered.filter((cell) => !isFailing(cell, rule) && isNotable(cell));
  return [...failing.slice(0, mostRows.failing), ...others.slice(0, mostRows.others)];
}

/** A note on the number of hidden cells by verdict; none if all are shown. */
export function hiddenNotes({ cells }: Comparison, shown: readonly CellComparison[]): Note[] {
  const hidden = cells.filter((cell) => !shown.includes(cell));
  if (hidden.length === 0) return [];
  const parts = [...groupBy(bySeverity(hidden), ({ verdict }) => verdict)].map(
    ([verdict, members]) => `${members.length} ${verdict}`,
  );
  return [note(`${counted(hidden.length, "cell")} not shown (--all shows them): ${parts.join(", ")}`)];
}

/** Unchanged cells are muted, so that the few others stand out. */
function rowOf(cell: CellComparison, nameOf: NameOfCompared): Figure[] {
  const tone = verdictTone[cell.verdict];
  const background: Tone = tone === "muted" ? "muted" : "plain";
  return [
    figure(nameOf(cell), "", background),
    sideFigure(cell.baseline, cell.unit, background),
    sideFigure(cell.candidate, cell.unit, background),
    changeFigure(cell, tone),
    figure(cell.verdict, "", tone),
  ];
}

function sideFigure(side: { figure: number } | null, unit: CellComparison["unit"], tone: Tone): Figure {
  const text = sideText(side, unit);
  return text === null ? absentFigure : figure(text, "", tone);
}

function changeFigure(cell: CellComparison, tone: Tone): Figure {
  const change = changeText(cell);
  if (change === null) return absentFigure;
  const interval = intervalText(cell);
  return figure(change, interval === null ? sign.noInterval : `(${interval})`, tone);
}

/** Notes below the tables: reasons of the verdicts that matter, what the others mean, and further notes. */
export function notesBelow(
  comparison: Comparison,
  nameOf: NameOfCompared,
  shown: readonly CellComparison[] = comparison.cells,
): Note[] {
  const { cells, notes } = comparison;
  const verdicts = presentVerdicts(comparison);
  const meanings = verdicts.filter(needsNoReason).map(describeVerdict);
  return [
    ...verdicts
      .filter((verdict) => !needsNoReason(verdict))
      .flatMap((verdict) => reasonsOf(verdict, cells, nameOf)),
    ...(meanings.length === 0 ? [] : [note(meanings.join("; "), "muted")]),
    ...intervalNotes(shown),
    ...explainedNotes(cells),
    ...notes.map((text) => note(`note: ${text}`)),
  ];
}

/** One line on the part that the host's memory explains, for all affected cells. */
function explainedNotes(cells: readonly CellComparison[]): Note[] {
  const explained = cells.filter((cell) => explainedText(cell) !== null);
  if (explained.length === 0) return [];
  const texts = [...explained].sort((a, b) => a.explainedByHost! - b.explainedByHost!).map(explainedText);
  const [least, most] = [texts[0]!, texts.at(-1)!];
  const range = least === most ? least : `${least.replace(/ %$/, "")} to ${most}`;
  const kinds = listed([...new Set(explained.map(({ memory }) => memory))]);
  return [
    note(
      `${counted(explained.length, `${kinds} cell`)} would change by ${range} if only host memory had changed: the verdict is about the rest`,
    ),
  ];
}

/** Each reason for a verdict once, with the cell or the number of cells. */
function reasonsOf(verdict: Verdict, cells: readonly CellComparison[], nameOf: NameOfCompared): Note[] {
  return reasonNotes(
    cells.filter((cell) => cell.verdict === verdict),
    ({ reason }) => [reason],
    (members) => (members.length === 1 ? nameOf(members[0]!) : counted(members.length, "cell")),
    verdict,
    verdictTone[verdict],
  );
}

/** Good verdicts: one muted note explains them. */
function needsNoReason(verdict: Verdict): boolean {
  return verdict === "not slower" || verdict === "faster" || verdict === "new";
}

/** Why a change has no usable interval. */
function intervalNotes(cells: readonly CellComparison[]): Note[] {
  const changes = cells.map(changeEstimate).filter((change) => change !== null);
  const reasons = [
    ...(changes.some(({ interval }) => interval === null)
      ? ["the noise between processes is not known"]
      : []),
    ...(changes.some(isTooWide) ? ["the noise between processes is larger than the figure itself"] : []),
  ];
  return reasons.length === 0
    ? []
    : [note(`${sign.noInterval} no interval: ${reasons.join(", or ")}`, "muted")];
}
