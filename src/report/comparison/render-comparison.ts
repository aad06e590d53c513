import type { Comparison } from "../../compare/comparison.js";
import { jsonReport } from "../../draw/json.js";
import { printableDocument } from "../../draw/printable-text.js";
import { fileScreen, type Screen } from "../../draw/screen.js";
import { terminalReport } from "../../draw/terminal/terminal-report.js";
import type { ComparisonFormat, PictureFormat } from "../../settings/choices.js";
import { formatByExtension } from "../format-by-extension.js";
import { comparedNames } from "./cell-text.js";
import {
  cellsToShow,
  comparisonAlerts,
  comparisonFacts,
  comparisonGrids,
  groupGrids,
  hiddenNotes,
  notesBelow,
} from "./comparison-content.js";
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

/** How a comparison is shown. */
export interface ComparisonView extends Screen {
  /** Whether all cells are shown, also those of which there is nothing to say (false). */
  showsAll?: boolean;
}

/** The whole text of a comparison in one format. The table is drawn for the screen. */
export function renderComparison(
  comparison: Comparison,
  format: ComparisonFormat,
  view: ComparisonView,
): string {
  const shown = isJson.has(format) ? comparison : printableDocument(comparison);
  return renderers[format](shown, view);
}

const isJson: ReadonlySet<ComparisonFormat> = new Set(["json", "bmf", "benchmark-action"]);

type Renderer = (comparison: Comparison, view: ComparisonView) => string;

const renderers: Readonly<Record<ComparisonFormat, Renderer>> = {
  table: comparisonTable,
  json: jsonReport,
  markdown: comparisonMarkdown,
  junit: junitReport,
  // The log of a job has no colours and no width of its own.
  github: (comparison, { showsAll = false, showsIds }) =>
    githubReport(
      comparison,
      { showsIds },
      comparisonTable(comparison, { ...fileScreen({ showsIds }), showsAll }),
    ),
  bmf: bmfReport,
  "benchmark-action": benchmarkActionReport,
};

/** The comparison for people at a terminal. */
export function comparisonTable(comparison: Comparison, view: ComparisonView): string {
  const nameOf = comparedNames(comparison, view);
  const shown = cellsToShow(comparison, view.showsAll ?? false);
  const report = {
    title: `pinbench ${comparison.tool.version} ${comparison.command}`,
    alerts: comparisonAlerts(comparison),
    answer: [{ text: describeOutcome(comparison, nameOf), tone: outcomeTone[comparison.outcome] }],
    facts: comparisonFacts(comparison),
    grids: [...groupGrids(comparison), ...comparisonGrids(shown, nameOf)],
    notes: [...hiddenNotes(comparison, shown), ...notesBelow(comparison, nameOf, shown)],
  };
  return terminalReport(report, view);
}
