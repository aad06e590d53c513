import type { Comparison, ComparisonOutcome, Verdict } from "../../compare/comparison.js";
import { isFailing } from "../../compare/verdict.js";
import { alertBlocks, escapeMarkdown, factItem, listItem, markdownGrid } from "../markdown-text.js";
import type { Screen } from "../screen.js";
import { joinBlocks } from "../terminal-text.js";
import { counted, noticeIn } from "../wording.js";
import { comparedNames, describeFigures, failingCells, type NameOfCompared } from "./cell-text.js";
import { comparisonAlerts, comparisonFacts, comparisonGrids, notesBelow } from "./comparison-content.js";
import { describeOutcome, isHostSlower, verdictMeaning } from "./outcome.js";

/** What GitHub shows of a comparison: Markdown, and annotations of a job. */

/**
 * The comparison in GitHub's Markdown, for a pull request or a job summary: the outcome as its title, the cells that
 * changed or may have, and all cells folded away.
 */
export function comparisonMarkdown(
  comparison: Comparison,
  screen: Pick<Screen, "showsIds"> = { showsIds: false },
): string {
  const nameOf = comparedNames(comparison, screen);
  const { cells, command } = comparison;
  const notable = cells.filter(({ verdict }) => verdict !== "not slower");
  return joinBlocks([
    [`## pinbench ${command}: ${escapeMarkdown(describeOutcome(comparison, nameOf))}`],
    ...alertBlocks(comparisonAlerts(comparison)),
    ...gridBlocks(notable, nameOf),
    notesBelow(comparison, nameOf).map(listItem),
    comparisonFacts(comparison).map(factItem),
    ...(cells.length === 0 ? [] : folded(`All cells (${cells.length})`, gridBlocks(cells, nameOf))),
  ]);
}

function gridBlocks(cells: Comparison["cells"], nameOf: NameOfCompared): string[][] {
  return comparisonGrids(cells, nameOf).flatMap((grid) => [
    [`**${escapeMarkdown(grid.caption)}**`],
    markdownGrid(grid),
  ]);
}

/** GitHub takes what is inside for Markdown only where empty lines set it apart from the tags. */
function folded(summary: string, blocks: readonly string[][]): string[][] {
  return [["<details>", `<summary>${summary}</summary>`], ...blocks, ["</details>"]];
}

type Level = "error" | "warning" | "notice";

/** A regression has an error for each cell that fails; where no cell has one, or a link lost lanes, the outcome says why the step fails. */
const outcomeLevel: Readonly<Record<ComparisonOutcome, Level>> = {
  pass: "notice",
  regression: "notice",
  failed: "error",
  "not comparable": "error",
  inconclusive: "error",
};

/** So many cells of a verdict are named. */
const mostNamed = 5;

/**
 * Workflow commands of GitHub Actions, a line each: an error for each cell that fails, a warning for each verdict that
 * leaves cells undecided, and the outcome. GitHub shows ten of a level in a step, so the worst come first.
 */
export function githubReport(
  comparison: Comparison,
  screen: Pick<Screen, "showsIds"> = { showsIds: false },
): string {
  const nameOf = comparedNames(comparison, screen);
  const notice = noticeIn(comparison);
  // The outcome names the link, and the host's memory in one sentence for all of its cells.
  const failing = failingCells(comparison).filter((cell) => !isHostSlower(cell));
  const isOfNoCell =
    comparison.outcome === "regression" && (failing.length === 0 || comparison.linkLosses !== undefined);
  const outcome = [
    describeOutcome(comparison, nameOf),
    ...(comparison.unfinished ?? []),
    ...comparison.notes,
  ].join("\n");
  return [
    ...(notice === null ? [] : [command("notice", "pinbench", notice)]),
    command(
      isOfNoCell ? "error" : outcomeLevel[comparison.outcome],
      `pinbench ${comparison.command}`,
      outcome,
    ),
    ...failing.map((cell) =>
      command(
        "error",
        `pinbench: ${cell.verdict}`,
        `${nameOf(cell)}, ${describeFigures(cell)}\n${cell.reason}`,
      ),
    ),
    ...(["unsteady", "uneven", "missing", "not comparable", "cannot be told"] as const).flatMap((verdict) =>
      verdictWarning(comparison, verdict, nameOf),
    ),
  ].join("");
}

/** One warning for all cells of a verdict; none where there are none. */
function verdictWarning({ cells, rule }: Comparison, verdict: Verdict, nameOf: NameOfCompared): string[] {
  const names = cells.filter((cell) => cell.verdict === verdict && !isFailing(cell, rule)).map(nameOf);
  if (names.length === 0) return [];
  const more = names.length > mostNamed ? [`and ${names.length - mostNamed} more`] : [];
  const share = `${names.length} of ${counted(cells.length, "cell")}: ${verdictMeaning[verdict]}`;
  return [
    command("warning", `pinbench: ${verdict}`, [share, ...names.slice(0, mostNamed), ...more].join("\n")),
  ];
}

function command(level: Level, title: string, message: string): string {
  return `::${level} title=${escapeProperty(title)}::${escapeData(message)}\n`;
}

/** A line's end would end the command. The percent sign comes first, or those of the other codes would be encoded. */
function escapeData(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
