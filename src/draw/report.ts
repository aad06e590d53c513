import { withoutFullStop } from "./words.js";

/*
 * A report: what a document says, before it is drawn. A terminal, Markdown and a page draw the same report, and know no
 * document.
 */

/** What a document says to people, in the order of a terminal. */
export interface Report {
  /** The command that made the document, "doctor"; "" for `run`. */
  command: string;
  /** The version of pinbench that made it. */
  version: string;
  /** What it is of and of when, which names it among others on a page: "NVIDIA H200, 2026-11-21 10:22 UTC". */
  name: string;
  blocks: readonly Block[];
  /** Its tables have words that `pinbench help terms` explains. */
  hasTerms: boolean;
  /** A terminal shows the answers last, where the eye is. */
  endsWithAnswer?: boolean;
  /** Most lines of tables in a terminal without --verbose; tables that do not fit are left out. */
  tableLines?: number;
  /** Most lines in a terminal of 80 columns without --verbose, if blocks that yield are enough to reach it. */
  mostLines?: number;
}

/**
 * A part of a report. Texts, the simplest ones, are by their type: an `alert` is read before any figure, an `answer` is
 * what the document comes to, a `finding` follows from the figures besides, and a `note` helps to read tables.
 */
export type Block = BlockContent & {
  /** A terminal shows it with --verbose only. */
  isDetail?: true;
  /** A terminal without --verbose leaves it out if there are too many lines, those with the lowest number first. */
  yields?: 1 | 2 | 3;
};

type BlockContent =
  | ({ type: "alert" | "finding" | "note" } & Note)
  /** `headline`: the figures of the sentence, which a page shows large above it. */
  | ({ type: "answer"; headline?: readonly Fact[] } & Note)
  /**
   * `isEnvironment`: what the figures hold for, which Markdown and pages show last. `brief`: what a
   * terminal shows in their place without --verbose.
   */
  | { type: "facts"; facts: readonly Fact[]; isEnvironment: boolean; brief?: readonly Fact[] }
  | { type: "table"; grid: Grid }
  /** Something found, with what there is to say of it. */
  | { type: "entry"; text: string; facts: readonly Fact[] }
  | { type: "list"; items: readonly string[] }
  | { type: "code"; language: string; text: string }
  /** Lines that are ready for a terminal and shown nowhere else. */
  | { type: "lines"; lines: readonly string[] }
  /** Details that Markdown and pages have folded away; a terminal shows what stands in their place. */
  | { type: "fold"; title: string; blocks: readonly Block[]; instead: readonly Note[] }
  /** `isTight`: a terminal draws no empty lines in it. `isSummary`: Markdown and pages show it first, a terminal in place. */
  | { type: "section"; title: string; blocks: readonly Block[]; isTight: boolean; isSummary?: true };

/** Texts of one type as blocks, in their order. */
export function texts(type: "alert" | "answer" | "finding" | "note", notes: readonly Note[]): Block[] {
  return notes.map((one) => ({ type, ...one }));
}

/** What the figures of a document hold for; `brief` as in the block. */
export function environment(facts: readonly Fact[], brief?: readonly Fact[]): Block {
  return { type: "facts", facts, isEnvironment: true, ...(brief === undefined ? {} : { brief }) };
}

/** Blocks that a terminal shows with --verbose only. */
export function details(blocks: readonly Block[]): Block[] {
  return blocks.map((block) => ({ ...block, isDetail: true }));
}

/** Labelled lines of a part of the document. */
export function facts(lines: readonly Fact[]): Block {
  return { type: "facts", facts: lines, isEnvironment: false };
}

/** Tables as blocks. */
export function tables(grids: readonly Grid[]): Block[] {
  return grids.map((grid) => ({ type: "table", grid }));
}

/** Blocks that are folded away where the medium can; a terminal shows the notes instead. */
export function fold(title: string, blocks: readonly Block[], instead: readonly Note[] = []): Block {
  return { type: "fold", title, blocks, instead };
}

