import type { Comparison, ComparisonOutcome, Verdict } from "../../compare/comparison.js";
import { counted } from "../wording.js";
import { cellName, comparisonNotice, describeFigures, slowerCells } from "./cell-text.js";
import { comparisonMarkdown } from "./markdown.js";
import { describeOutcome, verdictMeaning } from "./outcome.js";

type Level = "error" | "warning" | "notice";

/** Where no cell has an error of its own, the outcome is the one that says why the step fails. */
const outcomeLevel: Readonly<Record<ComparisonOutcome, Level>> = {
  pass: "notice",
  regression: "notice",
  failed: "error",
  "not comparable": "error",
  inconclusive: "error",
};

const mostNamed = 5;

/**
 * Workflow commands of GitHub Actions, a line each: an error for each slower cell, a warning for each verdict that
 * leaves cells undecided, and the outcome. GitHub shows ten of a level in a step, so the worst come first.
 */
export function githubReport(comparison: Comparison): string {
  const notice = comparisonNotice(comparison);
  const outcome = [describeOutcome(comparison), ...comparison.notes].join("\n");
  return [
    ...(notice === null ? [] : [command("notice", "pinbench", notice)]),
    command(outcomeLevel[comparison.outcome], `pinbench ${comparison.command}`, outcome),
    ...slowerCells(comparison.cells).map((cell) =>
      command("error", "pinbench: slower", `${cellName(cell)}, ${describeFigures(cell)}\n${cell.reason}`),
    ),
    ...(["missing", "not comparable", "inconclusive"] as const).flatMap((verdict) =>
      summaryWarning(comparison, verdict),
    ),
  ].join("");
}

/** What is to be appended to the file that $GITHUB_STEP_SUMMARY names. */
export function githubStepSummary(comparison: Comparison): string {
  return comparisonMarkdown(comparison);
}

function summaryWarning({ cells }: Comparison, verdict: Verdict): string[] {
  const names = cells.filter((cell) => cell.verdict === verdict).map(cellName);
  if (names.length === 0) {
    return [];
  }
  const more = names.length > mostNamed ? [`and ${names.length - mostNamed} more`] : [];
  const share = `${names.length} of ${counted(cells.length, "cell")}: ${verdictMeaning[verdict]}`;
  return [
    command("warning", `pinbench: ${verdict}`, [share, ...names.slice(0, mostNamed), ...more].join("\n")),
  ];
}

function command(level: Level, title: string, message: string): string {
  return `::${level} title=${escapeProperty(title)}::${escapeData(message)}\n`;
}

/** The runner ends a command at the line and decodes these; the percent sign comes first, or it would be doubled. */
function escapeData(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
