import { roundUp } from "../../draw/numbers.js";
import { printableDocument } from "../../draw/printable-text.js";
import { type Column, figure, note, numberColumn, wordColumn } from "../../draw/report.js";
import type { Screen } from "../../draw/screen.js";
import { alertLines } from "../../draw/terminal/draw-terminal.js";
import { terminalGrid } from "../../draw/terminal/terminal-grid.js";
import { joinBlocks, paragraph } from "../../draw/terminal/terminal-text.js";
import { counted } from "../../draw/words.js";
import { formatDuration } from "../../settings/units.js";
import type { Sensitivity } from "../evidence/sensitivity.js";
import { fewestOccasions } from "../occasions.js";

/** The facts on a new baseline, and the changes that checks against it can detect. */
export interface BaselineReport {
  path: string;
  runs: number;
  cells: number;
  occasions: number;
  /** From the start of the first run until now. */
  spanNs: number;
  /** Set for the emulated device. */
  notice: string | null;
  /** Processes of the check that the sensitivity is for; as many more confirm. */
  checkRuns: number;
  /** By kind of memory; null if a single run leaves the spread between runs unknown. */
  sensitivity: Sensitivity | null;
}

const columns: readonly Column[] = [
  wordColumn("memory"),
  numberColumn("cells"),
  numberColumn("spread", "typical"),
  numberColumn("", "largest"),
  numberColumn("drop found", "typical"),
  numberColumn("", "largest"),
];

/** The size of a new baseline, and for each kind of memory its spread and the drops that checks against it detect. */
export function baselineReport(made: BaselineReport, screen: Screen): string {
  const report = printableDocument(made);
  const { path, runs, cells, occasions, notice, checkRuns, sensitivity } = report;
  const measuredOn = occasions > 1 ? `, measured on ${occasions} occasions` : "";
  const header = [
    ...alertLines(notice === null ? [] : [note(notice)], screen),
    ...paragraph(`${path} holds ${counted(runs, "run")} of ${counted(cells, "cell")}${measuredOn}.`, screen),
  ];
  if (sensitivity === null) {
    const advice = "One run does not show the spread between runs: use --runs 10 for a baseline.";
    return joinBlocks([[...header, ...paragraph(advice, screen)]]);
  }
  const percent = (share: number) => figure(`${roundUp(share * 100, share < 0.1 ? 1 : 0)} %`);
  const rows = sensitivity.kinds.map((kind) => [
    figure(kind.name),
    figure(String(kind.cells)),
    percent(kind.typicalDeviation),
    percent(kind.largestDeviation),
    percent(kind.typicalDrop),
    percent(kind.largestDrop),
  ]);
  if (occasions < fewestOccasions) header.push(...paragraph(describeShortMemory(report), screen));
  const explanation = `Spread is the standard deviation between runs. A check of ${counted(checkRuns, "run")}, with as many to confirm, finds a drop of this size 19 times out of 20 (at the current thresholds).`;
  return joinBlocks([header, terminalGrid({ columns, rows }, screen), paragraph(explanation, screen)]);
}

/** A note on a baseline of too few occasions. */
function describeShortMemory({ path, occasions, spanNs }: BaselineReport): string {
  const known =
    occasions === 1
      ? `All runs come from one ${formatDuration(roundedUp(spanNs))} window.`
      : `Two occasions do not show how much the machine differs between occasions: ${fewestOccasions} do.`;
  return `${known} \`pinbench baseline ${path} --append\` adds another occasion later; --sessions adds several in one go.`;
}

/** To whole seconds, and from two minutes on to whole minutes. */
function roundedUp(durationNs: number): number {
  const unitNs = durationNs < 120e9 ? 1e9 : 60e9;
  return Math.ceil(durationNs / unitNs) * unitNs;
}
