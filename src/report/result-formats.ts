import type { ChalkInstance } from "chalk";
import type { ResultDocument } from "../results/schema.js";
import { csvReport } from "./csv.js";
import { formatByExtension } from "./format-by-extension.js";
import { jsonReport } from "./json.js";
import { markdownReport } from "./markdown-text.js";
import { tableReport } from "./table.js";

/** Values of `--format`. */
export const reportFormats = ["table", "json", "csv", "markdown"] as const;

export type ReportFormat = (typeof reportFormats)[number];

const formatOfExtension: ReadonlyMap<string, ReportFormat> = new Map([
  [".json", "json"],
  [".csv", "csv"],
  [".md", "markdown"],
  [".txt", "table"],
]);

/** The whole text of a report. Only the table has colours: those of the chalk instance. */
export function renderReport(document: ResultDocument, format: ReportFormat, chalk: ChalkInstance): string {
  switch (format) {
    case "table":
      return tableReport(document, chalk);
    case "json":
      return jsonReport(document);
    case "csv":
      return csvReport(document);
    case "markdown":
      return markdownReport(document);
  }
}

/** The format that an `--output` path asks for by its extension. Throws a usage error for others. */
export function formatOfPath(path: string): ReportFormat {
  return formatByExtension(path, formatOfExtension, "json");
}
