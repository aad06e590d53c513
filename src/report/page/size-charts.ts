import type { ChartPoint, Curve, CurveChart, RuleLine } from "../../draw/chart/chart.js";
import { formatGBps, formatMicroseconds } from "../../draw/numbers.js";
import { groupBy } from "../../draw/report.js";
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

/** Bandwidth or latency by size: a chart for each table of plain cells, and one for each way between devices. */
export function sizeCharts(document: ResultDocument): CurveChart[] {
  const groups = groupCells(document);
  return [
    ...groups.filter(({ variant }) => variant === "plain").flatMap((group) => plainCharts(document, group)),
    ...peerCharts(
      document,
      groups.filter(({ variant }) => variant === "p2p"),
    ),
  ];
}

/** A curve for each kind of memory. Rates of both directions at once are summed; their latencies have two charts. */
function plainCharts(document: ResultDocument, group: CellGroup): CurveChart[] {
  const { direction, mode, device } = group;
  const all = group.rows.flatMap((row) => row.members).filter(({ workerKind }) => workerKind === "thread");
  const cells = ofFewestWorkers(all);
  const [first] = cells;
  if (first === undefined) return [];
  const isLatency = mode === "latency";
  return movedInCharts(direction, mode).flatMap((one) => {
    const curves = memories.flatMap((memory): Curve[] => {
      const points = cells
        .filter((cell) => cell.memory === memory)
        .flatMap((cell) => sizePoint(cell, one, isLatency));
      return joinedCurve(memory, memories.indexOf(memory), points);
    });
    const isHalf = isLatency && direction === "bidir";
    return chartOf(curves, {
      name: chartName(document, first, {
        before: isHalf ? [direction, one] : [direction],
        shows: "by-size",
      }),
      subject: directionSubject(document, first) + (isHalf ? `, ${directionName[one]}` : ""),
      cells: all,
      first,
      rules: isLatency ? [] : limitRules(direction, device.linkLimitGBps),
    });
  });
}

/** A PCIe link has its limit in each direction at the same time. Copies between devices may use another link. */
function limitRules(direction: CellResult["direction"], limitGBps: number | null): RuleLine[] {
  if (limitGBps === null || direction === "d2d" || direction === "p2p") return [];
  const [value, what] =
    direction === "bidir" ? [2 * limitGBps, "twice the link's limit"] : [limitGBps, "link's limit"];
  return [{ axis: "y", value, label: `${what}, ${formatGBps(value)} GB/s` }];
}

const mostPairs = 8;

/**
 * A chart for each way to copy, with a curve for each pair of devices; of many pairs only those from the first device.
 */
function peerCharts(document: ResultDocument, groups: readonly CellGroup[]): CurveChart[] {
  const cells = groups.flatMap(({ rows }) => rows.flatMap((row) => row.members));
  const ways = groupBy(cells, ({ path, mode, cache }) => [path, mode, cache].join("/"));
  return [...ways.values()].flatMap((all) => {
    const shown = ofFewestWorkers(all);
    const [first] = shown;
    if (first === undefined) return [];
    const pairs = [...groupBy(shown, ({ device, peer }) => `${device} → ${peer}`)];
    const some = pairs.length <= mostPairs ? pairs : pairs.slice(0, mostPairs);
    const curves = some.flatMap(([pair, ofPair], index) =>
      joinedCurve(
        pair,
        index,
        ofPair.flatMap((cell) => sizePoint(cell, "p2p", cell.mode === "latency")),
      ),
    );
    const most = some.length < pairs.length ? `, ${some.length} of ${pairs.length} pairs` : "";
    return chartOf(curves, {
      name: chartName(document, first, {
        before: ["p2p", first.path ?? "write"],
        shows: "by-size",
        ofAllDevices: true,
      }),
      subject: `Between devices (P2P), ${first.path}${most}`,
      cells: all,
      first,
      rules: [],
    });
  });
}

/** The cells with the fewest workers that were measured at two or more sizes: one worker shows the copy itself. */
function ofFewestWorkers(cells: readonly CellResult[]): CellResult[] {
  for (const workers of ascending(cells.map((cell) => cell.workers))) {
    const some = cells.filter((cell) => cell.workers === workers);
    if (new Set(some.map(({ sizeBytes }) => sizeBytes)).size > 1) return some;
  }
  return [];
}

function sizePoint(
  cell: CellResult,
  moved: Parameters<typeof ratePoint>[1],
  isLatency: boolean,
): ChartPoint[] {
  const pointOf = isLatency ? latencyPoint : ratePoint;
  return pointOf(cell, moved, cell.sizeBytes, formatSize(cell.sizeBytes));
}

function chartOf(
  curves: readonly Curve[],
  {
    name,
    subject,
    cells,
    first,
    rules,
  }: {
    name: string;
    subject: string;
    /** All cells of the table, some of which are shown. */
    cells: readonly CellResult[];
    first: CellResult;
    rules: readonly RuleLine[];
  },
): CurveChart[] {
  const sizes = ascending(curves.flatMap(({ points }) => points.map(({ x }) => x)));
  if (sizes.length < 2) return [];
  const isLatency = first.mode === "latency";
  const what = isLatency
    ? "µs a copy, median (line) to 99th percentile (shade),"
    : `GB/s${first.direction === "bidir" ? ", the sum," : ""}`;
  const [unit, format] = isLatency ? ["µs", formatMicroseconds] : ["GB/s", formatGBps];
  return [
    {
      kind: "curves",
      name,
      title: `${subject}: ${what} by size, ${counted(first.workers, "worker")}${cacheSuffix(first)}`,
      description:
        describeCurves(curves, unit, format, formatSize) +
        describeRules(rules) +
        otherWorkers(
          first.workers,
          cells.map((cell) => cell.workers),
        ),
      x: sizeAxis(sizes),
      y: isLatency ? { label: "µs a copy", scale: "log", format: formatTick } : rateAxis,
      curves,
      rules,
    },
  ];
}
