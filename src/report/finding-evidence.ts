import type { CellResult, CellStats, ResultDocument } from "../results/schema.js";
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

export type Comparison = "above" | "below" | "overlapping";

/** Whether one is larger than the other for certain: their intervals do not overlap. */
export function compare(one: Estimate, other: Estimate): Comparison {
  if (one.low > other.high) {
    return "above";
  }
  return one.high < other.low ? "below" : "overlapping";
}

/** The fewest workers whose rate cannot be told from the best; null without observations. */
export function leanestBest(observations: readonly Observation[]): Observation | null {
  const best = fastest(observations);
  const asGood = observations.filter(
    ({ estimate }) => best !== null && compare(estimate, best.estimate) === "overlapping",
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
