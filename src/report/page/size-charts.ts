import type { CellResult, CellStats, ResultDocument } from "../../results/schema.js";
import { memories } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { measuredStats } from "../cell-figure.js";
import { type CellGroup, groupCells } from "../cell-group.js";
import type { ChartPoint, Curve, CurveChart } from "../chart/chart.js";
import { formatGBps, formatHalfWidth } from "../format-number.js";
import { counted, directionName } from "../wording.js";

/** Bandwidth against size: a chart for each table of rates and number of workers, a curve for each memory kind. */
export function sizeCharts(document: ResultDocument): CurveChart[] {
  return groupCells(document)
    .filter(({ variant, mode }) => variant === "plain" && mode === "throughput")
    .flatMap((group) => workersOf(group).flatMap((workers) => chartOf(group, workers)));
}

/** The number of workers with which most is measured. */
function workersOf({ rows }: CellGroup): number[] {
  return [...new Set(rows.map(({ workers }) => workers))].slice(0, 1);
}

function chartOf(group: CellGroup, workers: number): CurveChart[] {
  const { direction, device } = group;
  const moved = direction === "bidir" ? "sum" : direction;
  const rows = group.rows.filter((row) => row.workers === workers);
  const curves = group.memories.flatMap((memory) => {
    const points = rows.flatMap((row) => pointOf(row.cells.get(memory), moved));
    return points.length === 0 ? [] : [curveOf(memory, points)];
  });
  const sizes = [...new Set(rows.map(({ sizeBytes }) => sizeBytes))];
  if (curves.length === 0 || sizes.length < 2) return [];
  const limitGBps = device.linkLimitGBps;
  return [
    {
      kind: "curves",
      name: `${direction}-by-size`,
      title: `${group.title}, by size of a copy, ${counted(workers, "worker")}`,
      description: `${directionName[direction]} bandwidth of ${counted(curves.length, "memory kind")} from ${formatSize(sizes[0]!)} to ${formatSize(sizes.at(-1)!)}.`,
      x: { label: "size of a copy", scale: "log", ticks: sizes, format: formatSize },
      y: { label: "GB/s", scale: "linear", includes: [0], format: String },
      curves,
      rules:
        limitGBps === null
          ? []
          : [{ axis: "y", value: limitGBps, label: `link's limit, ${formatGBps(limitGBps)} GB/s` }],
    },
  ];
}

function curveOf(memory: CellResult["memory"], points: ChartPoint[]): Curve {
  return { name: memory, style: memories.indexOf(memory), isJoined: true, points };
}

function pointOf(cell: CellResult | undefined, direction: CellStats["direction"]): ChartPoint[] {
  const stats = measuredStats(cell, direction);
  if (cell === undefined || stats === null) return [];
  const { median, low, high } = stats.bandwidthGBps;
  const halfWidth = stats.relativeHalfWidth === null ? "" : ` ${formatHalfWidth(stats.relativeHalfWidth)}`;
  const text = `${formatSize(cell.sizeBytes)}: ${formatGBps(median)} GB/s${halfWidth}`;
  return [{ x: cell.sizeBytes, y: median, low, high, text }];
}
