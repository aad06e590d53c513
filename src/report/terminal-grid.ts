import Table from "cli-table3";
import type { Figure, Grid } from "./report-parts.js";
import type { Screen } from "./screen.js";
import { paint } from "./terminal-text.js";

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

/** Draws a grid without its caption: lines behind `indent`, none of which ends in blanks. */
export function terminalGrid({ columns, rows }: Grid, screen: Screen, indent = ""): string[] {
  const headHeight = Math.max(...columns.map(({ head }) => head.length));
  const table = new Table({
    ...plainFrame,
    head: columns.map(({ head }) => headCell(head, headHeight, screen)),
    colAligns: columns.map(({ align }) => align),
  });
  const padded = columns.map((_, column) => padFigures(rows.flatMap((row) => row[column] ?? [])));
  rows.forEach((row, index) => {
    table.push(
      row.map((shown, column) => {
        const { text, note } = padded[column]![index]!;
        const aligned = columns[column]?.align === "left" ? text.trimStart() : text;
        return paint(aligned, shown.tone, screen) + (note.trim() === "" ? note : screen.chalk.dim(note));
      }),
    );
  });
  return table
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "")
    .map((line) => indent + line);
}

/** A short head stands at the bottom of its cell, next to the rule. */
function headCell(lines: readonly string[], height: number, { chalk }: Screen): string {
  return [...Array<string>(height - lines.length).fill(""), ...lines]
    .map((line) => (line === "" ? line : chalk.bold(line)))
    .join("\n");
}

/**
 * Texts and notes of one column, padded so that they line up, numbers by their decimal point. A note has the gap before
 * it; it is empty where the column has none.
 */
function padFigures(figures: readonly Figure[]): { text: string; note: string }[] {
  const parts = figures.map(splitAtPoint);
  const wholeWidth = widest(parts.map(({ whole }) => whole));
  const restWidth = widest(parts.map(({ rest }) => rest));
  const words = figures.filter(isWord).map(({ text }) => text);
  const textWidth = Math.max(wholeWidth + restWidth, widest(words));
  const noteWidth = widest(figures.map(({ note }) => note));
  return figures.map((shown, index) => {
    const { whole, rest } = parts[index]!;
    const text = isWord(shown) ? shown.text : whole + rest.padEnd(restWidth);
    return {
      text: text.padStart(textWidth),
      note: noteWidth === 0 ? "" : ` ${shown.note.padEnd(noteWidth)}`,
    };
  });
}

/** A plain number, ratio or share. What carries another unit is aligned by its end, so that units stand together. */
const number = /^\d+(\.\d+)?( ?[×%])?$/;

/** A word such as "failed" does not move the decimal points of the numbers above it. */
function isWord({ text }: Figure): boolean {
  return !number.test(text);
}

/** "55.4 %" is "55" and ".4 %"; a word has neither part. */
function splitAtPoint(shown: Figure): { whole: string; rest: string } {
  if (isWord(shown)) return { whole: "", rest: "" };
  const { text } = shown;
  const point = text.includes(".") ? text.indexOf(".") : text.length;
  return { whole: text.slice(0, point), rest: text.slice(point) };
}

function widest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map(({ length }) => length));
}
