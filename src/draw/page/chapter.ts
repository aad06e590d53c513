import type { Chart } from "../chart/chart.js";
import type { Report } from "../report.js";

/** What a page shows of one document. Its texts need not be escaped yet. */
export interface Chapter {
  report: Report;
  /** The file that it was found in, where there are several documents. */
  file?: string;
  charts: readonly Chart[];
  /**
   * The samples of its cells, those of a cell one after the other. The first cell is the one that the charts
   * "samples-over-time" and "samples-distribution" show. Empty for documents without samples.
   */
  samples: readonly SampleSeries[];
}

/** The samples of one direction of a cell, in one process, in the order in which they were measured. */
export interface SampleSeries {
  /** The id of the cell. */
  id: string;
  /** The cell in words, without what is the same in all of the document: "H2D pinned 64 MiB, 4 workers". */
  name: string;
  /** Which of `curveStyles` it has: its memory kind's. Where a chart shows several series, each takes the one after. */
  style: number;
  direction: string;
  /** Which of several processes measured, from 0; null for a single one. */
  process: number | null;
  /** Of `values`: rates, or the time that one copy took. */
  unit: "GB/s" | "µs";
  /** From the start of the device's session to the start of the sample, in milliseconds, ascending. */
  startMs: readonly number[];
  values: readonly number[];
}
