import { Chalk, type ChalkInstance } from "chalk";

/**
 * The medium of a text for people, and what to show. The command determines it: drawing code never asks for
 * the terminal's width.
 */
export interface Screen {
  /** Largest line width; a single long word may exceed it. */
  columns: number;
  /** Draws colours; with level 0 it draws none. */
  chalk: ChalkInstance;
  /** Limits output to ASCII: spells signs out, escapes other characters. */
  isAscii: boolean;
  /** Shows all rows, details, notes and folded parts. */
  showsAll: boolean;
}

/** Width of files, and of pipes, which report none. */
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
