import { Chalk, type ChalkInstance } from "chalk";

/**
 * The medium of a text for people, and the wanted content. The command decides it once and passes it on: nothing
 * else asks the process for the terminal's width.
 */
export interface Screen {
  /** Largest width of a line, except for a single word. */
  columns: number;
  /** Draws colours; with level 0 it draws none. */
  chalk: ChalkInstance;
  /** Shows only ASCII: signs are spelled out, other characters escaped. */
  isAscii: boolean;
  /** Shows the whole view: all rows, details, notes and what is folded elsewhere. */
  showsAll: boolean;
}

/** Width of a file, and of a pipe, whose width is unknown. */
export const usualColumns = 100;

/** Wider running text is hard to read. */
const readableColumns = 110;

export function textColumns({ columns }: Pick<Screen, "columns">): number {
  return Math.min(columns, readableColumns);
}

export function fileScreen(requested: Partial<Screen> = {}): Screen {
  return {
    columns: usualColumns,
    chalk: new Chalk({ level: 0 }),
    isAscii: false,
    showsAll: true,
    ...requested,
  };
}
