import type { ChalkInstance } from "chalk";
import type { ResultDocument } from "../results/schema.js";
import { cellGrids } from "./cell-grids.js";
import { cellNotes } from "./cell-notes.js";
import { coldStartReports } from "./cold-start-report.js";
import { csvReport } from "./csv.js";
import { findings } from "./findings.js";
import { formatByExtension } from "./format-by-extension.js";
import { jsonReport } from "./json.js";
import { escapeMarkdown, listItem, markdownGrid } from "./markdown-text.js";
import type { Grid } from "./report-parts.js";
import { headerAlerts, headerFacts } from "./result-header.js";
import { terminalGrid } from "./terminal-grid.js";
import { factLines, joinBlocks, noteLines, paint, textWidth, wrapAfter } from "./terminal-text.js";

/** Values of `--format` for a result. */
export const reportFormats = ["table", "json", "csv", "markdown"] as const;

/** The format of a result, as `--format` names it. */
export type ReportFormat = (typeof reportFormats)[number];

const formatOfExtension: ReadonlyMap<string, ReportFormat> = new Map([
  [".json", "json"],
  [".csv", "csv"],
  [".md", "markdown"],
  [".txt", "table"],
]);

/** The format that an `--output` path of a result asks for by its extension. Throws a usage error for others. */
export function formatOfPath(path: string): ReportFormat {
  return formatByExtension(path, formatOfExtension, "json");
}

/** The whole text of a result. Only the table has colours: those of the chalk instance. */
export function renderReport(document: ResultDocument, format: ReportFormat, chalk: ChalkInstance): string {
  switch (format) {
    case "table":
      return tableReport(document, chalk);
    case "json":
      return jsonReport(document);
    case "csv":
      return csvReport(document);
    case "markdown":
      return markdownReport(document);
  }
}

const indent = "  ";

/** The result for people at a terminal. Colours are the chalk instance's: level 0 gives plain text. */
export function tableReport(document: ResultDocument, chalk: ChalkInstance): string {
  const grid = (shown: Grid) => terminalGrid(shown, chalk).map((line) => indent + line);
  return joinBlocks([
    [
      chalk.bold(`pinbench ${document.tool.version}`),
      ...headerAlerts(document).map(({ text, tone }) => chalk.bold(paint(`! ${text}`, tone, chalk))),
      ...factLines(headerFacts(document), indent, chalk),
    ],
    ...cellGrids(document).map((cells) => [chalk.bold(cells.caption), ...grid(cells)]),
    cellNotes(document).flatMap((note) => noteLines(note, indent, chalk)),
    ...coldStartReports(document).map(({ title, opening, pinning }) => [
      chalk.bold(title),
      indent + opening,
      ...(pinning === null
        ? []
        : [
            ...grid(pinning.grid),
            ...wrapAfter(indent, pinning.explanation, textWidth).map((line) => chalk.dim(line)),
          ]),
    ]),
    findings(document).flatMap((note) => noteLines(note, "=> ", chalk)),
  ]);
}

/** The content of the terminal's tables in GitHub's Markdown, for a pull request or a job summary. */
export function markdownReport(document: ResultDocument): string {
  return joinBlocks([
    [`# pinbench ${document.tool.version}`],
    ...headerAlerts(document).map(({ text }) => [`> **${escapeMarkdown(text)}**`]),
    headerFacts(document).map(({ label, value }) => `- **${label}:** ${escapeMarkdown(value)}`),
    ...cellGrids(document).flatMap((cells) => [[`## ${escapeMarkdown(cells.caption)}`], markdownGrid(cells)]),
    cellNotes(document).map(listItem),
    ...coldStartReports(document).flatMap(({ title, opening, pinning }) => [
      [`## ${escapeMarkdown(title)}`],
      [escapeMarkdown(opening)],
      ...(pinning === null ? [] : [markdownGrid(pinning.grid), [escapeMarkdown(pinning.explanation)]]),
    ]),
    ["## Findings"],
    findings(document).map(listItem),
  ]);
}
