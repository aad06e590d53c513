import type {
  CellComparison,
  Comparison,
  Difference,
  ResultSetSummary,
  Verdict,
} from "../../compare/comparison.js";
import { sign } from "../cell-figure.js";
import { formatSetting } from "../format-number.js";
import type { Fact } from "../report-parts.js";
import { type Column, type Figure, figure, type Grid, type Note, type Tone } from "../report-parts.js";
import { counted, listed } from "../wording.js";
import {
  cellName,
  changeEstimate,
  changeText,
  comparisonNotice,
  formatFigure,
  freshProcesses,
  intervalText,
  unitName,
} from "./cell-text.js";
import { describeVerdict, presentVerdicts, verdictTone } from "./outcome.js";

/** The content that a comparison's table and its Markdown have in common, before it is drawn. */

/** The header: what was compared with what, by which rule, and in which facts the two differ. */
export function comparisonFacts(comparison: Comparison): Fact[] {
  const { baseline, candidate, differences, confirmation } = comparison;
  return [
    { label: "Baseline", value: describeSet(baseline) },
    { label: "Candidate", value: describeSet(candidate) },
    { label: "Device", value: describeDevices(baseline, candidate) },
    { label: "Rule", value: describeRule(comparison) },
    ...(confirmation === null ? [] : [{ label: "Confirmed", value: describeConfirmation(confirmation) }]),
    ...differences.map((difference) => ({ label: "Differs", value: describeDifference(difference) })),
  ];
}

/** What must be read before any figure: that they are an emulated device's, or of machines that are not alike. */
export function comparisonAlerts(comparison: Comparison): Note[] {
  const notice = comparisonNotice(comparison);
  const overruled = comparison.differences.filter(({ isOverruled }) => isOverruled);
  return [
    ...(notice === null ? [] : [{ text: notice, tone: "warning" } as const]),
    ...(overruled.length === 0
      ? []
      : [
          {
            text: `not alike in ${listed(overruled.map(({ fact }) => fact))}, compared all the same (--allow-mismatch)`,
            tone: "warning",
          } as const,
        ]),
  ];
}

function describeSet({ path, runs, startedAt }: ResultSetSummary): string {
  return `${path ?? "measured now"}, ${counted(runs, "run")}, from ${startedAt}`;
}

function describeDevices(baseline: ResultSetSummary, candidate: ResultSetSummary): string {
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

/** The usual threshold, and those of the cells that have another. */
function describeThresholds(usual: number, cells: Comparison["cells"]): string {
  const others = [...new Set(cells.map(({ threshold }) => threshold))].filter((one) => one !== usual);
  const usualText = `threshold ${formatSetting(usual)}`;
  if (others.length === 0) return usualText;
  const isUsed = cells.some(({ threshold }) => threshold === usual);
  const list = listed(others.sort((a, b) => a - b).map(formatSetting));
  return isUsed ? `${usualText}, of some cells ${list}` : `threshold ${list}`;
}

function describeConfirmation({ runs, suspects }: NonNullable<Comparison["confirmation"]>): string {
  return `${counted(suspects.length, "suspect")} measured again by ${freshProcesses(runs)}`;
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
  { head: ["cell"], align: "left" },
  { head: ["baseline"], align: "right" },
  { head: ["candidate"], align: "right" },
  { head: ["change"], align: "right" },
  { head: ["verdict"], align: "left" },
];

/** A table for each unit, with a row for each of its cells, in their order. */
export function comparisonGrids(cells: readonly CellComparison[]): Grid[] {
  return (["GB/s", "us"] as const).flatMap((unit) => {
    const members = cells.filter((cell) => cell.unit === unit);
    return members.length === 0 ? [] : [{ caption: captions[unit], columns, rows: members.map(rowOf) }];
  });
}

/** What is the same stays in the background, so that the few rows of a hundred that are not stand out. */
function rowOf(cell: CellComparison): Figure[] {
  const tone = verdictTone[cell.verdict];
  const background: Tone = tone === "muted" ? "muted" : "plain";
  return [
    figure(cellName(cell), "", background),
    sideFigure(cell.baseline, cell.unit, background),
    sideFigure(cell.candidate, cell.unit, background),
    changeFigure(cell, tone),
    figure(cell.verdict, "", tone),
  ];
}

function sideFigure(side: { figure: number } | null, unit: CellComparison["unit"], tone: Tone): Figure {
  return side === null || !Number.isFinite(side.figure)
    ? figure(sign.absent, "", "muted")
    : figure(formatFigure(side.figure, unit), "", tone);
}

function changeFigure(cell: CellComparison, tone: Tone): Figure {
  const change = changeText(cell);
  if (change === null) {
    return figure(sign.absent, "", "muted");
  }
  const interval = intervalText(cell);
  return figure(change, interval === null ? sign.noInterval : `(${interval})`, tone);
}

/** What stands below the tables: the reasons of the verdicts that matter, what the others mean, and the notes. */
export function notesBelow(comparison: Comparison): Note[] {
  const { cells, notes } = comparison;
  return [
    ...verdictReasons(comparison),
    ...legend(comparison),
    ...(cells.some(hasNoInterval)
      ? [
          {
            text: `${sign.noInterval} no interval: the noise between processes is not known`,
            tone: "muted",
          } as const,
        ]
      : []),
    ...notes.map((text): Note => ({ text: `note: ${text}`, tone: "plain" })),
  ];
}

/** What those verdicts mean for which no reason is listed, in one note that can be passed over. */
function legend(comparison: Comparison): Note[] {
  const meanings = presentVerdicts(comparison).filter(needsNoReason).map(describeVerdict);
  return meanings.length === 0 ? [] : [{ text: meanings.join("; "), tone: "muted" }];
}

/** Each reason once, with the cell or the number of cells that it holds for; none for cells with which all is well. */
function verdictReasons(comparison: Comparison): Note[] {
  return presentVerdicts(comparison)
    .filter((verdict) => !needsNoReason(verdict))
    .flatMap((verdict) => {
      const affected = new Map<string, CellComparison[]>();
      for (const cell of comparison.cells) {
        if (cell.verdict === verdict) {
          affected.set(cell.reason, [...(affected.get(cell.reason) ?? []), cell]);
        }
      }
      return [...affected].map(([reason, members]): Note => {
        const [first] = members;
        const whom =
          members.length === 1 && first !== undefined ? cellName(first) : counted(members.length, "cell");
        return { text: `${verdict}: ${reason.replace(/\.$/, "")} (${whom})`, tone: verdictTone[verdict] };
      });
    });
}

function needsNoReason(verdict: Verdict): boolean {
  return verdict === "same" || verdict === "faster" || verdict === "new";
}

function hasNoInterval(cell: CellComparison): boolean {
  const change = changeEstimate(cell);
  return change !== null && change.interval === null;
}
