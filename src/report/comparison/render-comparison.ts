import type { Comparison } from "../../compare/comparison.js";
import type { ComparisonFormat, PictureFormat } from "../../settings/choices.js";
import { formatByExtension } from "../format-by-extension.js";
import { jsonReport } from "../json.js";
import { printableDocument } from "../printable-text.js";
import type { Screen } from "../screen.js";
import { terminalReport } from "../terminal-report.js";
import { comparedNames } from "./cell-text.js";
import { comparisonAlerts, comparisonFacts, comparisonGrids, notesBelow } from "./comparison-content.js";
import { comparisonMarkdown, githubReport } from "./github.js";
import { junitReport } from "./junit.js";
import { describeOutcome, outcomeTone } from "./outcome.js";
import { benchmarkActionReport, bmfReport } from "./trackers.js";

/** Three of the formats are JSON: .json is pinbench's own. */
const formatOfExtension = { ".json": "json", ".md": "markdown", ".txt": "table", ".xml": "junit" } as const;

/** The format that an `--output` path asks for by its extension. Throws a usage error where it names none. */
export function comparisonFormatOfPath(path: string): ComparisonFormat | PictureFormat {
  return formatByExtension(path, formatOfExtension);
}

/** The whole text of a comparison in one format. The table is drawn for the screen. */
export function renderComparison(comparison: Comparison, format: ComparisonFormat, screen: Screen): string {
  return renderers[format](isJson.has(format) ? comparison : printableDocument(comparison), screen);
}

const isJson: ReadonlySet<ComparisonFormat> = new Set(["json", "bmf", "benchmark-action"]);

type Renderer = (comparison: Comparison, screen: Screen) => string;

const renderers: Readonly<Record<ComparisonFormat, Renderer>> = {
  table: comparisonTable,
  json: jsonReport,
  markdown: comparisonMarkdown,
  junit: junitReport,
  github: githubReport,
  bmf: bmfReport,
  "benchmark-action": benchmarkActionReport,
};

/** The comparison for people at a terminal. */
export function comparisonTable(comparison: Comparison, screen: Screen): string {
  const nameOf = comparedNames(comparison, screen);
  const report = {
    title: `pinbench ${comparison.tool.version} ${comparison.command}`,
    alerts: comparisonAlerts(comparison),
    answer: [{ text: describeOutcome(comparison, nameOf), tone: outcomeTone[comparison.outcome] }],
    facts: comparisonFacts(comparison),
    grids: comparisonGrids(comparison.cells, nameOf),
    notes: notesBelow(comparison, nameOf),
  };
  return terminalReport(report, screen);
}
