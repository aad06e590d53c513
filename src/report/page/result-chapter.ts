import type { Chart } from "../../draw/chart/chart.js";
import type { Chapter } from "../../draw/page/chapter.js";
import type { Grid } from "../../draw/report-parts.js";
import { timeText } from "../../draw/words.js";
import type { ResultDocument } from "../../results/schema.js";
import { answer, closingLines } from "../answer.js";
import { cellGrids } from "../cell-grids.js";
import { cellNotes } from "../cell-notes.js";
import { coldStartReports } from "../cold-start-report.js";
import { headerAlerts, headerFacts } from "../result-header.js";
import { besideCharts } from "./beside-charts.js";
import { blockCharts } from "./block-charts.js";
import { memoryCharts } from "./memory-charts.js";
import { pinnedGainCharts } from "./pinned-gain-charts.js";
import { pinningCharts } from "./pinning-charts.js";
import { sampleCharts } from "./sample-charts.js";
import { sampleSeries } from "./sample-series.js";
import { severalDevicesCharts } from "./several-devices-charts.js";
import { sizeCharts } from "./size-charts.js";
import { workerCharts } from "./worker-charts.js";

/** What a page shows of one result. */
export function resultChapter(document: ResultDocument): Chapter {
  const names = [...new Set(document.devices.map(({ name }) => name))].join(", ") || "no device";
  const samples = sampleSeries(document);
  return {
    title: `${names}, ${timeText(document.run.startedAt)}`,
    alerts: headerAlerts(document),
    answer: answer(document),
    conclusions: closingLines(document),
    charts: withUniqueNames([
      ...sizeCharts(document),
      ...memoryCharts(document),
      ...pinnedGainCharts(document),
      ...workerCharts(document),
      ...severalDevicesCharts(document),
      ...besideCharts(document),
      ...blockCharts(document),
      ...pinningCharts(document),
      ...sampleCharts(samples),
    ]),
    samples,
    grids: [...cellGrids(document), ...coldStartGrids(document)],
    notes: cellNotes(document),
    facts: headerFacts(document),
  };
}

/** The second chart of a name is called "NAME-2": a document may have more of one kind than names can tell apart. */
function withUniqueNames(charts: readonly Chart[]): Chart[] {
  const counts = new Map<string, number>();
  return charts.map((chart) => {
    const count = (counts.get(chart.name) ?? 0) + 1;
    counts.set(chart.name, count);
    return count === 1 ? chart : { ...chart, name: `${chart.name}-${count}` };
  });
}

/** What opening each device took stands below the table of what memory costs there. */
function coldStartGrids(document: ResultDocument): Grid[] {
  return coldStartReports(document).flatMap(({ title, opening, grid }) =>
    grid === null ? [] : [{ ...grid, caption: title, footnote: `${opening}; ${grid.footnote}` }],
  );
}
