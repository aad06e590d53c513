import type { ChartPoint, Curve, CurveChart } from "../../draw/chart/chart.js";
import { formatRatio, roundUp } from "../../draw/numbers.js";
import { groupBy } from "../../draw/report.js";
import { counted } from "../../draw/words.js";
import type { CellResult } from "../../results/cell-schema.js";
import { claimedInterval, ratioInterval } from "../../results/claimed-interval.js";
import { measuredStats } from "../../results/naming/cell-figure.js";
import { directionTitle } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import { isPlain } from "../../results/variant.js";
import { type Direction, directions } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { ascending, describeCurves, formatTick, otherWorkers, sizeAxis, wholeOf } from "./cell-points.js";
import { chartName, clockSuffix, devicePrefix } from "./chart-identity.js";

/** How many times as fast as pageable memory pinned memory is, by size: a chart a device, a curve a direction. */
export function pinnedGainCharts(document: ResultDocument): CurveChart[] {
  const compared = document.cells.filter(
    (cell) =>
      isPlain(cell) && cell.mode === "throughput" && (cell.memory === "pinned" || cell.memory === "pageable"),
  );
  const charts = groupBy(compared, ({ device, timer, cache }) => [device, timer, cache].join("/"));
  return [...charts.values()].flatMap((cells) => {
    const workers = ascending(cells.map((cell) => cell.workers));
    const fewest = workers.find((count) => curvesOf(cells, count).length > 0);
    return fewest === undefined ? [] : chartOf(document, cells, fewest, workers);
  });
}

function chartOf(
  document: ResultDocument,
  cells: readonly CellResult[],
  workers: number,
  all: readonly number[],
): CurveChart[] {
  const [first] = cells as [CellResult];
  const curves = curvesOf(cells, workers);
  const sizes = curves.flatMap(({ points }) => points.map(({ x }) => x));
  return [
    {
      kind: "curves",
      name: chartName(document, first, { before: [], shows: "pinned-over-pageable-by-size" }),
      title: `${devicePrefix(document, first.device)}Pinned over pageable memory: how many times as fast by size, ${counted(workers, "worker")}${clockSuffix(first)}`,
      description: `Pinned over pageable, ${describeCurves(curves, "", formatRatio, formatSize)}${otherWorkers(workers, all)}`,
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

/** Of each direction that has two sizes or more. Directions look like no memory kind that is often measured. */
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

/** The last three styles: those of memory kinds that are seldom measured. */
const firstDirectionStyle = 5;

/**
 * The ratio of the medians, with the interval in which other processes find it: wide where the two are noisy, as what
 * they share is counted twice (`ratioInterval()`).
 */
function gainPoint(cells: readonly CellResult[], direction: Direction): ChartPoint[] {
  const [pinned, pageable] = (["pinned", "pageable"] as const).map((memory) => {
    const cell = cells.find((one) => one.memory === memory);
    const stats = measuredStats(cell, wholeOf(direction));
    return stats === null ? null : { memory, rate: stats.bandwidthGBps };
  });
  if (pinned == null || pageable == null || pageable.rate.median <= 0) return [];
  const ratio = pinned.rate.median / pageable.rate.median;
  const [one, other] = [pinned, pageable].map(({ memory, rate }) =>
    (rate.low ?? rate.median) > 0 ? claimedInterval(memory, rate) : null,
  );
  const interval = one == null || other == null ? null : ratioInterval(one, other);
  const size = cells[0]!.sizeBytes;
  const range =
    interval === null
      ? ", too few samples for an interval"
      : ` (${formatRatio(interval.low)} to ${formatRatio(interval.high, roundUp)} in other processes)`;
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
