import type { ResultDocument } from "../results/schema.js";
import { cellGrids } from "./cell-grids.js";
import { cellNotes } from "./cell-notes.js";
import { type ColdStartReport, coldStartReports } from "./cold-start-report.js";
import { findings } from "./findings.js";
import type { Column, Figure, Grid, Note } from "./report-parts.js";
import { headerAlerts, headerFacts } from "./result-header.js";

import { joinBlocks } from "./terminal-text.js";

/** The content of the terminal's tables in GitHub's Markdown, for a pull request or a job summary. */
export function markdownReport(document: ResultDocument): string {
  const blocks = [
    [`# pinbench ${document.tool.version}`],
    ...headerAlerts(document).map(({ text }) => [`> **${escapeMarkdown(text)}**`]),
    headerFacts(document).map(({ label, value }) => `- **${label}:** ${escapeMarkdown(value)}`),
    ...cellGrids(document).flatMap((grid) => [[`## ${escapeMarkdown(grid.caption)}`], markdownGrid(grid)]),
    cellNotes(document).map(listItem),
    ...coldStartReports(document).flatMap(coldStartBlocks),
    ["## Findings"],
    findings(document).map(listItem),
  ];
  return joinBlocks(blocks);
}

function coldStartBlocks({ title, opening, pinning, explanation }: ColdStartReport): string[][] {
  return [
    [`## ${escapeMarkdown(title)}`],
    [escapeMarkdown(opening)],
    ...(pinning === null ? [] : [markdownGrid(pinning)]),
    ...(explanation === null ? [] : [[escapeMarkdown(explanation)]]),
  ];
}

export function markdownGrid({ columns, rows }: Grid): string[] {
  return [
    tableRow(columns.map(({ head }) => escapeMarkdown(headText(head)))),
    tableRow(columns.map(alignment)),
    ...rows.map((row) => tableRow(row.map(cellText))),
  ];
}

/** "pinned/" above "link" is one word; other lines are words of their own. */
function headText(head: readonly string[]): string {
  return head
    .filter((line) => line !== "")
    .join(" ")
    .replaceAll("/ ", "/");
}

function alignment({ align }: Column): string {
  return align === "right" ? "---:" : ":---";
}

function cellText({ text, note, tone }: Figure): string {
  const shown = escapeMarkdown(note === "" ? text : `${text} ${note}`);
  return tone === "failure" || tone === "mismatch" ? `**${shown}**` : shown;
}

export function listItem({ text, tone }: Note): string {
  return tone === "failure" || tone === "mismatch"
    ? `- **${escapeMarkdown(text)}**`
    : `- ${escapeMarkdown(text)}`;
}

function tableRow(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

/** What Markdown would take for its own: markup, a list within a list, a line break that ends a table's row. */
export function escapeMarkdown(text: string): string {
  return text
    .replaceAll(/[\\`*_|<>[\]]/g, "\\$&")
    .replace(/^[-+](?= )/, "\\$&")
    .replaceAll(/\s*\n\s*/g, " ");
}
