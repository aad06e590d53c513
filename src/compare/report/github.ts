import type { Screen } from "../../draw/screen.js";
import { counted } from "../../draw/words.js";
import { noticeIn } from "../../results/naming/wording.js";
import { type Comparison, type ComparisonOutcome, isFailing, type Verdict } from "../comparison.js";
import { comparedNames, describeFigures, type NameOfCompared } from "./cell-text.js";
import { type Failure, failuresOf } from "./failures.js";
import { decidesNothing, describeOutcome, verdictMeaning } from "./outcome.js";

/** The outputs for GitHub: Markdown, and annotations of a job. */

type Level = "error" | "warning" | "notice";

/**
 * A regression has an error for each failure. Without failures, or with a link that lost lanes, the outcome says why
 * the step fails.
 */
const outcomeLevel: Readonly<Record<ComparisonOutcome, Level>> = {
  pass: "notice",
  regression: "notice",
  failed: "error",
  "not comparable": "error",
  inconclusive: "error",
};

/** Most cells of a verdict that are named. */
const mostNamed = 5;

/** GitHub shows at most ten commands of a level in a step. */
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
  const passLevel = decidesNothing(comparison) ? "warning" : outcomeLevel[comparison.outcome];
  const level = comparison.linkLosses === undefined ? passLevel : "error";
  const first = [
    ...(notice === null ? [] : [command("notice", "pinbench", notice)]),
    command(level, `pinbench ${comparison.command}`, outcome),
  ];
  const warnings = (["unsteady", "uneven", "missing", "not comparable", "inconclusive"] as const).flatMap(
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

/** A text without GitHub commands, whatever names it has. */
function withoutCommands(text: string): string {
  return text.replaceAll(/^(\s*):(?=:)/gm, "$1: ").replaceAll("##[", "## [");
}

/** One warning for all cells of a verdict; none without cells. */
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

/** A line break would end the command. The percent sign is escaped first, because the other codes contain one. */
function escapeData(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
