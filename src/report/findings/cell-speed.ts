import type { CellResult, CellStats, Distribution } from "../../results/cell-schema.js";
import { figureInterval, type IntervalEstimate } from "../../results/figure-interval.js";
import { isMeasured, statsOf, wholeOf } from "../../results/naming/cell-figure.js";

/** Whether a finding may rest on a cell. The host's own copies are no copies to or from a device. */
export function isEvidence(cell: CellResult): boolean {
  return isMeasured(cell) && cell.outcome !== null && cell.memory !== "host";
}

/** What a cell measured: its rates in GB/s, or for latencies its times in µs. Null without figures. */
export function figuresOf(
  cell: CellResult,
  moved: CellStats["direction"] = wholeOf(cell.direction),
): Distribution | null {
  const stats = statsOf(cell, moved);
  return (cell.mode === "latency" ? stats?.latencyUs : stats?.bandwidthGBps) ?? null;
}

/** A cell's speed with its interval: its rate in GB/s, or for latencies copies per µs. Null without an interval. */
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
