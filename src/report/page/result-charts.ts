import type { Chart } from "../../draw/chart/chart.js";
import type { Chapter } from "../../draw/page/chapter.js";
import type { ResultDocument } from "../../results/schema.js";
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

/** The charts of one result, and its samples. */
export function resultPictures(document: ResultDocument): Omit<Chapter, "report"> {
  const samples = sampleSeries(document);
  const charts = withUniqueNames([
    ...sizeCharts(document),
    ...memoryCharts(document),
    ...pinnedGainCharts(document),
    ...workerCharts(document),
    ...severalDevicesCharts(document),
    ...besideCharts(document),
    ...blockCharts(document),
    ...pinningCharts(document),
    ...sampleCharts(samples),
  ]);
  return { charts, samples };
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
