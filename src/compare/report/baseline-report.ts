import { roundUp } from "../../draw/numbers.js";
import { printableDocument } from "../../draw/printable-text.js";
import { type Column, figure, note, numberColumn, wordColumn } from "../../draw/report.js";
import type { Screen } from "../../draw/screen.js";
import { alertLines } from "../../draw/terminal/draw-terminal.js";
import { terminalGrid } from "../../draw/terminal/terminal-grid.js";
import { joinBlocks, paragraph } from "../../draw/terminal/terminal-text.js";
import { counted } from "../../draw/words.js";
import type { Sensitivity } from "../sensitivity.js";

export interface BaselineReport {
  path: string;
  runs: number;
  cells: number;
  sessions: number;
  notice: string | null;
  /** Number of runs in a check, for which the sensitivity holds. */
  checkRuns: number;
  sensitivity: readonly Sensitivity[];
}

const columns: readonly Column[] = [
  wordColumn("memory"),
  numberColumn("cells"),
  numberColumn("noise", "between runs"),
  numberColumn("", "sessions"),
  numberColumn("would show"),
];

export function baselineReport(made: BaselineReport, screen: Screen): string {
  const { path, runs, cells, sessions, notice, checkRuns, sensitivity } = printableDocument(made);
  const when = sessions > 1 ? ` in ${sessions} sessions` : "";
  const header = [
    ...alertLines(notice === null ? [] : [note(notice)], screen),
    ...paragraph(`${path} holds ${counted(runs, "run")} of ${counted(cells, "cell")}${when}.`, screen),
  ];
  const percent = (share: number) => figure(`${roundUp(share * 100, share < 0.1 ? 1 : 0)} %`);
  const rows = sensitivity.map(({ kind, cells: members, betweenRuns, betweenSessions, wouldShow }) => [
    figure(kind),
    figure(`${members}`),
    percent(betweenRuns),
    percent(betweenSessions),
    percent(wouldShow),
  ]);
  const advice =
    sessions > 1
      ? []
      : [
          `One session does not show how sessions differ; that is assumed. \`pinbench baseline ${path} --append\` adds one later.`,
        ];
  const explanation = `Noise is a standard deviation. A check of ${counted(checkRuns, "run")} finds a loss of what "would show" in 39 of 40 cases.`;
  return joinBlocks([
    header,
    terminalGrid({ columns, rows }, screen),
    ...[explanation, ...advice].map((text) => paragraph(text, screen)),
  ]);
}
