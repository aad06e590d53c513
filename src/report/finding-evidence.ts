import type { CellResult, CellStats, ResultDocument } from "../results/schema.js";
import { relativeHalfWidth } from "../stats/relative-half-width.js";
import { isMeasured, statsOf } from "./cell-figure.js";

/** A median with its interval, in the unit of what was measured. */
export interface IntervalEstimate {
  median: number;
  low: number;
  high: number;
}

/** One measured cell as evidence for a finding. */
export interface Observation {
  memory: CellResult["memory"];
  sizeBytes: number;
  workers: number;
  estimate: IntervalEstimate;
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
export type IntervalOrder = "above" | "below" | "equal" | "open";

/** The widest relative half-width whose overlap still counts as equal, however precise the run was to be. */
const leastEqualWidth = 0.05;

/** Up to which relative half-width overlapping intervals count as equal. */
export function equalWidth(document: ResultDocument): number {
  return Math.max(leastEqualWidth, document.plan?.precision ?? 0);
}

/** Larger or smaller for certain where the intervals do not overlap; equal where they do and both are narrow. */
export function compareIntervals(
  one: IntervalEstimate,
  other: IntervalEstimate,
  equalWidth: number,
): IntervalOrder {
  if (one.low > other.high) {
    return "above";
  }
  if (one.high < other.low) {
    return "below";
  }
  return isNarrow(one, equalWidth) && isNarrow(other, equalWidth) ? "equal" : "open";
}

function isNarrow(estimate: IntervalEstimate, equalWidth: number): boolean {
  return (relativeHalfWidth(estimate, estimate.median) ?? Number.POSITIVE_INFINITY) <= equalWidth;
}

/** The fewest workers whose rate equals the best; null without observations. */
export function leanestBest(observations: readonly Observation[], equalWidth: number): Observation | null {
  const best = fastest(observations);
  const asGood = observations.filter(
    (one) =>
      best !== null &&
      (one === best || compareIntervals(one.estimate, best.estimate, equalWidth) === "equal"),
  );
  return asGood.reduce<Observation | null>(
    (leanest, one) => (leanest === null || one.workers < leanest.workers ? one : leanest),
    null,
  );
}

/** The one of the greatest median; null without observations. */
export function fastest(observations: readonly Observation[]): Observation | null {
  return observations.reduce<Observation | null>(
    (best, one) => (best === null || one.estimate.median > best.estimate.median ? one : best),
    null,
  );
}

/** The values that all of the lists share, ascending. */
export function sharedValues(...lists: readonly (readonly number[])[]): number[] {
  const [first = [], ...others] = lists;
  return [...new Set(first)]
    .filter((value) => others.every((list) => list.includes(value)))
    .sort((a, b) => a - b);
}

/** Two memory kinds at one size, with equally many workers. */
export interface Pair {
  sizeBytes: number;
  workers: number;
  one: IntervalEstimate;
  other: IntervalEstimate;
  ratio: number;
  order: IntervalOrder;
}

/** Both at each size that they share, ascending, with the fewest workers that they share over all sizes. */
export function pairUp(
  ones: readonly Observation[],
  others: readonly Observation[],
  equalWidth: number,
): Pair[] {
  const [workers] = sharedValues(workersOf(ones), workersOf(others));
  return sharedValues(sizesOf(ones), sizesOf(others)).flatMap((sizeBytes) => {
    const [one, other] = [ones, others].map((list) =>
      list.find((rate) => rate.sizeBytes === sizeBytes && rate.workers === workers),
    );
    if (one === undefined || other === undefined || other.estimate.median === 0) {
      return [];
    }
    const ratio = one.estimate.median / other.estimate.median;
    return [
      {
        sizeBytes,
        workers: one.workers,
        one: one.estimate,
        other: other.estimate,
        ratio,
        order: compareIntervals(one.estimate, other.estimate, equalWidth),
      },
    ];
  });
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

function sizesOf(observations: readonly Observation[]): number[] {
  return observations.map(({ sizeBytes }) => sizeBytes);
}

function workersOf(observations: readonly Observation[]): number[] {
  return observations.map(({ workers }) => workers);
}
