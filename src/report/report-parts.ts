/**
 * A table before it is drawn: the terminal and Markdown show the same grids. A cell is a figure, whose number is
 * aligned by its decimal point, and a note beside it.
 */

export type Tone = "plain" | "muted" | "warning" | "failure" | "mismatch";

export interface Figure {
  text: string;
  /** What stands after the number, such as "±2.1 %" or "*". */
  note: string;
  tone: Tone;
}

export interface Column {
  /** One entry a line of the head. */
  head: readonly string[];
  align: "left" | "right";
}

export interface Grid {
  caption: string;
  columns: readonly Column[];
  rows: readonly (readonly Figure[])[];
}

export interface Note {
  text: string;
  tone: Tone;
}

export const blank: Figure = { text: "", note: "", tone: "plain" };

export function figure(text: string, note = "", tone: Tone = "plain"): Figure {
  return { text, note, tone };
}

/** The same rows with a label that repeats the one above it left out. */
export function withoutRepeats(rows: readonly (readonly Figure[])[], labelColumns: number): Figure[][] {
  return rows.map((row, index) => {
    const above = rows[index - 1];
    let repeats = above !== undefined;
    return row.map((cell, column) => {
      repeats &&= column < labelColumns && above?.[column]?.text === cell.text;
      return repeats ? blank : cell;
    });
  });
}
