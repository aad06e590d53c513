import {
  type BarChart,
  type BarGroup,
  type Chart,
  type Curve,
  type CurveChart,
  withUniqueNames,
} from "../../draw/chart/chart.js";
import { curveStyles } from "../../draw/chart/curve-styles.js";
import { formatGBps } from "../../draw/numbers.js";
import type { Chapter } from "../../draw/page/chapter.js";
import { counted } from "../../draw/words.js";
import type { CellResult } from "../../results/cell-schema.js";
import { measuredStats, wholeOf } from "../../results/naming/cell-figure.js";
import { directionTitle } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import { isPlain } from "../../results/variant.js";
import { directions, memories, workerKinds } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { groupBy } from "../../stats/group-by.js";
import { ascending } from "../../stats/order-statistics.js";
import { type CellGroup, groupCells, requestedCells } from "../tables/cell-group.js";
import { blockCharts } from "./block-charts.js";
import {
  cacheSuffix,
  chartName,
  describeCurves,
  devicePrefix,
  directionSubject,
  formatTick,
  rateAxis,
  ratePoint,
} from "./cell-points.js";
import { findingCharts } from "./finding-chart.js";
import { pinnedGainCharts, pinningCharts } from "./pinning-charts.js";
import { sizeCharts } from "./size-charts.js";

export function resultPictures(document: ResultDocument): Omit<Chapter, "report"> {
  const charts = withUniqueNames<Chart>([
    ...sizeCharts(document),
    ...memoryCharts(document),
    ...pinnedGainCharts(document),
    ...workerCharts(document),
    ...findingCharts(document),
    ...blockCharts(document),
    ...pinningCharts(document),
  ]);
  return { charts };
}

function memoryCharts(document: ResultDocument): BarChart[] {
  const plain = requestedCells(document).filter(
    (cell) => isPlain(cell) && cell.mode === "throughput" && measuredStats(cell, wholeOf(cell.direction)),
  );
  const tables = groupBy(plain, ({ device, cache }) => [device, cache].join("/"));
  return [...tables.values()].flatMap((cells): BarChart[] => {
    const [first] = cells as [CellResult];
    if (cells.some(({ sizeBytes }) => sizeBytes !== first.sizeBytes)) return [];
    const workers = Math.min(...cells.map((cell) => cell.workers));
    const fewest = cells.filter((cell) => cell.workers === workers);
    const groups = memories.flatMap((memory) => groupOf(fewest, memory));
    return [
      {
        kind: "bars",
        name: chartName(document, first, { before: [], shows: "by-memory" }),
        title: `${devicePrefix(document, first.device)}GB/s by kind of memory, copies of ${formatSize(first.sizeBytes)}, ${counted(workers, "worker")}${cacheSuffix(first)}`,
        description: `${groups.flatMap(({ name, bars }) => bars.map((bar) => `${name}, ${bar.name}: ${bar.text}`)).join("; ")}.`,
        value: { label: "GB/s", scale: "linear", format: formatTick },
        groups,
      },
    ];
  });
}

function groupOf(cells: readonly CellResult[], memory: CellResult["memory"]): BarGroup[] {
  const bars = directions.flatMap((direction) => {
    const cell = cells.find((one) => one.memory === memory && one.direction === direction);
    const rate = measuredStats(cell, wholeOf(direction))?.bandwidthGBps;
    if (rate === undefined) return [];
    const { median, low, high } = rate;
    return [{ name: directionTitle[direction], value: median, low, high, text: formatGBps(median) }];
  });
  return bars.length === 0 ? [] : [{ name: memory, style: memories.indexOf(memory), bars }];
}

function workerCharts(document: ResultDocument): CurveChart[] {
  return groupCells(document)
    .filter(({ variant, mode }) => variant === "plain" && mode === "throughput")
    .flatMap((group) => {
      const sizes = ascending(group.cells.map(({ sizeBytes }) => sizeBytes));
      const largest = sizes.findLast((size) => curvesAt(group, size).some(({ points }) => points.length > 1));
      return largest === undefined ? [] : [chartOf(document, group, largest)];
    });
}

const cellsOf = ({ cells }: CellGroup, sizeBytes: number) =>
  cells.filter((cell) => cell.sizeBytes === sizeBytes);

function curvesAt(group: CellGroup, sizeBytes: number): Curve[] {
  const moved = wholeOf(group.direction);
  const measured = cellsOf(group, sizeBytes).filter((cell) => measuredStats(cell, moved) !== null);
  const taken = new Set(measured.map(({ memory }) => memories.indexOf(memory)));
  const free = curveStyles.map((_, style) => style).filter((style) => !taken.has(style));
  const variesKind = new Set(measured.map(({ workerKind }) => workerKind)).size > 1;
  const curves = groupBy(measured, ({ memory, workerKind }) => `${memory}/${workerKind}`);
  return [...curves.values()]
    .sort((a, b) => rankOf(a[0]!) - rankOf(b[0]!))
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

const rankOf = ({ memory, workerKind }: CellResult) =>
  memories.indexOf(memory) * workerKinds.length + workerKinds.indexOf(workerKind);

function workersOf({ workers, workerKind }: CellResult): string {
  return workerKind === "process" ? counted(workers, "process", "processes") : counted(workers, "thread");
}

function chartOf(document: ResultDocument, group: CellGroup, sizeBytes: number): CurveChart {
  const curves = curvesAt(group, sizeBytes);
  const [first] = cellsOf(group, sizeBytes) as [CellResult];
  const workers = ascending(curves.flatMap(({ points }) => points.map(({ x }) => x)));
  const sum = group.direction === "bidir" ? ", the sum," : "";
  return {
    kind: "curves",
    name: chartName(document, first, { before: [group.direction], shows: "by-workers" }),
    title: `${directionSubject(document, first)}: GB/s${sum} by number of workers, copies of ${formatSize(sizeBytes)}${cacheSuffix(first)}`,
    description: describeCurves(curves, "GB/s", formatGBps, (count) => counted(count, "worker")),
    x: { label: "workers that copy at the same time", scale: "log", ticks: workers, format: String },
    y: rateAxis,
    curves,
    rules: [],
  };
}
