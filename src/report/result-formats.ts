import { jsonReport } from "../draw/json.js";
import { alertBlocks, escapeMarkdown, factItem, listItem, markdownGrid } from "../draw/markdown-text.js";
import { printableDocument } from "../draw/printable-text.js";
import type { Grid } from "../draw/report-parts.js";
import type { Screen } from "../draw/screen.js";
import { terminalReport } from "../draw/terminal/terminal-report.js";
import { joinBlocks } from "../draw/terminal/terminal-text.js";
import type { ResultDocument } from "../results/schema.js";
import type { PictureFormat, ReportFormat } from "../settings/choices.js";
import { answer, closingLines } from "./answer.js";
import { cellGrids } from "./cell-grids.js";
import { cellNotes } from "./cell-notes.js";
import { coldStartReports } from "./cold-start-report.js";
import { formatByExtension } from "./format-by-extension.js";
import { csvReport } from "./result-csv.js";
import { headerAlerts, headerFacts } from "./result-header.js";

const formatOfExtension = { ".json": "json", ".csv": "csv", ".md": "markdown", ".txt": "table" } as const;

/** The format that an `--output` path of a result asks for by its extension. Throws a usage error for others. */
export function formatOfPath(path: string): ReportFormat | PictureFormat {
  return formatByExtension(path, formatOfExtension);
}

/** Draws curves of a result, a block of lines for each plot. */
export type DrawPlots = (document: ResultDocument, screen: Screen) => string[][];

/**
 * The whole text of a result. The table is drawn for the screen, with the plots below it where there are to be any; of the
 * other formats Markdown alone asks the screen how to call cells.
 */
export function renderReport(
  document: ResultDocument,
  format: ReportFormat,
  screen: Screen,
  drawPlots: DrawPlots = () => [],
): string {
  return renderers[format](format === "json" ? document : printableDocument(document), screen, drawPlots);
}

type Renderer = (document: ResultDocument, screen: Screen, drawPlots: DrawPlots) => string;

const renderers: Readonly<Record<ReportFormat, Renderer>> = {
  table: tableReport,
  json: jsonReport,
  csv: csvReport,
  markdown: markdownReport,
};

/** The result for people at a terminal. */
export function tableReport(
  document: ResultDocument,
  screen: Screen,
  drawPlots: DrawPlots = () => [],
): string {
  const report = {
    title: `pinbench ${document.tool.version}`,
    alerts: headerAlerts(document),
    answer: answer(document),
    facts: headerFacts(document),
    grids: cellGrids(document),
    notes: cellNotes(document, screen),
    plots: drawPlots(document, screen),
    appendix: coldStartReports(document),
    conclusions: closingLines(document),
  };
  return terminalReport(report, screen);
}

/** The content of the terminal's tables in GitHub's Markdown, for a pull request or a job summary. */
export function markdownReport(
  document: ResultDocument,
  screen: Pick<Screen, "showsIds"> = { showsIds: false },
): string {
  const closing = closingLines(document);
  return joinBlocks([
    [`# pinbench ${document.tool.version}`],
    ...alertBlocks(headerAlerts(document)),
    answer(document).map(listItem),
    headerFacts(document).map(factItem),
    ...cellGrids(document).flatMap((cells) => [
      [`## ${escapeMarkdown(cells.caption)}`],
      ...gridBlocks(cells),
    ]),
    cellNotes(document, screen).map(listItem),
    ...coldStartReports(document).flatMap(({ title, opening, grid }) => [
      [`## ${escapeMarkdown(title)}`],
      [escapeMarkdown(opening)],
      ...(grid === null ? [] : gridBlocks(grid)),
    ]),
    ...(closing.length === 0 ? [] : [["## Findings"], closing.map(listItem)]),
  ]);
}

function gridBlocks(grid: Grid): string[][] {
  return [markdownGrid(grid), ...(grid.footnote === undefined ? [] : [[escapeMarkdown(grid.footnote)]])];
}
