import type { CellResult, CellStats, Distribution } from "../../results/cell-schema.js";
import { figureInterval, type IntervalEstimate } from "../../results/figure-interval.js";
import { isMeasured, statsOf, wholeOf } from "../../results/naming/cell-figure.js";

/** Whether findings may use a cell. The host's own copies involve no device. */
export function isEvidence(cell: CellResult): boolean {
  return isMeasured(cell) && cell.outcome !== null && cell.memory !== "host";
}

/** A cell's figures: rates in GB/s, or times in µs for latency. Null without figures. */
export function figuresOf(
  cell: CellResult,
  moved: CellStats["direction"] = wholeOf(cell.direction),
): Distribution | null {
  const stats = statsOf(cell, moved);
  return (cell.mode === "latency" ? stats?.latencyUs : stats?.bandwidthGBps) ?? null;
}

/** A cell's speed with its interval: GB/s, or copies per µs for latency. Null without an interval. */
export function speedOf(
  cell: CellResult,
  moved: CellStats["direction"] = wholeOf(cell.direction),
): IntervalEstimate | null {
  const figures = figuresOf(cell, moved);
  const estimate = figures && figureInterval(figures);
  if (estimate === null || cell.mode === "throughput") return estimate;
  const { median, low, high } = estimate;
  return { median: 1 / median, low: 1 / high, high: 1 / low };
}
