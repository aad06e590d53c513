import type { CellResult, CellStats, ResultDocument } from "../results/schema.js";
import { relativeHalfWidth } from "../stats/order-statistics.js";
import { isMeasured, statsOf } from "./wording.js";

/** A median with its interval, in the unit of what was measured. */
export interface Estimate {
  median: number;
  low: number;
  high: number;
}

/** One measured cell as evidence for a finding. */
export interface Observation {
  memory: CellResult["memory"];
  sizeBytes: number;
  workers: number;
  estimate: Estimate;
}

/** The cells that findings speak of: those of one device, timer and cache state, so that like meets like. */
export function comparableCells(document: ResultDocument): CellResult[] {
  const measured = document.cells.filter((cell) => isMeasured(cell) && cell.outcome !== null);
  const device = Math.min(...measured.map((cell) => cell.device));
  const ofDevice = measured.filter((cell) => cell.device === device);
  const timer = ofDevice.some((cell) => cell.timer === "wall") ? "wall" : "event";
  const cache = ofDevice.some((cell) => cell.timer === timer && cell.cache === "cold") ? "cold" : "warm";
  return ofDevice.filter((cell) => cell.timer === timer && cell.cache === cache);
}

/** Rates in GB/s of one direction; what has no interval is no evidence. */
export function ratesOf(
  cells: readonly CellResult[],
  direction: CellResult["direction"],
  moved: CellStats["direction"],
): Observation[] {
  return observe(cells, direction, "throughput", (cell) => statsOf(cell, moved)?.bandwidthGBps ?? null);
}

/** Latencies in microseconds of one direction. */
export function latenciesOf(cells: readonly CellResult[], direction: "h2d" | "d2h" | "d2d"): Observation[] {
  return observe(cells, direction, "latency", (cell) => statsOf(cell, direction)?.latencyUs ?? null);
}

/** "open": the intervals overlap, but are too wide to call that equality. */
export type Comparison = "above" | "below" | "equal" | "open";

/** The widest relative half-width whose overlap still counts as equal, however precise the run was to be. */
const leastEqualWidth = 0.05;

/** Up to which relative half-width overlapping intervals count as equal. */
export function equalWidth(document: ResultDocument): number {
  return Math.max(leastEqualWidth, document.plan?.precision ?? 0);
}

/** Larger or smaller for certain where the intervals do not overlap; equal where they do and both are narrow. */
export function compare(one: Estimate, other: Estimate, equalWidth: number): Comparison {
  if (one.low > other.high) {
    return "above";
  }
  if (one.high < other.low) {
    return "below";
  }
  return isNarrow(one, equalWidth) && isNarrow(other, equalWidth) ? "equal" : "open";
}

function isNarrow(estimate: Estimate, equalWidth: number): boolean {
  return (relativeHalfWidth(estimate, estimate.median) ?? Number.POSITIVE_INFINITY) <= equalWidth;
}

/** The fewest workers whose rate equals the best; null without observations. */
export function leanestBest(observations: readonly Observation[], equalWidth: number): Observation | null {
  const best = fastest(observations);
  const asGood = observations.filter(
    (one) => best !== null && (one === best || compare(one.estimate, best.estimate, equalWidth) === "equal"),
  );
  return asGood.reduce<Observation | null>(
    (leanest, one) => (leanest === null || one.workers < leanest.workers ? one : leanest),
    null,
  );
}

export function fastest(observations: readonly Observation[]): Observation | null {
  return observations.reduce<Observation | null>(
    (best, one) => (best === null || one.estimate.median > best.estimate.median ? one : best),
    null,
  );
}

/** The values that all of the lists share, ascending. */
export function shared(...lists: readonly (readonly number[])[]): number[] {
  const [first = [], ...others] = lists;
  return [...new Set(first)]
    .filter((value) => others.every((list) => list.includes(value)))
    .sort((a, b) => a - b);
}

function observe(
  cells: readonly CellResult[],
  direction: CellResult["direction"],
  mode: CellResult["mode"],
  distributionOf: (cell: CellResult) => { median: number; low: number | null; high: number | null } | null,
): Observation[] {
  return cells.flatMap((cell) => {
    const distribution = cell.direction === direction && cell.mode === mode ? distributionOf(cell) : null;
    if (distribution === null || distribution.low === null || distribution.high === null) {
      return [];
    }
    const { median, low, high } = distribution;
    const { memory, sizeBytes, workers } = cell;
    return [{ memory, sizeBytes, workers, estimate: { median, low, high } }];
  });
}
