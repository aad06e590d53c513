import type { DocumentKind, Show } from "../../draw/document-kind.js";
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
import { listed, timeText } from "../../draw/words.js";
import { type Comparison, comparisonSchema } from "../comparison.js";
import { bySeverity, comparedNames } from "./cell-text.js";
import {
  cellsToShow,
  comparisonAlerts,
  comparisonFacts,
  comparisonGrids,
  groupGrids,
  hiddenNotes,
  notesBelow,
} from "./comparison-content.js";
import { githubReport } from "./github.js";
import { junitReport } from "./junit.js";
import { describeOutcome, outcomeTone } from "./outcome.js";
import { benchmarkActionReport, bmfReport } from "./trackers.js";

/** A comparison or a check, as a kind of document. */
export const comparisonKind: DocumentKind<Comparison> = {
  schema: comparisonSchema,
  report: comparisonReport,
  exports: {
    junit: (comparison, { screen }) => junitReport(comparison, screen),
    // The log of a job has no colours, and no known width.
    github: (comparison, { screen: { showsIds }, showsAll }) => {
      const show = { screen: fileScreen({ showsIds }), showsAll, plots: [] };
      return githubReport(
        comparison,
        { showsIds },
        drawTerminal(comparisonReport(comparison, show), show.screen),
      );
    },
  },
  rawExports: { bmf: bmfReport, "benchmark-action": benchmarkActionReport },
  async pictures(comparison) {
    return { charts: (await import("./comparison-charts.js")).comparisonCharts(comparison) };
  },
};

function comparisonReport(comparison: Comparison, { screen, showsAll }: Show): Report {
  const { baseline, candidate, command, tool, cells } = comparison;
  const nameOf = comparedNames(comparison, screen);
  const shown = cellsToShow(comparison, showsAll);
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
      ...(cells.length === 0 ? [] : [allCells]),
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
