import type { Axis, ChartPoint, Curve, Rule } from "../../draw/chart/chart.js";
import { formatGBps, formatHalfWidth, formatMicroseconds } from "../../draw/numbers.js";
import { counted, listed } from "../../draw/words.js";
import type { CellResult, CellStats, Distribution } from "../../results/cell-schema.js";
import { measuredStats } from "../../results/naming/cell-figure.js";
import { formatSize } from "../../settings/units.js";
import { relativeHalfWidth } from "../../stats/order-statistics.js";

/*
 * The figures of cells as points of curves, and what the axes of such charts have in common.
 */

/** What a cell moves in all: for both directions at once, their sum. */
export function wholeOf(direction: CellResult["direction"]): CellStats["direction"] {
  return direction === "bidir" ? "sum" : direction;
}

/** The axis of rates in GB/s. From 0, so that heights compare as rates do. */
export const rateAxis: Axis = { label: "GB/s", scale: "linear", includes: [0], format: formatTick };

/** The axis of sizes, marked at those that were measured; logarithmic, as they are multiples of each other. */
export function sizeAxis(sizes: readonly number[], label = "size of a copy"): Axis {
  return { label, scale: "log", ticks: ascending(sizes), format: formatSize };
}

/** A round number as an axis shows it; without the digits that binary fractions would add. */
export function formatTick(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** Each value once, ascending. */
export function ascending(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}

/** The rate of a cell with its interval, at `x`; no point where it was not measured. `at` says where it lies. */
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

/** The time that one copy of a cell takes, and how far up 99 of 100 reach; no point where it was not measured. */
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

/** The half-width of an interval and what must be known besides; empty for nothing. */
function noteOf({ outcome }: CellResult, distribution: Distribution): string {
  const halfWidth = relativeHalfWidth(distribution, distribution.median);
  return [
    halfWidth === null ? ", too few samples for an interval" : ` ${formatHalfWidth(halfWidth)}`,
    outcome === "budget" ? " (not converged)" : outcome === null ? " (not finished)" : "",
  ].join("");
}

/** What the run did not come to the end of is drawn hollow. */
function openness({ outcome }: CellResult): { isOpen?: boolean } {
  return outcome === null ? { isOpen: true } : {};
}

/**
 * The course of each curve in words: "pinned 17.7 GB/s at 64 KiB, 55.4 at 256 MiB". Those that end highest first, as
 * many as a sentence can hold.
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

/** What lines across a chart stand for: " A line shows the link's limit, 63.0 GB/s."; empty without any. */
export function describeRules(rules: readonly Rule[]): string {
  return rules.map(({ label }) => ` A line shows the ${label}.`).join("");
}

/** That the tables have more: " The tables also have 2 and 4 workers."; empty where these are all. */
export function otherWorkers(shown: number, all: readonly number[]): string {
  const others = ascending(all).filter((one) => one !== shown);
  return others.length === 0 ? "" : ` The tables also have ${listed(others.map(String))} workers.`;
}
