import type { DocumentKind } from "../../draw/document-kind.js";
import {
  environment,
  figure,
  fold,
  type Grid,
  note,
  type Report,
  tables,
  texts,
  wordColumn,
} from "../../draw/report.js";
import { fileScreen } from "../../draw/screen.js";
import { drawTerminal } from "../../draw/terminal/draw-terminal.js";
import { counted, listed, timeText } from "../../draw/words.js";
import { noticeIn } from "../../results/naming/wording.js";
import {
  type Comparison,
  type ComparisonOutcome,
  comparisonSchema,
  isFailing,
  type Verdict,
} from "../comparison.js";
import { bySeverity, comparedNames, describeFigures, type NameOfCompared } from "./cell-text.js";
import {
  cellsToShow,
  comparisonAlerts,
  comparisonFacts,
  comparisonGrids,
  groupGrids,
  hiddenNotes,
  notesBelow,
} from "./comparison-content.js";
import { type Failure, failuresOf } from "./failures.js";
import { junitReport } from "./junit.js";
import { decidesNothing, describeOutcome, outcomeTone, verdictMeaning } from "./outcome.js";

export const comparisonKind: DocumentKind<Comparison> = {
  schema: comparisonSchema,
  report: comparisonReport,
  exports: {
    junit: junitReport,
    // The log of a job has no colours, and no known width.
    github: (comparison, { screen: { showsAll } }) => {
      const screen = fileScreen({ showsAll });
      return githubReport(comparison, drawTerminal(comparisonReport(comparison), screen));
    },
  },
  async pictures(comparison) {
    return { charts: (await import("./comparison-charts.js")).comparisonCharts(comparison) };
  },
};

function comparisonReport(comparison: Comparison): Report {
  const { baseline, candidate, command, tool, cells } = comparison;
  const nameOf = comparedNames(comparison);
  const shown = cellsToShow(comparison);
  const devices = listed([...new Set(candidate.deviceNames)]) || "no device";
  const allCells = fold(
    `All cells (${cells.length})`,
    tables(comparisonGrids(bySeverity(cells), nameOf)),
    hiddenNotes(comparison, shown),
  );
  const what = command === "check" ? "Check" : "Comparison";
  return {
    command,
    version: tool.version,
    hasTerms: true,
    name: `${what}: ${devices}, ${timeText(baseline.startedAt)} and ${timeText(candidate.startedAt)}`,
    blocks: [
      ...texts("alert", comparisonAlerts(comparison)),
      ...texts("answer", [note(describeOutcome(comparison, nameOf), outcomeTone(comparison))]),
      environment(comparisonFacts(comparison)),
      ...tables([...groupGrids(comparison), ...comparisonGrids(shown, nameOf)]),
      ...(cells.length === shown.length ? [] : [allCells]),
      ...texts("note", notesBelow(comparison, nameOf, shown)),
      fold("The machines, before and after", tables([machineGrid(comparison)])),
    ],
  };
}

/** Both sides' machines, one fact a row, differing ones first. */
function machineGrid({ baseline, candidate }: Comparison): Grid {
  const facts = [...new Set([baseline, candidate].flatMap(({ fingerprint }) => Object.keys(fingerprint)))];
  const rows = facts.map((fact) => {
    const [before, now] = [baseline, candidate].map(({ fingerprint }) => fingerprint[fact] ?? "not known");
    return { isSame: before === now, texts: [fact, before!, now!] };
  });
  return {
    columns: [wordColumn(""), wordColumn("baseline"), wordColumn("candidate")],
    rows: [false, true].flatMap((same) =>
      rows
        .filter(({ isSame }) => isSame === same)
        .map(({ texts }) => texts.map((text) => figure(text, "", same ? "plain" : "warning"))),
    ),
  };
}

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
  mismatch: "error",
  "not comparable": "error",
  inconclusive: "error",
};

const mostNamed = 5;

/** GitHub shows at most ten commands of a level in a step. */
const mostCommands = 9;

/**
 * Workflow commands of GitHub Actions, a line each: the outcome, an error for each pattern of failing cells, the worst
 * first, and a warning for each verdict that leaves cells undecided. The table follows for the log of the job.
 */
export function githubReport(comparison: Comparison, table = ""): string {
  const nameOf = comparedNames(comparison);
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
