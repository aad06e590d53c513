import type { Thresholds } from "../settings/thresholds.js";

/** By what a change is judged. */
export interface Rule {
  /** The chance that any cell is called slower where none is, if the assumptions hold (docs/method.md). */
  significance: number;
  thresholds: Thresholds;
  allowMismatch: boolean;
  strict: boolean;
}

/** Chosen by `npm run bench:regress`: with it less than 1 % of comparisons of equals raise a false alarm. */
export const defaultSignificance = 0.003;

/** Fresh processes that a check measures with. */
export const usualCheckRuns = 5;
