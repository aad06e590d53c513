import type { ChalkInstance } from "chalk";
import type { Comparison } from "../../compare/comparison.js";
import { formatByExtension } from "../format-by-extension.js";
import { jsonReport } from "../json.js";
import { benchmarkActionReport } from "./benchmark-action.js";
import { bmfReport } from "./bmf.js";
import type { ComparisonFormat } from "./format-names.js";
import { githubReport } from "./github.js";
import { junitReport } from "./junit.js";
import { comparisonMarkdown } from "./markdown.js";
import { comparisonTable } from "./table.js";

/** Three of the formats are JSON: .json is pinbench's own. */
const formatOfExtension: ReadonlyMap<string, ComparisonFormat> = new Map([
  [".json", "json"],
  [".md", "markdown"],
  [".txt", "table"],
  [".xml", "junit"],
]);

/** The whole text of a comparison. Only the table has colours: those of the chalk instance. */
export function renderComparison(
  comparison: Comparison,
  format: ComparisonFormat,
  chalk: ChalkInstance,
): string {
  switch (format) {
    case "table":
      return comparisonTable(comparison, chalk);
    case "json":
      return jsonReport(comparison);
    case "markdown":
      return comparisonMarkdown(comparison);
    case "junit":
      return junitReport(comparison);
    case "github":
      return githubReport(comparison);
    case "bmf":
      return bmfReport(comparison);
    case "benchmark-action":
      return benchmarkActionReport(comparison);
  }
}

/** The format that an `--output` path asks for by its extension. Throws a usage error for others. */
export function comparisonFormatOfPath(path: string): ComparisonFormat {
  return formatByExtension(path, formatOfExtension, "json");
}
