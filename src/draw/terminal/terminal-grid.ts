import Table from "cli-table3";
import { type Column, type Figure, type Grid, headTexts, rowsWithoutRepeats } from "../report.js";
import type { Screen } from "../screen.js";
import { type Entry, entryLines, fitGrid, type Layout, type Strip } from "./grid-layout.js";
import { paint, shownText, visibleWidth, wrap } from "./terminal-text.js";

/** Indentation of tables, facts and notes. */
export const indent = "  ";

/** At most one rule, below the head. Colours of cli-table3 are off, because chalk sets them. */
function frame(rule: string, gap: string): Table.TableConstructorOptions {
  const none = [
    "top",
    "top-mid",
    "top-left",
    "top-right",
    "bottom",
    "bottom-mid",
    "bottom-left",
    "bottom-right",
  ];
  const sides = ["left", "left-mid", "right", "right-mid"];
  return {
    chars: {
      ...Object.fromEntries([...none, ...sides].map((name) => [name, ""])),
      mid: rule,
      "mid-mid": rule.repeat(gap.length),
      middle: gap,
    },
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0, compact: true },
  };
}

interface DrawnStrip extends Strip {
  figures: readonly Figure[];
}

/** Draws a grid without its caption, as indented lines that fit the screen, without trailing blanks. */
export function terminalGrid(grid: Grid, screen: Screen): string[] {
  const shown = shownGrid(grid, screen);
  const strips = stripsOf(shown);
  const layout = fitGrid(strips, screen.columns - indent.length);
  return layout === null ? stackedRows(shown, screen) : drawStrips(strips, layout, screen);
}

function stripsOf(grid: Grid): DrawnStrip[] {
  const rows = rowsWithoutRepeats(grid);
  return grid.columns.map((column, index) => {
    const figures = rows.map((row) => row[index]!);
    return { column, figures, entries: padEntries(figures, column.align) };
  });
}

/** A grid with all texts as the screen can show them. */
function shownGrid(grid: Grid, screen: Screen): Grid {
  const shown = (text: string) => shownText(text, screen);
  return {
    ...grid,
    columns: grid.columns.map((column) => ({ ...column, head: column.head.map(shown) })),
    rows: grid.rows.map((row) =>
      row.map((one) => ({ ...one, text: shown(one.text), note: shown(one.note) })),
    ),
  };
}

function drawStrips(strips: readonly DrawnStrip[], layout: Layout, screen: Screen): string[] {
  const { gap, widths } = layout;
  const heads = strips.map(({ column }, index) => column.head.flatMap((line) => wrap(line, widths[index]!)));
  const headHeight = Math.max(...heads.map(({ length }) => length));
  const table = new Table({
    ...frame(shownText("─", screen), " ".repeat(gap)),
    head: heads.map((lines) => headCell(lines, headHeight, screen)),
    colAligns: strips.map(({ column }) => column.align),
  });
  const count = strips[0]?.entries.length ?? 0;
  for (let row = 0; row < count; ++row) {
    table.push(strips.map((strip, index) => bodyCell(strip, row, widths[index]!, layout, screen)));
  }
  return tableLines(table);
}

function tableLines(table: Table.Table): string[] {
  return table
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "")
    .map((line) => indent + line);
}

/** A short head is aligned to the bottom of its cell, next to the rule. */
function headCell(lines: readonly string[], height: number, { chalk }: Screen): string {
  return [...Array<string>(height - lines.length).fill(""), ...lines]
    .map((line) => (line === "" ? line : chalk.bold(line)))
    .join("\n");
}

function bodyCell(
  { column, figures, entries }: DrawnStrip,
  row: number,
  width: number,
  layout: Layout,
  screen: Screen,
): string {
  const { tone } = figures[row]!;
  const [entry, { chalk }] = [entries[row]!, screen];
  const lines = entryLines(entry, column, width, layout);
  if (entry.note === "") return lines.map((line) => paint(line, tone, screen)).join("\n");
  const text = paint(entry.text, tone, screen);
  const note = entry.note.trimEnd();
  const dimmed = note === "" ? "" : chalk.dim(note);
  return `${text}${layout.notesBelow ? "\n" : " "}${dimmed}${entry.note.slice(note.length)}`;
}

/**
 * For screens too narrow for columns: each row as its labels, then indented the other entries with their heads. A
 * leading name needs no head, and absent entries are omitted.
 */
function stackedRows({ columns, rows, labels = 1 }: Grid, screen: Screen): string[] {
  const heads = headTexts(columns);
  if (columns[0]!.align === "left") heads[0] = "";
  return rows.flatMap((row) => {
    const entries = row.map((shown, column) => ({ column, value: withNote(shown) }));
    const lineOf = (isLabel: boolean, prefix: string) => {
      const some = entries.filter(
        ({ column, value }) => value !== "" && value !== "-" && column < labels === isLabel,
      );
      const texts = some.map(({ column, value }) => {
        const text = `${heads[column]!} ${value}`.trim();
        return visibleWidth(text) <= mostUnbroken ? text.replaceAll(" ", noBreak) : text;
      });
      if (texts.length === 0) return [];
      const lines = wrap(texts.join(", "), screen.columns - prefix.length);
      return lines.map((line) => prefix + line.replaceAll(noBreak, " "));
    };
    return [...lineOf(true, indent), ...lineOf(false, indent.repeat(2))];
  });
}

/** Longest head with its value that is never wrapped. */
const mostUnbroken = 24;
const noBreak = "\u00a0";

function withNote({ text, note }: Figure): string {
  return note === "" ? text : `${text} ${note}`;
}

/** Texts and notes of a column, padded to align; numbers align at their decimal point. */
function padEntries(figures: readonly Figure[], align: Column["align"]): Entry[] {
  const parts = figures.map(splitAtPoint);
  const wholeWidth = widest(parts.map(({ whole }) => whole));
  const restWidth = widest(parts.map(({ rest }) => rest));
  const words = figures.filter(isWord).map(({ text }) => text);
  const textWidth = Math.max(wholeWidth + restWidth, widest(words));
  const noteWidth = widest(figures.map(({ note }) => note));
  return figures.map((shown, index) => {
    const { whole, rest } = parts[index]!;
    const text = isWord(shown) ? shown.text : whole + rest + blanks(restWidth - visibleWidth(rest));
    return {
      text: align === "left" ? text.trimStart() : blanks(textWidth - visibleWidth(text)) + text,
      note: shown.note + blanks(noteWidth - visibleWidth(shown.note)),
    };
  });
}

function blanks(count: number): string {
  return " ".repeat(Math.max(0, count));
}

/** A plain number, ratio or share. Figures with other units align right, so that the units line up. */
const number = /^\d+(\.\d+)?( ?[×x%])?$/;

/** Words such as "failed" do not affect the alignment of numbers. */
function isWord({ text }: Figure): boolean {
  return !number.test(text);
}

/** Splits "55.4 %" into "55" and ".4 %"; both are empty for a word. */
function splitAtPoint(shown: Figure): { whole: string; rest: string } {
  if (isWord(shown)) return { whole: "", rest: "" };
  const { text } = shown;
  const point = text.includes(".") ? text.indexOf(".") : text.length;
  return { whole: text.slice(0, point), rest: text.slice(point) };
}

function widest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map(visibleWidth));
}
