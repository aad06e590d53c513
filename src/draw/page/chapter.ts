import type { Chart } from "../chart/chart.js";
import type { Report } from "../report.js";

/** The content of a page for one document. Its texts are not escaped. */
export interface Chapter {
  report: Report;
  /** Its file, if there are several documents. */
  file?: string;
  charts: readonly Chart[];
  /**
   * The samples of its cells, cell by cell. The charts "samples-over-time" and "samples-distribution" show the first
   * cell. Empty for documents without samples.
   */
  samples: readonly SampleSeries[];
}

/** The samples of one direction of a cell in one process, in the order of measuring. */
export interface SampleSeries {
  id: string;
  /** The cell in words, without what all cells of the document share: "H2D pinned 64 MiB, 4 workers". */
  name: string;
  /** Index in `curveStyles` of its kind of memory. If a chart shows several series, they take consecutive styles. */
  style: number;
  direction: string;
  /** Index of the measuring process; null for a single one. */
  process: number | null;
  /** The unit of `values`: rates, or the time of one copy. */
  unit: "GB/s" | "µs";
  /** From the start of the device's session to the start of each sample, in milliseconds, ascending. */
  startMs: readonly number[];
  values: readonly number[];
}
