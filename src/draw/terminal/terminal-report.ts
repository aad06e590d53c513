import type { Fact, Grid, Note, Section } from "../report-parts.js";
import type { Screen } from "../screen.js";
import { indent, terminalGrid } from "./terminal-grid.js";
import { factLines, joinBlocks, paint, paragraph } from "./terminal-text.js";

/** What every document shows at a terminal, in this order. */
export interface TerminalReport {
  title: string;
  /** What must be read before any figure. */
  alerts: readonly Note[];
  /** What it comes to, in a few sentences. */
  answer: readonly Note[];
  facts: readonly Fact[];
  grids: readonly Grid[];
  /** What must be known to read the tables. */
  notes: readonly Note[];
  /** Blocks of lines that are ready to be shown. */
  plots?: readonly (readonly string[])[];
  /** What is told apart from the rest. */
  appendix?: readonly Section[];
  /** What follows from the figures besides; none where the answer says all. */
  conclusions?: readonly Note[];
}

/** Where the words of the tables are explained. */
const termsFact: Fact = ["Words", "pinbench help terms says what each of them means"];

/** A document for people at a terminal. */
export function terminalReport(report: TerminalReport, screen: Screen): string {
  const { title, alerts, answer, facts, grids, notes, plots = [], appendix = [], conclusions = [] } = report;
  const { chalk } = screen;
  const noteLines = (shown: readonly Note[], prefix: string) =>
    shown.flatMap(({ text, tone }) =>
      paragraph(text, screen, { prefix, style: (line) => paint(line, tone, screen) }),
    );
  return joinBlocks([
    [...paragraph(title, screen, { style: chalk.bold }), ...alertLines(alerts, screen)],
    noteLines(answer, "=> ").map((line) => chalk.bold(line)),
    factLines([...facts, termsFact], indent, screen),
    ...grids.map((grid) => gridLines(grid, screen)),
    noteLines(notes, indent),
    ...plots,
    ...appendix.map(({ title, opening, grid }) => [
      ...paragraph(title, screen, { style: chalk.bold }),
      ...paragraph(opening, screen, { prefix: indent }),
      ...(grid === null ? [] : gridLines(grid, screen)),
    ]),
    noteLines(conclusions, "=> "),
  ]);
}

/** What must be read before any figure. */
export function alertLines(alerts: readonly Note[], screen: Screen): string[] {
  return alerts.flatMap(({ text, tone }) =>
    paragraph(text, screen, { prefix: "! ", style: (line) => screen.chalk.bold(paint(line, tone, screen)) }),
  );
}

/** A table between its caption and its footnote. */
export function gridLines(grid: Grid, screen: Screen): string[] {
  const { caption, footnote } = grid;
  const { chalk } = screen;
  return [
    ...(caption === undefined ? [] : paragraph(caption, screen, { style: chalk.bold })),
    ...terminalGrid(grid, screen),
    ...(footnote === undefined ? [] : paragraph(footnote, screen, { prefix: indent, style: chalk.dim })),
  ];
}
