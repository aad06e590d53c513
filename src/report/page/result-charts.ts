import type { BarChart, BarGroup, Chart } from "../../draw/chart/chart.js";
import type { Chapter } from "../../draw/page/chapter.js";
import { groupBy } from "../../draw/report.js";
import { counted } from "../../draw/words.js";
import type { CellResult } from "../../results/cell-schema.js";
import { measuredStats, wholeOf } from "../../results/naming/cell-figure.js";
import { directionTitle } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import { isPlain } from "../../results/variant.js";
import { directions, memories } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { cellsAskedFor } from "../tables/cell-group.js";
import { besideCharts } from "./beside-charts.js";
import { blockCharts } from "./block-charts.js";
import {
  barAxis,
  barOf,
  chartName,
  clockSuffix,
  describeBars,
  devicePrefix,
  mainCells,
} from "./cell-points.js";
import { pinnedGainCharts, pinningCharts } from "./pinning-charts.js";
import { sampleCharts, sampleSeries } from "./sample-charts.js";
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

/** The second chart of a name is called "NAME-2", because names do not distinguish all charts of a document. */
function withUniqueNames(charts: readonly Chart[]): Chart[] {
  const counts = new Map<string, number>();
  return charts.map((chart) => {
    const count = (counts.get(chart.name) ?? 0) + 1;
    counts.set(chart.name, count);
    return count === 1 ? chart : { ...chart, name: `${chart.name}-${count}` };
  });
}

/**
 * Rates of a single size, which have no curve: a bar each, grouped by kind of memory. One chart for each device, timer
 * and cache state.
 */
function memoryCharts(document: ResultDocument): BarChart[] {
  const plain = cellsAskedFor(document).filter((cell) => isPlain(cell) && cell.mode === "throughput");
  const tables = groupBy(plain, ({ device, timer, cache }) => [device, timer, cache].join("/"));
  return [...tables.values()].flatMap((all) => {
    const measured = all.filter((cell) => measuredStats(cell, wholeOf(cell.direction)) !== null);
    const cells = mainCells(measured);
    const [first] = cells;
    const sizes = new Set(measured.map(({ sizeBytes }) => sizeBytes));
    if (first === undefined || sizes.size > 1) return [];
    const { device, mode, sizeBytes, workers } = first;
    const groups = memories.flatMap((memory) => groupOf(cells, memory));
    return [
      {
        kind: "bars",
        name: chartName(document, first, { before: [], shows: "by-memory" }),
        title: `${devicePrefix(document, device)}GB/s by kind of memory, copies of ${formatSize(sizeBytes)}, ${counted(workers, "worker")}${clockSuffix(first)}`,
        description: describeBars(groups),
        value: barAxis(mode),
        groups,
      },
    ];
  });
}

function groupOf(cells: readonly CellResult[], memory: CellResult["memory"]): BarGroup[] {
  const bars = directions.flatMap((direction) => {
    const cell = cells.find((one) => one.memory === memory && one.direction === direction);
    return barOf(cell, wholeOf(direction), { name: directionTitle[direction] });
  });
  return bars.length === 0 ? [] : [{ name: memory, style: memories.indexOf(memory), bars }];
}
