import { sumOf } from "../../stats/variance.js";
import type { Column } from "../report.js";
import { splitWords } from "../words.js";
import { visibleWidth, wrap } from "./terminal-text.js";

/** One cell of a table before drawing: a text and a note, both padded to line up with the rows above. */
export interface Entry {
  text: string;
  /** Empty for none. */
  note: string;
}

/** A column for the layout, with an entry for each row. */
export interface Strip {
  column: Column;
  entries: readonly Entry[];
}

/** A layout with which a table fits. */
export interface Layout {
  /** Blanks between two columns. */
  gap: number;
  /** Whether notes are below their figures. */
  notesBelow: boolean;
  /** Partial tables below each other, each with its strips. */
  parts: readonly (readonly PlacedStrip[])[];
  /** Indices of the strips without room. */
  leftOut: readonly number[];
}

/** A strip by its index, and its width. */
export interface PlacedStrip {
  index: number;
  width: number;
}

interface LayoutStep {
  gap: number;
  wraps: boolean;
  notesBelow: boolean;
}

const narrow: LayoutStep = { gap: 2, wraps: false, notesBelow: false };

/** From the most to the least readable. */
const steps: readonly LayoutStep[] = [{ ...narrow, gap: 3 }, narrow, { ...narrow, wraps: true }];
const lastStep: LayoutStep = { ...narrow, wraps: true, notesBelow: true };

/**
 * The first of these layouts that fits into `width`: narrower gaps; words on two lines in few rows; the same with fewer
 * columns, dropped one by one; words on two lines in any row; notes below their figures; parts of the columns below
 * each other, each with the first `labels` columns. Null if none fits.
 */
export function fitGrid(strips: readonly Strip[], labels: number, width: number): Layout | null {
  const indices = strips.map((_, index) => index);
  const spared = indices
    .filter((index) => strips[index]!.column.spared !== undefined)
    .sort((a, b) => strips[a]!.column.spared! - strips[b]!.column.spared!);
  for (let count = 0; count <= spared.length; ++count) {
    const leftOut = spared.slice(0, count);
    const kept = indices.filter((index) => !leftOut.includes(index));
    const isLast = count === spared.length;
    for (const step of isLast ? [...steps, lastStep] : steps) {
      const placed = place(strips, kept, step, width);
      if (placed === null || !(isLast || hasFewLongRows(strips, placed, step))) continue;
      return { ...step, parts: [placed], leftOut };
    }
  }
  const kept = indices.filter((index) => !spared.includes(index));
  for (const step of [steps.at(-1)!, lastStep]) {
    const parts = inParts(strips, kept, labels, step, width);
    if (parts !== null) return { ...step, parts, leftOut: spared };
  }
  return null;
}

/** Largest share of rows with two lines before a column is dropped. */
const mostLongRows = 0.25;

function hasFewLongRows(strips: readonly Strip[], placed: readonly PlacedStrip[], step: LayoutStep): boolean {
  const rows = strips[0]?.entries ?? [];
  const isLong = (row: number) =>
    placed.some(({ index, width }) => {
      const { column, entries } = strips[index]!;
      return entryLines(entries[row]!, column, width, step).length > 1;
    });
  return rows.filter((_, row) => isLong(row)).length <= mostLongRows * rows.length;
}

/** Width of a table with all its columns, and a narrow gap after each. */
export function widthWithGaps(strips: readonly Strip[]): number {
  const widths = strips.map((strip) => widthOf(strip, narrow));
  return sumOf(widths) + narrow.gap * strips.length;
}

/** The strips with a width each that fit together; null if they do not. */
function place(
  strips: readonly Strip[],
  indices: readonly number[],
  step: LayoutStep,
  width: number,
): PlacedStrip[] | null {
  const placed = indices.map((index) => ({ index, width: widthOf(strips[index]!, step) }));
  let excess = placed.reduce((sum, one) => sum + one.width, 0) + step.gap * (placed.length - 1) - width;
  const shrinking = step.wraps
    ? placed.map((one) => ({ one, least: leastWidth(strips[one.index]!, one.width) }))
    : [];
  while (excess > 0) {
    const [widest] = shrinking
      .filter(({ one, least }) => one.width > least)
      .sort((a, b) => b.one.width - a.one.width);
    if (widest === undefined) return null;
    --widest.one.width;
    --excess;
  }
  return placed;
}

/** Parts with as many columns as fit next to the labels; null if not even one fits. */
function inParts(
  strips: readonly Strip[],
  kept: readonly number[],
  labels: number,
  step: LayoutStep,
  width: number,
): PlacedStrip[][] | null {
  const names = kept.filter((index) => index < labels);
  const parts: PlacedStrip[][] = [];
  let columns: number[] = [];
  for (const group of grouped(
    strips,
    kept.filter((index) => index >= labels),
  )) {
    const longer = place(strips, [...names, ...columns, ...group], step, width);
    if (longer !== null) {
      columns = [...columns, ...group];
      parts[Math.max(0, parts.length - 1)] = longer;
      continue;
    }
    const next = place(strips, [...names, ...group], step, width);
    if (next === null) return null;
    columns = group;
    parts.push(next);
  }
  return parts.length === 0 ? null : parts;
}

/** Columns that share the first line of their heads stay together. */
function grouped(strips: readonly Strip[], indices: readonly number[]): number[][] {
  const groups: number[][] = [];
  for (const index of indices) {
    const { head } = strips[index]!.column;
    const isShared = head.length > 1 && head[0] === "";
    if (isShared && groups.length > 0) groups.at(-1)!.push(index);
    else groups.push([index]);
  }
  return groups;
}

function widthOf({ column, entries }: Strip, { notesBelow }: LayoutStep): number {
  const widths = entries.map(({ text, note }) => {
    const [ofText, ofNote] = [visibleWidth(text), visibleWidth(note)];
    return ofNote === 0 ? ofText : notesBelow ? Math.max(ofText, ofNote) : ofText + 1 + ofNote;
  });
  return Math.max(0, ...column.head.map(visibleWidth), ...widths);
}

/** Smallest width of a column of words: no word is broken, and no entry exceeds its number of lines. */
function leastWidth({ column, entries }: Strip, width: number): number {
  if (column.align !== "left" || entries.some(({ note }) => note !== "")) return width;
  const texts = [...new Set([...column.head, ...entries.map(({ text }) => text)])];
  let least = hangingIndent.length + Math.max(...texts.flatMap(splitWords).map(visibleWidth));
  while (least < width && texts.some((text) => hangingLines(text, least).length > (column.mostLines ?? 2)))
    ++least;
  return Math.min(width, least);
}

/** Marks the second line of an entry, so that it does not look like another entry. */
const hangingIndent = "  ";

/** The text in lines of at most `width` columns; all but the first are indented. */
function hangingLines(text: string, width: number): string[] {
  const [first = "", ...rest] = wrap(text, width);
  if (rest.length === 0) return [first];
  const lines = wrap(text.slice(first.length + 1), width - hangingIndent.length);
  return [first, ...lines.map((line) => hangingIndent + line)];
}

/** The lines of an entry in a column of that width. */
export function entryLines(
  { text, note }: Entry,
  { align }: Column,
  width: number,
  { notesBelow }: Pick<Layout, "notesBelow">,
): string[] {
  if (note === "") return align === "left" ? hangingLines(text, width) : [text];
  return notesBelow ? [text, note] : [`${text} ${note}`];
}
