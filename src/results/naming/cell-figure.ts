import { formatGBps, formatHalfWidth, formatMicroseconds, formatShare } from "../../draw/numbers.js";
import { blank, type Figure, figure } from "../../draw/report.js";
import { relativeHalfWidth, variesTooMuch } from "../../stats/order-statistics.js";
import type { CellResult, CellStats } from "../cell-schema.js";

/** Signs next to or instead of a figure, explained by the notes of cell-notes.ts. */
export const sign = { notConverged: "*", unfinished: "†", absent: "-" } as const;

/** Stands for a figure that was not measured or cannot be computed. */
export const absentFigure: Figure = figure(sign.absent, "", "muted");

/** Intervals with a larger relative half-width are always shown; narrower ones are within the last digit. */
const shownHalfWidth = 0.01;

/** Whether a cell has figures and right data. */
export function isMeasured(cell: CellResult): boolean {
  return (
    cell.stats.length > 0 &&
    (cell.outcome === "converged" || cell.outcome === "budget" || cell.outcome === null)
  );
}

export function wholeOf(direction: CellResult["direction"]): CellStats["direction"] {
  return direction === "bidir" ? "sum" : direction;
}

export function statsOf(cell: CellResult, direction: CellStats["direction"]): CellStats | null {
  return cell.stats.find((stats) => stats.direction === direction) ?? null;
}

export function measuredStats(
  cell: CellResult | undefined,
  direction: CellStats["direction"],
): CellStats | null {
  return cell === undefined || !isMeasured(cell) ? null : statsOf(cell, direction);
}

/**
 * A cell's median in GB/s, in µs for latency, or as formatted by `show`. Without one, the cell's outcome; blank for a
 * missing cell. Adds the relative half-width if it exceeds 1 % or the requested precision.
 */
export function medianFigure(
  cell: CellResult | undefined,
  direction: CellStats["direction"],
  precision: number,
  show?: (median: number) => string,
): Figure {
  if (cell === undefined) return blank;
  if (cell.outcome === "mismatch") return figure("MISMATCH", "", "mismatch");
  if (cell.outcome === "failed") return figure("failed", "", "failure");
  const stats = cell.outcome === "skipped" ? null : statsOf(cell, direction);
  if (stats === null) return absentFigure;
  const { bandwidthGBps, latencyUs } = stats;
  const note = noteOf(cell, halfWidthOf(cell, stats), precision);
  if (cell.mode === "throughput") return figure((show ?? formatGBps)(bandwidthGBps.median), note);
  return latencyUs === null ? absentFigure : figure((show ?? formatMicroseconds)(latencyUs.median), note);
}

/** The relative half-width of the cell's rate or latency; null without an interval. */
export function halfWidthOf(
  { mode }: CellResult,
  { latencyUs, relativeHalfWidth: ofRate }: CellStats,
): number | null {
  return mode === "throughput" || latencyUs === null
    ? ofRate
    : relativeHalfWidth(latencyUs, latencyUs.median);
}

/**
 * A cell's entries in a table: its median rate, or the median and 99th percentile of its latency. The second is blank
 * if the first is no figure.
 */
export function tableFigures(
  cell: CellResult | undefined,
  direction: CellStats["direction"],
  mode: CellResult["mode"],
  precision: number,
): Figure[] {
  const first = medianFigure(cell, direction, precision);
  if (mode === "throughput") return [first];
  const latencyUs = measuredStats(cell, direction)?.latencyUs ?? null;
  return [first, latencyUs === null ? blank : figure(formatMicroseconds(latencyUs.p99))];
}

/**
 * A cell's speed relative to another's: the ratio of rates, or the inverse ratio of latencies. Null if either was not
 * measured.
 */
export function shareOfSpeed(
  cell: CellResult | undefined,
  other: CellResult | undefined,
  direction: CellStats["direction"],
): number | null {
  const [one, base] = [cell, other].map((each) => {
    const stats = measuredStats(each, direction);
    if (stats === null) return null;
    return each?.mode === "latency"
      ? stats.latencyUs && 1 / stats.latencyUs.median
      : stats.bandwidthGBps.median;
  });
  return one == null || base == null || base === 0 ? null : one / base;
}

export function shareFigure(share: number | null): Figure {
  return share === null ? absentFigure : figure(formatShare(share));
}

function noteOf(cell: CellResult, relativeHalfWidth: number | null, precision: number): string {
  const parts: string[] = [];
  if (relativeHalfWidth === null || relativeHalfWidth > Math.min(shownHalfWidth, precision)) {
    parts.push(formatHalfWidth(relativeHalfWidth));
  }
  if (cell.outcome === "budget" && !variesTooMuch(relativeHalfWidth, precision)) {
    parts.push(sign.notConverged);
  } else if (cell.outcome === null) {
    parts.push(sign.unfinished);
  }
  return parts.join(" ");
}
