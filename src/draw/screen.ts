import { Chalk, type ChalkInstance } from "chalk";

/**
 * What a text for people is drawn on, and what of it is wanted. Whoever prints decides it once and hands it down: nothing
 * in src/report asks the process how wide its terminal is.
 */
export interface Screen {
  /** So many columns wide: no line is wider, but for a single word and the tables of `isPlain`. */
  columns: number;
  /** Draws colours; its level 0 draws none. */
  chalk: ChalkInstance;
  /** Shows ASCII alone: signs are spelled, other characters escaped. */
  isAscii: boolean;
  /**
   * For awk and for screen readers: a row of a table stands on one line, however wide, with all of its labels, no cell is
   * empty, two blanks or more stand between columns and nowhere else, and no rule is drawn.
   */
  isPlain: boolean;
  /** Cells are called by their ids in place of short names. */
  showsIds: boolean;
  /** Shows everything: all rows, details and footnotes. */
  isVerbose: boolean;
}

/** The width of a file, and of a pipe of which nobody says how wide it is. */
export const usualColumns = 100;

/** The eye loses the line in running text that is wider than this. */
const readableColumns = 110;

/** How wide running text is on a screen. */
export function textColumns({ columns }: Pick<Screen, "columns">): number {
  return Math.min(columns, readableColumns);
}

/** A file: as wide as usual, without colours, in Unicode, with everything; `wanted` says what is to be otherwise. */
export function fileScreen(wanted: Partial<Screen> = {}): Screen {
  return {
    columns: usualColumns,
    chalk: new Chalk({ level: 0 }),
    isAscii: false,
    isPlain: false,
    showsIds: false,
    isVerbose: true,
    ...wanted,
  };
}
