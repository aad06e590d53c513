import type { Comparison, ComparisonOutcome, Verdict } from "../../compare/comparison.js";
import { isFailing } from "../../compare/verdict.js";
import { alertBlocks, escapeMarkdown, factItem, listItem, markdownGrid } from "../../draw/markdown-text.js";
import type { Grid } from "../../draw/report-parts.js";
import type { Screen } from "../../draw/screen.js";
import { joinBlocks } from "../../draw/terminal/terminal-text.js";
import { counted } from "../../draw/words.js";
import { noticeIn } from "../wording.js";
import { comparedNames, describeFigures, type NameOfCompared } from "./cell-text.js";
import {
  cellsToShow,
  comparisonAlerts,
  comparisonFacts,
  comparisonGrids,
  groupGrids,
  notesBelow,
} from "./comparison-content.js";
import { type Failure, failuresOf } from "./failures.js";
import { describeOutcome, verdictMeaning } from "./outcome.js";

/** What GitHub shows of a comparison: Markdown, and annotations of a job. */

/**
 * The comparison in GitHub's Markdown, for a pull request or a job summary: the outcome as its title, the cells that
 * need attention, and all cells folded away.
 */
export function comparisonMarkdown(
  comparison: Comparison,
  screen: Pick<Screen, "showsIds"> = { showsIds: false },
): string {
  const nameOf = comparedNames(comparison, screen);
  const { cells, command } = comparison;
  return joinBlocks([
    [`## pinbench ${command}: ${escapeMarkdown(describeOutcome(comparison, nameOf))}`],
    ...alertBlocks(comparisonAlerts(comparison)),
    ...gridBlocks([...groupGrids(comparison), ...comparisonGrids(cellsToShow(comparison, false), nameOf)]),
    notesBelow(comparison, nameOf).map(listItem),
    comparisonFacts(comparison).map(factItem),
    ...(cells.length === 0
      ? []
      : folded(`All cells (${cells.length})`, gridBlocks(comparisonGrids(cells, nameOf)))),
  ]);
}

function gridBlocks(grids: readonly (Grid & { caption: string })[]): string[][] {
  return grids.flatMap((grid) => [[`**${escapeMarkdown(grid.caption)}**`], markdownGrid(grid)]);
}

/** GitHub takes what is inside for Markdown only where empty lines set it apart from the tags. */
function folded(summary: string, blocks: readonly string[][]): string[][] {
  return [["<details>", `<summary>${summary}</summary>`], ...blocks, ["</details>"]];
}

type Level = "error" | "warning" | "notice";

/** A regression has an error for each failure; if there is none, or a link lost lanes, the outcome says why the step fails. */
const outcomeLevel: Readonly<Record<ComparisonOutcome, Level>> = {
  pass: "notice",
  regression: "notice",
  failed: "error",
  "not comparable": "error",
  inconclusive: "error",
};

/** So many cells of a verdict are named. */
const mostNamed = 5;

/** GitHub shows ten commands of a level in a step, and no more of them are read. */
const mostCommands = 9;

/**
 * Workflow commands of GitHub Actions, a line each: the outcome, an error for each pattern of failing cells, the worst
 * first, and a warning for each verdict that leaves cells undecided. The table follows for the log of the job.
 */
export function githubReport(
  comparison: Comparison,
  screen: Pick<Screen, "showsIds"> = { showsIds: false },
  table = "",
): string {
  const nameOf = comparedNames(comparison, screen);
  const notice = noticeIn(comparison);
  const outcome = [
    describeOutcome(comparison, nameOf),
    ...(comparison.unfinished ?? []),
    ...comparison.notes,
  ].join("\n");
  const level = comparison.linkLosses === undefined ? outcomeLevel[comparison.outcome] : "error";
  const first = [
    ...(notice === null ? [] : [command("notice", "pinbench", notice)]),
    command(level, `pinbench ${comparison.command}`, outcome),
  ];
  const warnings = (["unsteady", "uneven", "missing", "not comparable", "cannot be told"] as const).flatMap(
    (verdict) => verdictWarning(comparison, verdict, nameOf),
  );
  const errors = failuresOf(comparison, nameOf).map((failure) => failureError(failure, nameOf));
  const room = mostCommands - first.length - warnings.length;
  const commands = [...first, ...errors.slice(0, room), ...warnings];
  return [...commands, ...(table === "" ? [] : ["\n", withoutCommands(table)])].join("");
}

/** The failure, and the figures of its worst cell. */
function failureError({ verdict, text, cells: [worst] }: Failure, nameOf: NameOfCompared): string {
  const example = worst === undefined ? [] : [`${nameOf(worst)}, ${describeFigures(worst)}`, worst.reason];
  return command("error", `pinbench: ${verdict}`, [text, ...example].join("\n"));
}

/** A text in which GitHub finds no command, whatever the names in it are. */
function withoutCommands(text: string): string {
  return text.replaceAll(/^(\s*):(?=:)/gm, "$1: ").replaceAll("##[", "## [");
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
