import type { Curve, CurveChart, RuleLine } from "../../draw/chart/chart.js";
import { formatGBps, formatMicroseconds } from "../../draw/numbers.js";
import { counted } from "../../draw/words.js";
import type { CellResult } from "../../results/cell-schema.js";
import { directionName } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import { memories } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { ascending } from "../../stats/order-statistics.js";
import { type CellGroup, groupCells } from "../tables/cell-group.js";
import {
  cacheSuffix,
  chartName,
  describeCurves,
  describeRules,
  directionSubject,
  formatTick,
  joinedCurve,
  latencyPoint,
  movedInCharts,
  otherWorkers,
  rateAxis,
  ratePoint,
  sizeAxis,
} from "./cell-points.js";

export function sizeCharts(document: ResultDocument): CurveChart[] {
  return groupCells(document)
    .filter(({ variant }) => variant === "plain")
    .flatMap((group) => chartsOf(document, group));
}

/** Rates of both directions at once are added; their latencies have two charts. */
function chartsOf(document: ResultDocument, group: CellGroup): CurveChart[] {
  const { direction, mode } = group;
  const cells = ofFewestWorkers(group.cells.filter(({ workerKind }) => workerKind === "thread"));
  const [first] = cells;
  if (first === undefined) return [];
  const isLatency = mode === "latency";
  const pointOf = isLatency ? latencyPoint : ratePoint;
  const rules = isLatency ? [] : limitRules(direction, group.linkLimitGBps);
  return movedInCharts(direction, mode).flatMap((moved): CurveChart[] => {
    const curves = memories.flatMap((memory): Curve[] => {
      const own = cells.filter((cell) => cell.memory === memory);
      const points = own.flatMap((cell) => pointOf(cell, moved, cell.sizeBytes, formatSize(cell.sizeBytes)));
      return joinedCurve(memory, memories.indexOf(memory), points);
    });
    const sizes = ascending(curves.flatMap(({ points }) => points.map(({ x }) => x)));
    if (sizes.length < 2) return [];
    const isHalf = isLatency && direction === "bidir";
    const before = isHalf ? [direction, moved] : [direction];
    const what = isLatency
      ? "µs a copy, median (line) to 99th percentile (shade),"
      : `GB/s${direction === "bidir" ? ", the sum," : ""}`;
    const subject = directionSubject(document, first) + (isHalf ? `, ${directionName[moved]}` : "");
    const [unit, format] = isLatency ? ["µs", formatMicroseconds] : ["GB/s", formatGBps];
    return [
      {
        kind: "curves",
        name: chartName(document, first, { before, shows: "by-size" }),
        title: `${subject}: ${what} by size, ${counted(first.workers, "worker")}${cacheSuffix(first)}`,
        description:
          describeCurves(curves, unit, format, formatSize) +
          describeRules(rules) +
          otherWorkers(first.workers, group.cells),
        x: sizeAxis(sizes),
        y: isLatency ? { label: "µs a copy", scale: "log", format: formatTick } : rateAxis,
        curves,
        rules,
      },
    ];
  });
}

/** A PCIe link has this limit in each direction at the same time. */
function limitRules(direction: CellResult["direction"], limitGBps: number | null): RuleLine[] {
  if (limitGBps === null || direction === "d2d") return [];
  const [value, what] =
    direction === "bidir" ? [2 * limitGBps, "twice the link's limit"] : [limitGBps, "link's limit"];
  return [{ axis: "y", value, label: `${what}, ${formatGBps(value)} GB/s` }];
}

/** The cells with the fewest workers that have two or more sizes: one worker shows the copy itself. */
function ofFewestWorkers(cells: readonly CellResult[]): CellResult[] {
  for (const workers of ascending(cells.map((cell) => cell.workers))) {
    const some = cells.filter((cell) => cell.workers === workers);
    if (new Set(some.map(({ sizeBytes }) => sizeBytes)).size > 1) return some;
  }
  return [];
}
