import type { Column, Figure, Grid, Note } from "./report-parts.js";

/** Draws a grid without its caption as a table of GitHub's Markdown, a line each row. */
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
  return emphasized({ text: note === "" ? text : `${text} ${note}`, tone });
}

function tableRow(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

/** A note as an entry of a list. */
export function listItem(note: Note): string {
  return `- ${emphasized(note)}`;
}

/** Failures and wrong data are bold. */
function emphasized({ text, tone }: Note): string {
  const escaped = escapeMarkdown(text);
  return tone === "failure" || tone === "mismatch" ? `**${escaped}**` : escaped;
}

/**
 * The text with backslashes before what Markdown would take for its own markup or for a list within a list, and
 * without the line breaks that would end a table's row.
 */
export function escapeMarkdown(text: string): string {
  return text
    .replaceAll(/[\\`*_|<>[\]]/g, "\\$&")
    .replace(/^[-+](?= )/, "\\$&")
    .replaceAll(/\s*\n\s*/g, " ");
}
