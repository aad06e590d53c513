import type { HistoryEntry } from "../results/history-entry.js";
import type { Thresholds } from "../settings/thresholds.js";
import type { Comparison } from "./comparison.js";
import type { ResultSet, RunFigures } from "./result-set.js";

/** The rule that judges changes. */
export interface Rule {
  /** The chance that any cell is called slower although none is, if the assumptions hold (docs/method.md). */
  significance: number;
  thresholds: Thresholds;
  allowMismatch: boolean;
  strict: boolean;
}

/** What to compare, and by which rule. */
export interface ComparisonRequest {
  /** Version of pinbench. */
  version: string;
  command: Comparison["command"];
  baseline: ResultSet;
  candidate: ResultSet;
  /** Runs of fresh processes that measured the suspects again; may be empty. */
  fresh: readonly RunFigures[];
  /** Ids of the cells that looked slower, from `findSuspects()`. */
  suspects: readonly string[];
  /** Most processes that the confirmation could take (default: the number of fresh runs). */
  mostFresh?: number;
  rule: Rule;
  /** Earlier checks, for the noise between occasions. */
  history?: readonly HistoryEntry[];
  /** Failures that the runs themselves do not record. */
  failures?: readonly string[];
}
