import type { Chart } from "../chart/chart.js";
import type { Report } from "../report.js";

/** The content of a page for one document. Its texts are not escaped. */
export interface Chapter {
  report: Report;
  /** Its file, if there are several documents. */
  file?: string;
  charts: readonly Chart[];
}
