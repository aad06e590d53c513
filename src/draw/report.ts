import { groupBy } from "../stats/group-by.js";
import { withoutFullStop } from "./words.js";

/*
 * A report is a document's content before drawing. Terminal, Markdown and pages draw the same report, whatever the
 * document.
 */

export interface Report {
  /** The command that made the document, "doctor"; "" for `run`. */
  command: string;
  /** The version of pinbench that made it. */
  version: string;
  /** Subject and time, to identify it on a page with several: "NVIDIA H200, 2026-11-21 10:22 UTC". */
  name: string;
  blocks: readonly Block[];
  /** The terminal's view without --all: at most 25 rows in 80 columns. Absent if the whole view is that short. */
  brief?: { blocks: readonly Block[]; leavesOut: string };
  /** Whether its tables use words that `pinbench help terms` explains. */
  hasTerms: boolean;
}

/**
 * A part of a report. Texts: an `alert` comes before all figures, an `answer` is the document's conclusion, a `finding`
 * a further conclusion, a `note` explains tables.
 */
export type Block =
  | ({ type: "alert" | "finding" | "note" } & Note)
  /** `headline`: the sentence's figures, which a page shows large above it. */
  | ({ type: "answer"; headline?: readonly Fact[] } & Note)
  /** `isEnvironment`: the conditions of measuring, which Markdown and pages show last. */
  | { type: "facts"; facts: readonly Fact[]; isEnvironment: boolean }
  /** `whole`: the full table, if `grid` is its brief version. */
  | { type: "table"; grid: Grid; whole?: Grid }
  | { type: "entry"; text: string; facts: readonly Fact[] }
  | { type: "code"; language: string; text: string }
  /** Details that Markdown and pages fold. */
  | { type: "fold"; title: string; blocks: readonly Block[] }
  /** `isTight`: drawn without empty lines in a terminal. */
  | { type: "section"; title: string; blocks: readonly Block[]; isTight: boolean };

export function texts(type: "alert" | "answer" | "finding" | "note", notes: readonly Note[]): Block[] {
  return notes.map((one) => ({ type, ...one }));
}

export function environment(facts: readonly Fact[]): Block {
  return { type: "facts", facts, isEnvironment: true };
}

export function facts(lines: readonly Fact[]): Block {
  return { type: "facts", facts: lines, isEnvironment: false };
}

export type Table = Extract<Block, { type: "table" }>;

export function tables(grids: readonly Grid[]): Table[] {
  return grids.map((grid) => ({ type: "table", grid }));
}

/** Brief versions of tables: their first rows, without details. */
export function shortened(whole: readonly Table[], mostRows: number): Table[] {
  return whole.map((table) => {
    const { columns, rows } = table.grid;
    if (rows.length <= mostRows && !columns.some(({ isDetail }) => isDetail)) return table;
    const isKept = (_: unknown, column: number) => columns[column]!.isDetail !== true;
    const kept = rows.slice(0, mostRows).map((row) => row.filter(isKept));
    const more = rows.length > mostRows ? `${rows.length - mostRows} more` : "";
    const footnote = [more, table.grid.footnote ?? ""].filter(Boolean).join(". ");
    const columnsKept = columns.filter(isKept);
    const grid = { ...table.grid, columns: columnsKept, rows: kept, ...(footnote !== "" && { footnote }) };
    return { type: "table", grid, whole: table.grid };
  });
}

export function fold(title: string, blocks: readonly Block[]): Block {
  return { type: "fold", title, blocks };
}

export function section(title: string, blocks: readonly Block[], isTight = false): Block {
  return { type: "section", title, blocks, isTight };
}

export function headingText(title: string): string {
  return title.replace(/:$/, "");
}

/** What a text means to the reader: a colour in a terminal. Markdown sets the two worst in bold. */
export type Tone = "plain" | "muted" | "warning" | "failure" | "mismatch";

/** A table cell: a word, or a number aligned at its decimal point, and a note beside it. */
export interface Figure {
  text: string;
  /** The text after the number, such as "±2.1 %" or "*". */
  note: string;
  tone: Tone;
}

export interface Column {
  /** One entry per line of the head. If the first is empty, the previous column's first line spans this one. */
  head: readonly string[];
  align: "left" | "right";
  isDetail?: true;
}

export interface Grid {
  /** Absent if the text around the table says what it shows. */
  caption?: string;
  name?: string;
  columns: readonly Column[];
  rows: readonly (readonly Figure[])[];
  /**
   * Number of leading columns that name a row (1). All but the last are left blank if they repeat the row above, for
   * rows sorted by them.
   */
  labels?: number;
  /** The rows are sorted in another way, so nothing is left blank. */
  keepsRepeats?: true;
  /** A sentence below the table. */
  footnote?: string;
}

export interface Note {
  text: string;
  tone: Tone;
}

/** A labelled line, such as "Driver  580.159.04, CUDA 13.0". */
export type Fact = readonly [label: string, value: string];

export const blank: Figure = { text: "", note: "", tone: "plain" };

export function figure(text: string, note = "", tone: Tone = "plain"): Figure {
  return { text, note, tone };
}

export function note(text: string, tone: Tone = "plain"): Note {
  return { text, tone };
}

export function wordColumn(...head: string[]): Column {
  return { head, align: "left" };
}

export function numberColumn(...head: string[]): Column {
  return { head, align: "right" };
}

/** A note per reason among the cells: "label: reason (whom)", where `whom` lists the cells. */
export function reasonNotes<Cell>(
  cells: readonly Cell[],
  reasonsOf: (cell: Cell) => readonly string[],
  whom: (cells: readonly Cell[]) => string,
  label: string,
  tone: Tone,
): Note[] {
  const affected = cells.flatMap((cell) => [...new Set(reasonsOf(cell))].map((reason) => ({ reason, cell })));
  return [...groupBy(affected, ({ reason }) => reason)].map(([reason, members]) =>
    note(`${label}: ${withoutFullStop(reason)} (${whom(members.map(({ cell }) => cell))})`, tone),
  );
}

export function detail(column: Column): Column {
  return { ...column, isDetail: true };
}

export function headTexts(columns: readonly Column[]): string[] {
  let above = "";
  return columns.map(({ head }) => {
    if (head.length > 1 && head[0] !== "") above = head[0]!;
    const lines = head.length > 1 && head[0] === "" ? [above, ...head] : head;
    return lines
      .filter((line) => line !== "")
      .join(" ")
      .replaceAll("/ ", "/");
  });
}

/** The rows without repeated labels. A label before the last is blank if it and all before it equal the row above. */
export function rowsWithoutRepeats({ rows, labels = 1, keepsRepeats }: Grid): Figure[][] {
  return rows.map((row, index) => {
    const above = rows[index - 1];
    let repeats = above !== undefined && keepsRepeats !== true;
    return row.map((cell, column) => {
      const label = above?.[column];
      repeats &&= column < labels - 1 && label?.text === cell.text && label.note === cell.note;
      return repeats ? blank : cell;
    });
  });
}
