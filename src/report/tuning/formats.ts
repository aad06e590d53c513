import type { ChalkInstance } from "chalk";
import type { Tuning } from "../../results/tuning.js";
import { jsonReport } from "../json.js";
import type { TuningFormat } from "./format-names.js";
import { envReport, pythonReport } from "./snippets.js";
import { tuningTable } from "./table.js";

/** The whole text of a report. Only the table has colours: those of the chalk instance. */
export function renderTuning(tuning: Tuning, format: TuningFormat, chalk: ChalkInstance): string {
  switch (format) {
    case "table":
      return tuningTable(tuning, chalk);
    case "json":
      return jsonReport(tuning);
    case "python":
      return pythonReport(tuning);
    case "env":
      return envReport(tuning);
  }
}
