import { type Fact, type Figure, type Grid, headTexts, type Note, rowsWithoutRepeats } from "./report.js";

/** Draws a grid without its caption as a table of GitHub's Markdown, a line each row. */
export function markdownGrid(grid: Grid): string[] {
  const { columns } = grid;
  return [
    tableRow(headTexts(columns).map(escapeInline)),
    tableRow(columns.map(({ align }) => (align === "right" ? "---:" : ":---"))),
    ...rowsWithoutRepeats(grid).map((row) => tableRow(row.map(cellText))),
  ];
}

function cellText({ text, note, tone }: Figure): string {
  return emphasized(escapeInline(note === "" ? text : `${text} ${note}`), tone);
}

function tableRow(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

/** What must be read before any figure: a quotation each. */
export function alertBlocks(alerts: readonly Note[]): string[][] {
  return alerts.map(({ text }) => [`> **${escapeMarkdown(text)}**`]);
}

/** A fact as an entry of a list. */
export function factItem([label, value]: Fact): string {
  return `- **${escapeMarkdown(label)}:** ${escapeMarkdown(value)}`;
}

/** A note as an entry of a list. */
export function listItem(note: Note): string {
  return `- ${emphasized(escapeMarkdown(note.text), note.tone)}`;
}

/** Failures and wrong data are bold. */
function emphasized(escaped: string, tone: Note["tone"]): string {
  return tone === "failure" || tone === "mismatch" ? `**${escaped}**` : escaped;
}

/** What begins a heading, a list within a list or a rule, or makes a heading of the line above, at the start of a line. */
const blockStart = /^(#{1,6}(?= |$)|[-+](?= |$)|[-=]+$|\d{1,9}[.)](?= |$))/;

/**
 * The text as Markdown that shows it and does nothing else, also where a line begins and a block of another kind could.
 */
export function escapeMarkdown(text: string): string {
  return escapeInline(text.trimStart()).replace(blockStart, (start) => start.replace(/[^\d]/, "\\$&"));
}

/**
 * The same within a line, as in a table's cell: with backslashes before what would be markup, a link to an address
 * (GitHub makes one of any), an entity or a formula, and without the line breaks that would end a table's row. An empty
 * comment keeps GitHub from telling a user or a team of that name, and from linking an issue of that number.
 */
function escapeInline(text: string): string {
  const line = text.includes("\n") ? text.split(/\s+/).join(" ") : text;
  return line
    .replaceAll(/[\\`*_|<>[\]~&$]/g, "\\$&")
    .replaceAll(/:(?=\/\/)/g, "\\:")
    .replaceAll(/\bwww\./gi, (host) => `${host.slice(0, -1)}\\.`)
    .replaceAll(/@(?=\w)|#(?=\d)|\bGH-(?=\d)/gi, "$&<!-- -->");
}
