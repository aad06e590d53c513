import { sumOf } from "../../stats/variance.js";
import type { Column } from "../report.js";
import { splitWords } from "../words.js";
import { visibleWidth, wrap } from "./terminal-text.js";

/** A table cell before drawing: text and note, padded to align with other rows. */
export interface Entry {
  text: string;
  note: string;
}

export interface Strip {
  column: Column;
  entries: readonly Entry[];
}

export interface Layout extends LayoutStep {
  widths: readonly number[];
}

interface LayoutStep {
  gap: number;
  wraps: boolean;
  notesBelow: boolean;
}

/** From the most to the least readable. */
const steps: readonly LayoutStep[] = [
  { gap: 3, wraps: false, notesBelow: false },
  { gap: 2, wraps: false, notesBelow: false },
  { gap: 2, wraps: true, notesBelow: false },
  { gap: 2, wraps: true, notesBelow: true },
];

export function fitGrid(strips: readonly Strip[], width: number): Layout | null {
  for (const step of steps) {
    const widths = widthsIn(strips, step, width);
    if (widths !== null) return { ...step, widths };
  }
  return null;
}

function widthsIn(strips: readonly Strip[], step: LayoutStep, width: number): number[] | null {
  const widths = strips.map((strip) => widthOf(strip, step));
  const least = strips.map((strip, i) => (step.wraps ? leastWidth(strip, widths[i]!) : widths[i]!));
  for (let excess = sumOf(widths) + step.gap * (strips.length - 1) - width; excess > 0; --excess) {
    const shrinking = widths.map((one, i) => (one > least[i]! ? one : 0));
    const widest = Math.max(...shrinking);
    if (widest === 0) return null;
    widths[shrinking.indexOf(widest)]! -= 1;
  }
  return widths;
}

function widthOf({ column, entries }: Strip, { notesBelow }: LayoutStep): number {
  const widths = entries.map(({ text, note }) =>
    visibleWidth(note === "" ? text : `${text}${notesBelow ? "\n" : " "}${note}`),
  );
  return Math.max(0, ...column.head.map(visibleWidth), ...widths);
}

const mostLines = 2;

/** Smallest width of a text column: it breaks no word, and no entry exceeds its number of lines. */
function leastWidth({ column, entries }: Strip, width: number): number {
  if (column.align !== "left" || entries.some(({ note }) => note !== "")) return width;
  const texts = [...new Set([...column.head, ...entries.map(({ text }) => text)])];
  let least = hangingIndent.length + Math.max(...texts.flatMap(splitWords).map(visibleWidth));
  while (least < width && texts.some((text) => hangingLines(text, least).length > mostLines)) ++least;
  return Math.min(width, least);
}

/** Indents the second line of an entry, so that it does not look like another entry. */
const hangingIndent = "  ";

/** The text in lines of at most `width` columns; all but the first are indented. */
function hangingLines(text: string, width: number): string[] {
  const [first = "", ...rest] = wrap(text, width);
  if (rest.length === 0) return [first];
  const lines = wrap(text.slice(first.length + 1), width - hangingIndent.length);
  return [first, ...lines.map((line) => hangingIndent + line)];
}

export function entryLines(
  { text, note }: Entry,
  { align }: Column,
  width: number,
  { notesBelow }: Pick<Layout, "notesBelow">,
): string[] {
  if (note === "") return align === "left" ? hangingLines(text, width) : [text];
  return notesBelow ? [text, note] : [`${text} ${note}`];
}
