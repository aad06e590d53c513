import type { CellResult, CellStats } from "../results/schema.js";
import { formatGBps, formatHalfWidth, formatMicroseconds } from "./format-number.js";
import { blank, type Figure, figure } from "./report-parts.js";
import { statsOf } from "./wording.js";

/** What a sign beside a figure means is said below the tables, by cell-notes.ts. */
export const sign = { notConverged: "*", unfinished: "†", noInterval: "±?", absent: "-" } as const;

/** Intervals are shown from here on: below it they say no more than the last digit. */
const shownHalfWidth = 0.01;

/** A cell's median rate in GB/s, or what became of it; blank where the plan has no such cell. */
export function bandwidthFigure(
  cell: CellResult | undefined,
  direction: CellStats["direction"],
  precision: number,
): Figure {
  return whereMeasured(cell, direction, (stats, measured) =>
    figure(formatGBps(stats.bandwidthGBps.median), noteOf(measured, stats.relativeHalfWidth, precision)),
  );
}

/** The median latency in microseconds with its interval. */
export function medianLatencyFigure(
  cell: CellResult | undefined,
  direction: CellStats["direction"],
  precision: number,
): Figure {
  return whereMeasured(cell, direction, ({ latencyUs }, measured) => {
    if (latencyUs === null) {
      return figure(sign.absent, "", "muted");
    }
    const { median, low, high } = latencyUs;
    const relativeHalfWidth =
      low === null || high === null || median === 0 ? null : (high - low) / 2 / median;
    return figure(formatMicroseconds(median), noteOf(measured, relativeHalfWidth, precision));
  });
}

/** The 99th percentile of the latency; blank where the median beside it already says what became of the cell. */
export function tailLatencyFigure(cell: CellResult | undefined, direction: CellStats["direction"]): Figure {
  const shown = whereMeasured(cell, direction, ({ latencyUs }) =>
    latencyUs === null ? figure(sign.absent, "", "muted") : figure(formatMicroseconds(latencyUs.p99)),
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
  return stats === null ? figure(sign.absent, "", "muted") : show(stats, cell);
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
