import type { Comparison } from "../../compare/comparison.js";
import { escapeMarkdown, listItem, markdownGrid } from "../markdown-text.js";
import { joinBlocks } from "../terminal-text.js";
import { comparisonGrids } from "./comparison-grid.js";
import { comparisonAlerts, comparisonFacts } from "./header.js";
import { comparisonNotes } from "./notes.js";
import { describeOutcome } from "./outcome.js";

/**
 * The comparison in GitHub's Markdown, for a pull request or a job summary: the outcome as its title, the cells that
 * are not the same, and all cells folded away.
 */
export function comparisonMarkdown(comparison: Comparison): string {
  const { cells, command } = comparison;
  const notable = cells.filter(({ verdict }) => verdict !== "same");
  return joinBlocks([
    [`## pinbench ${command}: ${escapeMarkdown(describeOutcome(comparison))}`],
    ...comparisonAlerts(comparison).map(({ text }) => [`> **${escapeMarkdown(text)}**`]),
    ...gridBlocks(notable),
    comparisonNotes(comparison).map(listItem),
    comparisonFacts(comparison).map(({ label, value }) => `- **${label}:** ${escapeMarkdown(value)}`),
    ...(cells.length === 0 ? [] : folded(`All cells (${cells.length})`, gridBlocks(cells))),
  ]);
}

function gridBlocks(cells: Comparison["cells"]): string[][] {
  return comparisonGrids(cells).flatMap((grid) => [
    [`**${escapeMarkdown(grid.caption)}**`],
    markdownGrid(grid),
  ]);
}

/** GitHub reads the Markdown within only where empty lines set it apart from the tags. */
function folded(summary: string, blocks: readonly string[][]): string[][] {
  return [["<details>", `<summary>${summary}</summary>`], ...blocks, ["</details>"]];
}
