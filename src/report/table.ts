import type { ChalkInstance } from "chalk";
import type { ResultDocument } from "../results/schema.js";
import { cellGrids } from "./cell-grids.js";
import { cellNotes } from "./cell-notes.js";
import { type ColdStartReport, coldStartReports } from "./cold-start-report.js";
import { findings } from "./findings.js";
import type { Grid } from "./report-parts.js";
import { headerAlerts, headerFacts } from "./result-header.js";
import { paint, terminalGrid } from "./terminal-grid.js";
import { factLines, joinBlocks, noteLines, textWidth } from "./terminal-text.js";
import { wrapAfter } from "./wrap.js";

const indent = "  ";

/** The result for people at a terminal. Colours are the chalk instance's: level 0 gives plain text. */
export function tableReport(document: ResultDocument, chalk: ChalkInstance): string {
  return joinBlocks([
    headerBlock(document, chalk),
    ...cellGrids(document).map((grid) => gridBlock(grid, chalk)),
    cellNotes(document).flatMap((note) => noteLines(note, indent, chalk)),
    ...coldStartReports(document).map((report) => coldStartBlock(report, chalk)),
    findings(document).flatMap((note) => noteLines(note, "=> ", chalk)),
  ]);
}

function headerBlock(document: ResultDocument, chalk: ChalkInstance): string[] {
  return [
    chalk.bold(`pinbench ${document.tool.version}`),
    ...headerAlerts(document).map(({ text, tone }) => chalk.bold(paint(`! ${text}`, tone, chalk))),
    ...factLines(headerFacts(document), indent, chalk),
  ];
}

function gridBlock(grid: Grid, chalk: ChalkInstance): string[] {
  return [chalk.bold(grid.caption), ...indentedGrid(grid, chalk)];
}

function coldStartBlock(report: ColdStartReport, chalk: ChalkInstance): string[] {
  const { title, opening, pinning, explanation } = report;
  return [
    chalk.bold(title),
    indent + opening,
    ...(pinning === null ? [] : indentedGrid(pinning, chalk)),
    ...(explanation === null ? [] : wrapAfter(indent, explanation, textWidth).map((line) => chalk.dim(line))),
  ];
}

function indentedGrid(grid: Grid, chalk: ChalkInstance): string[] {
  return terminalGrid(grid, chalk).map((line) => indent + line);
}
