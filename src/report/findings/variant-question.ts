import type { CellResult } from "../../results/cell-schema.js";
import type { ResultDocument } from "../../results/schema.js";

/*
 * What a question on cells that are not plain is answered with.
 */

/** A line on cells that are not plain. */
export interface VariantFinding {
  text: string;
  /** The cells whose devices it speaks of; none where its text names them, null where it has no figures of any. */
  cells: readonly CellResult[] | null;
}

/** The lines on one question that was asked, and the one of them that matters most. */
export interface Question {
  lines: readonly VariantFinding[];
  main: VariantFinding | undefined;
}

/** The question of these lines, of which the first matters most. */
export function firstOf(lines: readonly VariantFinding[]): Question {
  return { lines, main: lines[0] };
}

/** What the answers rest on beside the cells themselves. */
export interface Terms {
  document: ResultDocument;
  equalWidth: number;
  /** The cell that shows what another one reaches by itself, where that is evidence. */
  aloneOf: (cell: CellResult) => CellResult | undefined;
}
