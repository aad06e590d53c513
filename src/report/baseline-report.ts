import type { ChalkInstance } from "chalk";
import type { Sensitivity } from "../compare/sensitivity.js";
import { roundUp } from "./format-number.js";
import { type Column, figure, numberColumn, wordColumn } from "./report-parts.js";
import { terminalGrid } from "./terminal-grid.js";
import { joinBlocks, textWidth, wrap } from "./terminal-text.js";
import { counted } from "./wording.js";

/** What `pinbench baseline` wrote, and what can be found by checks against it. */
export interface BaselineReport {
  /** The folder of its runs. */
  path: string;
  runs: number;
  cells: number;
  /** Set for the emulated device. */
  notice: string | null;
  /** How many processes the check has that the sensitivity is given for, and as many to confirm. */
  checkRuns: number;
  /** By kind of memory; null where a single run leaves the spread between runs unknown. */
  sensitivity: Sensitivity | null;
}

const columns: readonly Column[] = [
  wordColumn("memory"),
  numberColumn("cells"),
  numberColumn("spread", "typical"),
  numberColumn("", "largest"),
  numberColumn("drop found", "typical"),
  numberColumn("", "largest"),
];

/** The size of a new baseline, and by kind of memory its spread and the drops that checks against it find. */
export function baselineReport(report: BaselineReport, chalk: ChalkInstance): string {
  const { path, runs, cells, notice, checkRuns, sensitivity } = report;
  const header = [
    ...(notice === null ? [] : [chalk.bold(`! ${notice}`)]),
    `${path} holds ${counted(runs, "run")} of ${counted(cells, "cell")}.`,
  ];
  if (sensitivity === null) {
    header.push(
      "One run says nothing of the spread between runs: --runs 10 makes a baseline to check against.",
    );
    return joinBlocks([header]);
  }
  const percent = (share: number) => figure(`${roundUp(share * 100, share < 0.1 ? 1 : 0)} %`);
  const rows = sensitivity.kinds.map((kind) => [
    figure(kind.name),
    figure(String(kind.cells)),
    percent(kind.typicalDeviation),
    percent(kind.largestDeviation),
    percent(kind.typicalDrop),
    percent(kind.largestDrop),
  ]);
  const explanation = `Spread is the standard deviation between runs. A drop of the size given is found 19 times out of 20, at the thresholds in force, by a check of ${counted(checkRuns, "run")} with as many to confirm.`;
  return joinBlocks([header, terminalGrid({ columns, rows }, chalk, "  "), wrap(explanation, textWidth)]);
}
