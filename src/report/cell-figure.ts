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
 * A cell's median rate in GB/s, or what became of it; blank where the plan has no such cell. Its relative half-width
 * stands beside it where that is above 1 % or above the precision that the run was asked for.
 */
export function bandwidthFigure(
  cell: CellResult | undefined,
  direction: CellStats["direction"],
  precision: number,
): Figure {
  return whereMeasured(cell, direction, (stats, measured) =>
    figure(formatGBps(stats.bandwidthGBps.median), noteOf(measured, stats.relativeHalfWidth, precision)),
  );
}

/** As bandwidthFigure(), of the median latency in microseconds. */
export function medianLatencyFigure(
  cell: CellResult | undefined,
  direction: CellStats["direction"],
  precision: number,
): Figure {
  return whereMeasured(cell, direction, ({ latencyUs }, measured) =>
    latencyUs === null
      ? absentFigure
      : figure(
          formatMicroseconds(latencyUs.median),
          noteOf(measured, relativeHalfWidth(latencyUs, latencyUs.median), precision),
        ),
  );
}

/** The 99th percentile of the latency; blank where the median beside it already says what became of the cell. */
export function tailLatencyFigure(cell: CellResult | undefined, direction: CellStats["direction"]): Figure {
  const shown = whereMeasured(cell, direction, ({ latencyUs }) =>
    latencyUs === null ? absentFigure : figure(formatMicroseconds(latencyUs.p99)),
  );
  return shown.tone === "plain" ? shown : blank;
}

function whereMeasured(
  cell: CellResult | undefined,
  direction: CellStats["direction"],
  show: (stats: CellStats, cell: CellResult) => Figure,
): Figure {
  if (cell === undefined) {
    return blank;
  }
  if (cell.outcome === "mismatch") {
    return figure("MISMATCH", "", "mismatch");
  }
  if (cell.outcome === "failed") {
    return figure("failed", "", "failure");
  }
  const stats = cell.outcome === "skipped" ? null : statsOf(cell, direction);
  return stats === null ? absentFigure : show(stats, cell);
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
