import type { ChartPoint, Curve, CurveChart } from "../../draw/chart/chart.js";
import { formatMilliseconds, formatRatio, roundUp } from "../../draw/numbers.js";
import { counted } from "../../draw/words.js";
import type { CellResult } from "../../results/cell-schema.js";
import { figureInterval, ratioInterval } from "../../results/figure-interval.js";
import { measuredStats, wholeOf } from "../../results/naming/cell-figure.js";
import { directionTitle } from "../../results/naming/wording.js";
import type { ColdStart, PinningRecord, ResultDocument } from "../../results/schema.js";
import { isPlain } from "../../results/variant.js";
import { type Direction, directions, memories } from "../../settings/choices.js";
import type { PinningCost } from "../../settings/schema-parts.js";
import { formatMeasuredTime, formatSize } from "../../settings/units.js";
import { groupBy } from "../../stats/group-by.js";
import { ascending } from "../../stats/order-statistics.js";
import {
  cacheSuffix,
  chartName,
  describeCurves,
  devicePrefix,
  formatTick,
  joinedCurve,
  otherWorkers,
  sizeAxis,
} from "./cell-points.js";

export function pinningCharts(document: ResultDocument): CurveChart[] {
  return document.coldStart.flatMap((costs) => costChart(document, costs));
}

const ways = ["pageable", "pinned", "registered"] as const;

function costChart(document: ResultDocument, costs: ColdStart): CurveChart[] {
  const curves = ways.flatMap((way) =>
    joinedCurve(
      way,
      memories.indexOf(way),
      costs.pinning.flatMap((record) => costPoint(record, record[way])),
    ),
  );
  const sizes = ascending(curves.flatMap(({ points }) => points.map(({ x }) => x)));
  if (sizes.length < 2) return [];
  return [
    {
      kind: "curves",
      name: `${document.devices.length > 1 ? `gpu${costs.device}-` : ""}cost-of-pinning-by-size`,
      title: `${devicePrefix(document, costs.device)}One-time cost of memory: allocating and freeing it, ms by size`,
      description: describeCurves(curves, "ms", (ms) => formatMilliseconds(ms * 1e6), formatSize),
      x: sizeAxis(sizes, "size of the memory"),
      y: { label: "ms", scale: "log", format: formatTick },
      curves,
      rules: [],
    },
  ];
}

function costPoint({ sizeBytes }: PinningRecord, cost: PinningCost | null | undefined): ChartPoint[] {
  if (cost == null) return [];
  const { allocateNs, freeNs } = cost;
  const text = `${formatSize(sizeBytes)}: ${formatMeasuredTime(allocateNs)} allocated, ${formatMeasuredTime(freeNs)} freed`;
  return [{ x: sizeBytes, y: (allocateNs + freeNs) / 1e6, low: null, high: null, text }];
}

export function pinnedGainCharts(document: ResultDocument): CurveChart[] {
  const compared = document.cells.filter(
    (cell) =>
      isPlain(cell) && cell.mode === "throughput" && (cell.memory === "pinned" || cell.memory === "pageable"),
  );
  const charts = groupBy(compared, ({ device, cache }) => [device, cache].join("/"));
  return [...charts.values()].flatMap((cells) => {
    const workers = ascending(cells.map((cell) => cell.workers));
    const fewest = workers.find((count) => curvesOf(cells, count).length > 0);
    return fewest === undefined ? [] : chartOf(document, cells, fewest);
  });
}

function chartOf(document: ResultDocument, cells: readonly CellResult[], workers: number): CurveChart[] {
  const [first] = cells as [CellResult];
  const curves = curvesOf(cells, workers);
  const sizes = curves.flatMap(({ points }) => points.map(({ x }) => x));
  return [
    {
      kind: "curves",
      name: chartName(document, first, { before: [], shows: "pinned-over-pageable-by-size" }),
      title: `${devicePrefix(document, first.device)}Speed of pinned over pageable memory by size, ${counted(workers, "worker")}${cacheSuffix(first)}`,
      description: `Pinned over pageable, ${describeCurves(curves, "", formatRatio, formatSize)}${otherWorkers(workers, cells)}`,
      x: sizeAxis(sizes, "size of a copy (shade: in other processes too)"),
      y: {
        label: "times as fast as pageable",
        scale: "linear",
        includes: [0, 1],
        format: (ratio) => `${formatTick(ratio)}×`,
      },
      curves,
      rules: [{ axis: "y", value: 1, label: "as fast as pageable" }],
    },
  ];
}

/** Directions with two or more sizes. Their styles differ from those of memory kinds. */
function curvesOf(cells: readonly CellResult[], workers: number): Curve[] {
  return directions.flatMap((direction, index): Curve[] => {
    const some = cells.filter((cell) => cell.direction === direction && cell.workers === workers);
    const points = ascending(some.map(({ sizeBytes }) => sizeBytes)).flatMap((sizeBytes) =>
      gainPoint(
        some.filter((cell) => cell.sizeBytes === sizeBytes),
        direction,
      ),
    );
    const style = firstDirectionStyle + index;
    return points.length < 2 ? [] : [{ name: directionTitle[direction], style, isJoined: true, points }];
  });
}

const firstDirectionStyle = 5;

/** The ratio of the medians; its interval is wide if both are noisy, because common noise counts twice. */
function gainPoint(cells: readonly CellResult[], direction: Direction): ChartPoint[] {
  const [pinned, pageable] = (["pinned", "pageable"] as const).map((memory) => {
    const cell = cells.find((one) => one.memory === memory);
    const stats = measuredStats(cell, wholeOf(direction));
    return stats === null ? null : stats.bandwidthGBps;
  });
  if (pinned == null || pageable == null || pageable.median <= 0) return [];
  const ratio = pinned.median / pageable.median;
  const [one, other] = [pinned, pageable].map(figureInterval);
  const interval = one == null || other == null ? null : ratioInterval(one, other);
  const size = cells[0]!.sizeBytes;
  const range =
    interval === null
      ? ", too few samples for an interval"
      : ` (${formatRatio(interval.low)} to ${formatRatio(interval.high, roundUp)}, 95 %)`;
  return [
    {
      x: size,
      y: ratio,
      low: interval?.low ?? null,
      high: interval?.high ?? null,
      text: `${formatSize(size)}: ${formatRatio(ratio)}${range}`,
    },
  ];
}
