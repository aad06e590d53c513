import type { HistoryEntry } from "../results/history-entry.js";
import type { Comparison } from "./comparison.js";
import type { ResultSet, RunFigures } from "./result-set.js";
import type { Rule } from "./verdict.js";

/** What is to be compared, and by which rule. */
export interface ComparisonRequest {
  /** Of pinbench. */
  version: string;
  command: Comparison["command"];
  baseline: ResultSet;
  candidate: ResultSet;
  /** Runs of fresh processes that measured the suspects again; empty where there are none. */
  fresh: readonly RunFigures[];
  /** Ids of the cells that looked slower, as `findSuspects()` has them. */
  suspects: readonly string[];
  /** How many processes the confirmation was to take at most; as many as there are where nothing is said. */
  mostFresh?: number;
  rule: Rule;
  /** Earlier checks, for the noise between occasions. */
  history?: readonly HistoryEntry[];
  /** What failed besides what the runs themselves say. */
  failures?: readonly string[];
}