/** Blocks below a title of their own. */
export function section(title: string, blocks: readonly Block[], isTight = false): Block {
  return { type: "section", title, blocks, isTight };
}

/** A tight section of what all of the report comes to. */
export function summary(title: string, blocks: readonly Block[]): Block {
  return { type: "section", title, blocks, isTight: true, isSummary: true };
}

/** A section's title as a heading, which has no colon behind it as a line above something in a terminal has. */
export function headingText(title: string): string {
  return title.replace(/:$/, "");
}

/** What a text is to the reader; the terminal has a colour for each, Markdown prints the two worst in bold. */
export type Tone = "plain" | "muted" | "warning" | "failure" | "mismatch";

/** One cell of a grid: a number, which is aligned by its decimal point, or a word, and a note beside it. */
export interface Figure {
  text: string;
  /** What stands after the number, such as "±2.1 %" or "*". */
  note: string;
  tone: Tone;
}

/** A column of a grid. */
export interface Column {
  /** One entry a line of the head; an empty first line is that of the column before. */
  head: readonly string[];
  align: "left" | "right";
  /** Where there is no room for all columns, those that have this go, the one of the smallest number first. */
  spared?: number;
  /** So many lines an entry of words may take (2). */
  mostLines?: number;
}

/** A table: each row has a figure for each column. */
export interface Grid {
  /** Absent where the text around the table says what it shows. */
  caption?: string;
  /** What a page calls a table without a caption, as it needs a name there. */
  name?: string;
  columns: readonly Column[];
  rows: readonly (readonly Figure[])[];
  /**
   * So many columns name a row (1): where the rows of a table are ordered by them, all but the last are left blank where
   * they say the same as in the row above.
   */
  labels?: number;
  /** The rows are ordered in another way: nothing is left blank. */
  keepsRepeats?: true;
  /** A sentence that stands right below; a terminal shows it with --verbose only. */
  footnote?: string;
  /** A table next to one with the same columns is drawn as one with it; `row` names its rows there, `caption` both. */
  joins?: { row: string; caption: string };
  /** Indexes of the rows that a terminal shows without --verbose (all). */
  keyRows?: readonly number[];
  /** Those that it shows where the report's tables have more lines than they may. */
  coreRows?: readonly number[];
}

/** A sentence of its own, such as a warning or a finding. */
export interface Note {
  text: string;
  tone: Tone;
}

/** A labelled line, such as "Driver  580.159.04, CUDA 13.0". */
export type Fact = readonly [label: string, value: string];

/** An empty cell of a grid. */
export const blank: Figure = { text: "", note: "", tone: "plain" };

/** A cell of a grid, plain and without a note unless they are given. */
export function figure(text: string, note = "", tone: Tone = "plain"): Figure {
  return { text, note, tone };
}

/** A sentence of its own, plain unless a tone is given. */
export function note(text: string, tone: Tone = "plain"): Note {
  return { text, tone };
}

/** A column of words; `head` has an entry for each line of its head. */
export function wordColumn(...head: string[]): Column {
  return { head, align: "left" };
}

/** A column of numbers; `head` has an entry for each line of its head. */
export function numberColumn(...head: string[]): Column {
  return { head, align: "right" };
}

/** The items by key, keys and items in the order in which they come. */
export function groupBy<Item>(items: Iterable<Item>, keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** One note for each reason among those of the cells: "label: reason (whom)", `whom` naming the cells it holds for. */
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

/** A column that can be spared where there is no room for all, those of smaller numbers before it. */
export function spared(column: Column, order: number): Column {
  return { ...column, spared: order };
}

/** The head of each column in one line: "pinned/" above "link" is one word, other lines are words of their own. */
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

/**
 * The rows with repeated labels left out: of those before the last label, all that are the same as in the row above, up to
 * the first that differs.
 */
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
