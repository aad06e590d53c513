import type { ChalkInstance } from "chalk";
import type { Comparison } from "../../compare/comparison.js";
import type { ComparisonFormat } from "../../settings/choices.js";
import { formatByExtension } from "../format-by-extension.js";
import { jsonReport } from "../json.js";
import { terminalGrid } from "../terminal-grid.js";
import { factLines, joinBlocks, noteLines, paint } from "../terminal-text.js";
import { comparisonAlerts, comparisonFacts, comparisonGrids, notesBelow } from "./comparison-content.js";
import { comparisonMarkdown, githubReport } from "./github.js";
import { junitReport } from "./junit.js";
import { describeOutcome, outcomeTone } from "./outcome.js";
import { benchmarkActionReport, bmfReport } from "./trackers.js";

/** Three of the formats are JSON: .json is pinbench's own. */
const formatOfExtension: ReadonlyMap<string, ComparisonFormat> = new Map([
  [".json", "json"],
  [".md", "markdown"],
  [".txt", "table"],
  [".xml", "junit"],
]);

/** The whole text of a comparison in one format. Only the table has colours: those of the chalk instance. */
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

/** The format that an `--output` path asks for by its extension. Throws a usage error where it names none. */
export function comparisonFormatOfPath(path: string): ComparisonFormat {
  return formatByExtension(path, formatOfExtension, "json");
}

const indent = "  ";

/** The comparison for people at a terminal. Colours are the chalk instance's: level 0 gives plain text. */
export function comparisonTable(comparison: Comparison, chalk: ChalkInstance): string {
  const outcome = { text: describeOutcome(comparison), tone: outcomeTone[comparison.outcome] };
  return joinBlocks([
    headerBlock(comparison, chalk),
    ...comparisonGrids(comparison.cells).map((grid) => [
      chalk.bold(grid.caption),
      ...terminalGrid(grid, chalk).map((line) => indent + line),
    ]),
    notesBelow(comparison).flatMap((note) => noteLines(note, indent, chalk)),
    noteLines(outcome, "=> ", chalk),
  ]);
}

function headerBlock(comparison: Comparison, chalk: ChalkInstance): string[] {
  return [
    chalk.bold(`pinbench ${comparison.tool.version} ${comparison.command}`),
    ...comparisonAlerts(comparison).map(({ text, tone }) => chalk.bold(paint(`! ${text}`, tone, chalk))),
    ...factLines(comparisonFacts(comparison), indent, chalk),
  ];
}
