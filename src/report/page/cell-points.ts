import type { Axis, ChartPoint, Curve, RuleLine } from "../../draw/chart/chart.js";
import { formatGBps, formatHalfWidth, formatMicroseconds } from "../../draw/numbers.js";
import { counted, listed } from "../../draw/words.js";
import { hasSeveralDevices } from "../../results/cell-devices.js";
import type { CellResult, CellStats, Distribution } from "../../results/cell-schema.js";
import { measuredStats, wholeOf } from "../../results/naming/cell-figure.js";
import { directionTitle } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import { formatSize } from "../../settings/units.js";
import { ascending, relativeHalfWidth } from "../../stats/order-statistics.js";
import { movedIn } from "../tables/cell-table.js";

/* Cells' figures as points of curves, and common properties of the charts' axes. */

/** Starts at 0, so that heights are proportional to rates. */
export const rateAxis: Axis = { label: "GB/s", scale: "linear", includes: [0], format: formatTick };

/** An axis of sizes with ticks at the measured ones; logarithmic, because sizes are multiples of each other. */
export function sizeAxis(sizes: readonly number[], label = "size of a copy"): Axis {
  return { label, scale: "log", ticks: ascending(sizes), format: formatSize };
}

/** A number without rounding errors of binary fractions. */
export function formatTick(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** A cell's rate and interval at `x`; no point if it was not measured. `at` describes the x value. */
export function ratePoint(
  cell: CellResult | undefined,
  moved: CellStats["direction"],
  x: number,
  at: string,
): ChartPoint[] {
  const stats = measuredStats(cell, moved);
  if (cell === undefined || stats === null) return [];
  const { median, low, high } = stats.bandwidthGBps;
  const text = `${at}: ${formatGBps(median)} GB/s${noteOf(cell, stats.bandwidthGBps)}`;
  return [{ x, y: median, low, high, text, ...openness(cell) }];
}

/** A cell's median time of one copy, and the 99th percentile; no point if it was not measured. */
export function latencyPoint(
  cell: CellResult | undefined,
  moved: CellStats["direction"],
  x: number,
  at: string,
): ChartPoint[] {
  const latencyUs = measuredStats(cell, moved)?.latencyUs;
  if (cell === undefined || latencyUs == null) return [];
  const { median, p99 } = latencyUs;
  const text = `${at}: ${formatMicroseconds(median)} µs${noteOf(cell, latencyUs)}, p99 ${formatMicroseconds(p99)} µs`;
  return [{ x, y: median, low: median, high: p99, text, ...openness(cell) }];
}

export function joinedCurve(name: string, style: number, points: readonly ChartPoint[]): Curve[] {
  const ordered = points.toSorted((a, b) => a.x - b.x);
  return ordered.length === 0 ? [] : [{ name, style, isJoined: true, points: ordered }];
}

/** Figures of a cell with charts: for bidir the sum of the rates, but each direction's latency. */
export function movedInCharts(
  direction: CellResult["direction"],
  mode: CellResult["mode"],
): CellStats["direction"][] {
  return mode === "latency" ? movedIn({ direction, mode }) : [wholeOf(direction)];
}

function noteOf({ outcome }: CellResult, distribution: Distribution): string {
  const halfWidth = relativeHalfWidth(distribution, distribution.median);
  return [
    halfWidth === null ? ", too few samples for an interval" : ` ${formatHalfWidth(halfWidth)}`,
    outcome === "budget" ? " (not converged)" : outcome === null ? " (not finished)" : "",
  ].join("");
}

function openness({ outcome }: CellResult): { isOpen?: boolean } {
  return outcome === null ? { isOpen: true } : {};
}

/**
 * Curves in words: "pinned 17.7 GB/s at 64 KiB, 55.4 at 256 MiB". Takes the curves with the highest ends, as many as
 * fit into a sentence.
 */
export function describeCurves(
  curves: readonly Curve[],
  unit: string,
  format: (value: number) => string,
  at: (x: number) => string,
): string {
  const courses = curves
    .map(({ name, points }) => ({ name, first: points[0]!, last: points.at(-1)! }))
    .sort((a, b) => b.last.y - a.last.y)
    .map(({ name, first, last }) => {
      const start = `${name} ${format(first.y)}${unit === "" ? "" : ` ${unit}`} at ${at(first.x)}`;
      return first === last ? start : `${start}, ${format(last.y)} at ${at(last.x)}`;
    });
  const more = courses.length - mostCourses;
  return `${courses.slice(0, mostCourses).join("; ")}${more > 0 ? `; and ${counted(more, "more curve")}` : ""}.`;
}

const mostCourses = 6;

/** Explains lines across a chart: " A line shows the link's limit, 63.0 GB/s."; empty without any. */
export function describeRules(rules: readonly RuleLine[]): string {
  return rules.map(({ label }) => ` A line shows the ${label}.`).join("");
}

export function otherWorkers(shown: number, cells: readonly { workers: number }[]): string {
  const others = ascending(cells.map(({ workers }) => workers)).filter((one) => one !== shown);
  return others.length === 0 ? "" : ` The tables also have ${listed(others.map(String))} workers.`;
}

type ChartSubject = Pick<CellResult, "device" | "mode" | "cache">;

/**
 * The name for `--chart`: "h2d-by-size", "gpu1-h2d-latency-warm-by-size". Includes the device if there are several and
 * the chart is for one; and mode and cache unless they are throughput and cold.
 */
export function chartName(
  document: ResultDocument,
  { device, mode, cache }: ChartSubject,
  parts: { before: readonly string[]; shows: string; ofAllDevices?: boolean },
): string {
  const { before, shows, ofAllDevices = false } = parts;
  return [
    ...(hasSeveralDevices(document) && !ofAllDevices ? [`gpu${device}`] : []),
    ...before,
    ...(mode === "latency" ? ["latency"] : []),
    ...(cache === "warm" ? ["warm"] : []),
    shows,
  ].join("-");
}

export function devicePrefix(document: ResultDocument, device: number): string {
  return hasSeveralDevices(document) ? `Device ${device}: ` : "";
}

export function cacheSuffix({ cache }: Pick<ChartSubject, "cache">): string {
  return cache === "warm" ? ", warm cache" : "";
}

export function directionSubject(
  document: ResultDocument,
  { device, direction }: Pick<CellResult, "device" | "direction">,
): string {
  return devicePrefix(document, device) + directionTitle[direction];
}
