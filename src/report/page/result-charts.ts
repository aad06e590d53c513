import type { BarChart, BarGroup, Chart, Curve, CurveChart } from "../../draw/chart/chart.js";
import { curveStyles } from "../../draw/chart/curve-styles.js";
import { formatGBps, formatRatio } from "../../draw/numbers.js";
import type { Chapter } from "../../draw/page/chapter.js";
import { groupBy } from "../../draw/report.js";
import { counted } from "../../draw/words.js";
import type { CellResult } from "../../results/cell-schema.js";
import { measuredStats, wholeOf } from "../../results/naming/cell-figure.js";
import { directionTitle } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import { isPlain } from "../../results/variant.js";
import { directions, memories, workerKinds } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { ascending } from "../../stats/order-statistics.js";
import { type CellGroup, cellsAskedFor, groupCells } from "../tables/cell-group.js";
import { besideCharts } from "./beside-charts.js";
import { blockCharts } from "./block-charts.js";
import {
  barAxis,
  barOf,
  cacheSuffix,
  chartName,
  describeBars,
  describeCurves,
  devicePrefix,
  directionSubject,
  mainCells,
  rateAxis,
  ratePoint,
} from "./cell-points.js";
import { pinnedGainCharts, pinningCharts } from "./pinning-charts.js";
import { sampleCharts, sampleSeries } from "./sample-charts.js";
import { severalDevicesCharts } from "./several-devices-charts.js";
import { sizeCharts } from "./size-charts.js";

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
 * Rates of a single size, which have no curve: a bar each, grouped by kind of memory. One chart for each device
 * and cache state.
 */
function memoryCharts(document: ResultDocument): BarChart[] {
  const plain = cellsAskedFor(document).filter((cell) => isPlain(cell) && cell.mode === "throughput");
  const tables = groupBy(plain, ({ device, cache }) => [device, cache].join("/"));
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
        title: `${devicePrefix(document, device)}GB/s by kind of memory, copies of ${formatSize(sizeBytes)}, ${counted(workers, "worker")}${cacheSuffix(first)}`,
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

/**
 * Bandwidth by number of workers, with separate curves for threads and processes: for each table of rates a chart of
 * the largest size, and one of the size with the largest gain, if that is another one.
 */
function workerCharts(document: ResultDocument): CurveChart[] {
  return groupCells(document)
    .filter(({ variant, mode }) => variant === "plain" && mode === "throughput")
    .flatMap((group) => {
      const sizes = sizesWithSeveral(group);
      const largest = sizes.at(-1);
      if (largest === undefined) return [];
      const gains = sizes.map((sizeBytes) => ({ sizeBytes, gain: greatestGain(group, sizeBytes) }));
      const telling = gains.reduce((a, b) => (b.gain >= a.gain ? b : a));
      const isOther = telling.gain > leastMore * greatestGain(group, largest);
      const gain = `more workers gain most (${formatRatio(telling.gain)})`;
      return [
        chartOf(document, group, largest, { shows: "by-workers", why: "" }),
        ...(isOther
          ? [
              chartOf(document, group, telling.sizeBytes, {
                shows: "by-workers-most-gain",
                why: `, where ${gain}`,
              }),
            ]
          : []),
      ];
    });
}

/** A gain that is larger than that at the largest size by this factor gets its own chart. */
const leastMore = 1.2;

const cellsOf = ({ rows }: CellGroup, sizeBytes: number) =>
  rows.filter((row) => row.sizeBytes === sizeBytes).flatMap((row) => row.members);

/** The sizes at which a kind of memory has figures for two numbers of workers, ascending. */
function sizesWithSeveral(group: CellGroup): number[] {
  const sizes = ascending(group.rows.map(({ sizeBytes }) => sizeBytes));
  return sizes.filter((sizeBytes) => curvesAt(group, sizeBytes).some(({ points }) => points.length > 1));
}

/** The largest gain of any kind of memory from more than its smallest number of workers; 1 for none. */
function greatestGain(group: CellGroup, sizeBytes: number): number {
  const gains = curvesAt(group, sizeBytes).map(({ points }) => {
    const fewest = points[0]!.y;
    return fewest > 0 ? Math.max(...points.map(({ y }) => y)) / fewest : 1;
  });
  return Math.max(1, ...gains);
}

/** A curve for each kind of memory and of workers; those of processes use the styles of unused kinds of memory. */
function curvesAt(group: CellGroup, sizeBytes: number): Curve[] {
  const moved = wholeOf(group.direction);
  const measured = cellsOf(group, sizeBytes).filter((cell) => measuredStats(cell, moved) !== null);
  const taken = new Set(measured.map(({ memory }) => memories.indexOf(memory)));
  const free = curveStyles.map((_, style) => style).filter((style) => !taken.has(style));
  const variesKind = new Set(measured.map(({ workerKind }) => workerKind)).size > 1;
  const curves = groupBy(measured, ({ memory, workerKind }) => `${memory}/${workerKind}`);
  return [...curves.values()]
    .sort((a, b) => place(a[0]!) - place(b[0]!))
    .map((cells): Curve => {
      const { memory, workerKind } = cells[0]!;
      const isProcess = workerKind === "process";
      const points = cells
        .flatMap((cell) => ratePoint(cell, moved, cell.workers, workersOf(cell)))
        .sort((a, b) => a.x - b.x);
      return {
        name: variesKind || isProcess ? `${memory}, ${isProcess ? "processes" : "threads"}` : memory,
        style:
          isProcess && variesKind ? (free.shift() ?? memories.indexOf(memory)) : memories.indexOf(memory),
        isJoined: true,
        points,
      };
    });
}

const place = ({ memory, workerKind }: CellResult) =>
  memories.indexOf(memory) * workerKinds.length + workerKinds.indexOf(workerKind);

function workersOf({ workers, workerKind }: CellResult): string {
  return workerKind === "process" ? counted(workers, "process", "processes") : counted(workers, "thread");
}

function chartOf(
  document: ResultDocument,
  group: CellGroup,
  sizeBytes: number,
  { shows, why }: { shows: string; why: string },
): CurveChart {
  const curves = curvesAt(group, sizeBytes);
  const [first] = cellsOf(group, sizeBytes) as [CellResult];
  const workers = ascending(curves.flatMap(({ points }) => points.map(({ x }) => x)));
  const sum = group.direction === "bidir" ? ", the sum," : "";
  return {
    kind: "curves",
    name: chartName(document, first, { before: [group.direction], shows }),
    title: `${directionSubject(document, first)}: GB/s${sum} by number of workers, copies of ${formatSize(sizeBytes)}${why}${cacheSuffix(first)}`,
    description: describeCurves(curves, "GB/s", formatGBps, (count) => counted(count, "worker")),
    x: { label: "workers that copy at the same time", scale: "log", ticks: workers, format: String },
    y: rateAxis,
    curves,
    rules: [],
  };
}
