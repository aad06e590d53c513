import type { ChalkInstance } from "chalk";
import type { Comparison } from "../../compare/comparison.js";
import { terminalGrid } from "../terminal-grid.js";
import { factLines, joinBlocks, noteLines, paint } from "../terminal-text.js";
import { comparisonGrids } from "./comparison-grid.js";
import { comparisonAlerts, comparisonFacts } from "./header.js";
import { comparisonNotes } from "./notes.js";
import { describeOutcome, outcomeTone } from "./outcome.js";

const indent = "  ";

/** The comparison for people at a terminal. Colours are the chalk instance's: level 0 gives plain text. */
export function comparisonTable(comparison: Comparison, chalk: ChalkInstance): string {
  const outcome = { text: describeOutcome(comparison), tone: outcomeTone[comparison.outcome] };
  return joinBlocks([
    headerBlock(comparison, chalk),
    ...comparisonGrids(comparison.cells).map((grid) => [
      chalk.bold(grid.caption),
      ...terminalGrid(grid, chalk).map((line) => indent + line),
    ]),
    comparisonNotes(comparison).flatMap((note) => noteLines(note, indent, chalk)),
    noteLines(outcome, "=> ", chalk),
  ]);
}

function headerBlock(comparison: Comparison, chalk: ChalkInstance): string[] {
  return [
    chalk.bold(`pinbench ${comparison.tool.version} ${comparison.command}`),
    ...comparisonAlerts(comparison).map(({ text, tone }) => chalk.bold(paint(`! ${text}`, tone, chalk))),
    ...factLines(comparisonFacts(comparison), indent, chalk),
  ];
}
