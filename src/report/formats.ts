import { extname } from "node:path";
import type { ChalkInstance } from "chalk";
import { PinbenchError } from "../errors.js";
import type { ResultDocument } from "../results/schema.js";
import { csvReport } from "./csv.js";
import { jsonReport } from "./json.js";
import { markdownReport } from "./markdown.js";
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

/** The format that an `--output` path asks for by its extension, in any case. Throws a usage error for others. */
export function formatOfPath(path: string): ReportFormat {
  const extension = extname(path).toLowerCase();
  const format = formatOfExtension.get(extension);
  if (format !== undefined) {
    return format;
  }
  // /dev/stdout and what a shell's >(…) gives have no extension to tell by.
  if (extension === "" && /^\/(?:dev|proc)\//.test(path)) {
    return "json";
  }
  const found = extension === "" ? "has no extension" : `has the extension ${extension}`;
  throw new PinbenchError("usage", `${path || '""'} ${found}, which names no format.`, {
    hint: `Use one of ${[...formatOfExtension.keys()].join(", ")}.`,
  });
}
