import type { ChalkInstance } from "chalk";
import Table from "cli-table3";
import { layOutFigures } from "./figure-layout.js";
import type { Grid, Tone } from "./report-parts.js";

const rule = "─";
const gap = "   ";

/** One rule below the head and no other line; cli-table3's own colours are off, chalk alone decides. */
const plainFrame = {
  chars: {
    top: "",
    "top-mid": "",
    "top-left": "",
    "top-right": "",
    bottom: "",
    "bottom-mid": "",
    "bottom-left": "",
    "bottom-right": "",
    left: "",
    "left-mid": "",
    mid: rule,
    "mid-mid": rule.repeat(gap.length),
    right: "",
    "right-mid": "",
    middle: gap,
  },
  style: { head: [], border: [], "padding-left": 0, "padding-right": 0, compact: true },
};

/** Draws a grid without its caption: lines, none of which ends in blanks. */
export function terminalGrid({ columns, rows }: Grid, chalk: ChalkInstance): string[] {
  const headHeight = Math.max(...columns.map(({ head }) => head.length));
  const table = new Table({
    ...plainFrame,
    head: columns.map(({ head }) => headCell(head, headHeight, chalk)),
    colAligns: columns.map(({ align }) => align),
  });
  const laidOut = columns.map((_, column) => layOutColumn(rows, column));
  rows.forEach((row, index) => {
    table.push(
      row.map((shown, column) => {
        const { text, note } = laidOut[column]?.[index] ?? { text: shown.text, note: "" };
        const padded = columns[column]?.align === "left" ? text.trimStart() : text;
        return paint(padded, shown.tone, chalk) + (note.trim() === "" ? note : chalk.dim(note));
      }),
    );
  });
  return table
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "");
}

export function paint(text: string, tone: Tone, chalk: ChalkInstance): string {
  switch (tone) {
    case "plain":
      return text;
    case "muted":
      return chalk.dim(text);
    case "warning":
      return chalk.yellow(text);
    case "failure":
      return chalk.red(text);
    case "mismatch":
      return chalk.bold.red(text);
  }
}

function layOutColumn(rows: Grid["rows"], column: number) {
  return layOutFigures(rows.flatMap((row) => row[column] ?? []));
}

/** A short head stands at the bottom of its cell, next to the rule. */
function headCell(lines: readonly string[], height: number, chalk: ChalkInstance): string {
  return [...Array<string>(height - lines.length).fill(""), ...lines]
    .map((line) => (line === "" ? line : chalk.bold(line)))
    .join("\n");
}
