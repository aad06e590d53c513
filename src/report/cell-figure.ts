import type { CellResult, CellStats } from "../results/schema.js";
import { relativeHalfWidth } from "../stats/order-statistics.js";
import { formatGBps, formatHalfWidth, formatMicroseconds } from "./format-number.js";
import { blank, type Figure, figure } from "./report-parts.js";

/** The signs that stand beside or in place of a figure; what they mean is said below the tables, by cell-notes.ts. */
export const sign = { notConverged: "*", unfinished: "†", noInterval: "±?", absent: "-" } as const;

/** In place of a figure that was not measured or cannot be computed. */
export const absentFigure: Figure = figure(sign.absent, "", "muted");

/** Relative half-width above which an interval is always shown: a narrower one says no more than the last digit. */
const shownHalfWidth = 0.01;

/** Whether a cell's figures count: it has some, and its data came back right. */
export function isMeasured(cell: CellResult): boolean {
  return (
    cell.stats.length > 0 &&
    (cell.outcome === "converged" || cell.outcome === "budget" || cell.outcome === null)
  );
}

/** The statistics of one direction of a cell; null where the cell has none. */
export function statsOf(cell: CellResult, direction: CellStats["direction"]): CellStats | null {
  return cell.stats.find((stats) => stats.direction === direction) ?? null;
}

/** As statsOf(), of cells whose figures count. */
export function measuredStats(
  cell: CellResult | undefined,
  direction: CellStats["direction"],
): CellStats | null {
  return cell === undefined || !isMeasured(cell) ? null : statsOf(cell, direction);
}

/**
 * What a cell shows in a table of its mode: its median rate in GB/s, or the median and the 99th percentile of its
 * latency in microseconds. Where there is none, the first figure says what became of the cell (blank where the plan has
 * no such cell) and the second is blank. The relative half-width stands beside the median where it is above 1 % or
 * above the precision that the run was asked for.
 */
export function cellFigures(
  cell: CellResult | undefined,
  direction: CellStats["direction"],
  mode: CellResult["mode"],
  precision: number,
): Figure[] {
  const second = mode === "latency" ? [blank] : [];
  if (cell === undefined) return [blank, ...second];
  if (cell.outcome === "mismatch") return [figure("MISMATCH", "", "mismatch"), ...second];
  if (cell.outcome === "failed") return [figure("failed", "", "failure"), ...second];
  const stats = cell.outcome === "skipped" ? null : statsOf(cell, direction);
  if (stats === null) return [absentFigure, ...second];
  const { bandwidthGBps, latencyUs } = stats;
  if (mode === "throughput") {
    return [figure(formatGBps(bandwidthGBps.median), noteOf(cell, stats.relativeHalfWidth, precision))];
  }
  return latencyUs === null
    ? [absentFigure, blank]
    : [
        figure(
          formatMicroseconds(latencyUs.median),
          noteOf(cell, relativeHalfWidth(latencyUs, latencyUs.median), precision),
        ),
        figure(formatMicroseconds(latencyUs.p99)),
      ];
}

function noteOf(cell: CellResult, relativeHalfWidth: number | null, precision: number): string {
  const parts: string[] = [];
  if (relativeHalfWidth === null) {
    parts.push(sign.noInterval);
  } else if (relativeHalfWidth > Math.min(shownHalfWidth, precision)) {
    parts.push(formatHalfWidth(relativeHalfWidth));
  }
  if (cell.outcome === "budget") {
    parts.push(sign.notConverged);
  } else if (cell.outcome === null) {
    parts.push(sign.unfinished);
  }
  return parts.join(" ");
}
