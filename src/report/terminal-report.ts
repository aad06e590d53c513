import type { Fact, Grid, Note } from "./report-parts.js";
import { type Screen, textColumns } from "./screen.js";
import { terminalGrid } from "./terminal-grid.js";
import { factLines, joinBlocks, paint, wrapAfter } from "./terminal-text.js";

/** What every document shows at a terminal, in this order. */
export interface TerminalReport {
  title: string;
  /** What must be read before any figure. */
  alerts: readonly Note[];
  facts: readonly Fact[];
  grids: readonly Grid[];
  /** What must be known to read the tables. */
  notes: readonly Note[];
  /** Blocks of lines that are ready to be shown. */
  appendix?: readonly (readonly string[])[];
  /** What follows from the figures. */
  conclusions: readonly Note[];
}

/** How far everything but titles and conclusions is indented. */
export const indent = "  ";

/** A document for people at a terminal. */
export function terminalReport(report: TerminalReport, screen: Screen): string {
  const { chalk } = screen;
  const { title, alerts, facts, grids, notes, appendix = [], conclusions } = report;
  const noteLines = (shown: readonly Note[], prefix: string) =>
    shown.flatMap(({ text, tone }) =>
      wrapAfter(prefix, text, textColumns(screen)).map((line) => paint(line, tone, screen)),
    );
  return joinBlocks([
    [
      chalk.bold(title),
      ...alerts.map(({ text, tone }) => chalk.bold(paint(`! ${text}`, tone, screen))),
      ...factLines(facts, indent, screen),
    ],
    ...grids.map((grid) => [
      ...(grid.caption === undefined ? [] : [chalk.bold(grid.caption)]),
      ...terminalGrid(grid, screen, indent),
      ...(grid.footnote === undefined
        ? []
        : wrapAfter(indent, grid.footnote, textColumns(screen)).map((line) => chalk.dim(line))),
    ]),
    noteLines(notes, indent),
    ...appendix,
    noteLines(conclusions, "=> "),
  ]);
}
