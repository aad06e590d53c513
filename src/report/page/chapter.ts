import type { Chart } from "../chart/chart.js";
import type { Fact, Grid, Note } from "../report-parts.js";

/** What a page shows of one document, in this order. Its texts need not be escaped yet. */
export interface Chapter {
  /** What the document is and of when: "NVIDIA H200, 2026-11-21 10:22 UTC". */
  title: string;
  /** What must be read before any figure. */
  alerts: readonly Note[];
  /** What it comes to, in plain sentences. */
  answer: readonly Note[];
  charts: readonly Chart[];
  grids: readonly Grid[];
  /** What must be known to read the tables. */
  notes: readonly Note[];
  /** The environment. */
  facts: readonly Fact[];
}
