import type { CellResult, Distribution } from "../../results/cell-schema.js";
import {
  claimedBlockRate,
  claimedInterval,
  type IntervalEstimate,
  ratioInterval,
} from "../../results/claimed-interval.js";
import { isMeasured, statsOf, wholeOf } from "../../results/naming/cell-figure.js";
import type { ResultDocument } from "../../results/schema.js";
import { variantOf } from "../../results/variant.js";
import { relativeHalfWidth } from "../../stats/order-statistics.js";

/** One measured cell as evidence for a finding. */
export interface Observation {
  memory: CellResult["memory"];
  sizeBytes: number;
  workers: number;
  /** The claim that it supports: its interval also holds for other processes. */
  estimate: IntervalEstimate;
}

/**
 * The measured cells that findings on plain copies compare: those of the first device and one cache state, so that nothing else differs between two cells. `isCounted` selects the cells.
 */
export function comparableCells(
  document: ResultDocument,
  isCounted: (cell: CellResult) => boolean = isEvidence,
): CellResult[] {
  const plain = document.cells.filter((cell) => variantOf(cell) === "plain");
  return ofOneCache(ofFirstDevice(plain.filter(isCounted)));
}

/** Whether a finding may rest on a cell. The host's own copies are no copies to or from a device. */
export function isEvidence(cell: CellResult): boolean {
  return isMeasured(cell) && cell.outcome !== null && cell.memory !== "host";
}

export function ofFirstDevice(cells: readonly CellResult[]): CellResult[] {
  const first = Math.min(...cells.map(({ device }) => device));
  return cells.filter(({ device }) => device === first);
}

/** Cells of one cache state, preferably cold. */
export function ofOneCache(cells: readonly CellResult[]): CellResult[] {
  const cache = cells.some((cell) => cell.cache === "cold") ? "cold" : "warm";
  return cells.filter((cell) => cell.cache === cache);
}

/**
 * The figures of the cells of one direction and mode: rates in GB/s (for a bidir cell both directions together), or
 * latencies in microseconds. Cells without an interval are left out, and those of workers of another kind.
 */
export function observe(
  cells: readonly CellResult[],
  direction: CellResult["direction"],
  mode: CellResult["mode"],
  workerKind: CellResult["workerKind"] = "thread",
): Observation[] {
  return cells.flatMap((cell) => {
    if (cell.direction !== direction || cell.mode !== mode || cell.workerKind !== workerKind) return [];
    const stats = statsOf(cell, wholeOf(direction));
    const distribution = mode === "latency" ? stats?.latencyUs : stats?.bandwidthGBps;
    const { memory, sizeBytes, workers } = cell;
    const estimate = distribution == null ? null : claimedInterval(memory, distribution);
    return estimate === null ? [] : [{ memory, sizeBytes, workers, estimate }];
  });
}

/** A cell's rate with its interval, for claims; null without an interval. */
export function rateOf(cell: CellResult, moved = wholeOf(cell.direction)): IntervalEstimate | null {
  return claimOf(cell, statsOf(cell, moved)?.bandwidthGBps);
}

/** Null also if the value may be 0, as for a load that completes nothing: intervals are of logarithms. */
export function claimOf(cell: CellResult, distribution: Distribution | undefined): IntervalEstimate | null {
  const isNothing = distribution !== undefined && Math.min(distribution.median, distribution.low ?? 1) <= 0;
  return distribution === undefined || isNothing ? null : claimedInterval(cell.memory, distribution);
}

/** The rate that can be claimed for blocks, next to that of the same bytes in one piece. */
export function blockRateOf(cell: CellResult, whole: CellResult | undefined): IntervalEstimate | null {
  const direction = wholeOf(cell.direction);
  const of = (one: CellResult | undefined) => (one === undefined ? null : statsOf(one, direction));
  const [rate, wholeRate] = [of(cell), of(whole)].map((stats) => stats?.bandwidthGBps);
  return rate === undefined ? null : claimedBlockRate(cell, rate, wholeRate?.median);
}

export function ofMemory(observations: readonly Observation[], memory: Observation["memory"]): Observation[] {
  return observations.filter((observation) => observation.memory === memory);
}

/** The relation of one figure to another. "open": neither a difference nor equality can be claimed. */
export type IntervalOrder = "above" | "below" | "equal" | "open";

/** Even for precise runs, figures with intervals up to this relative half-width may count as equal. */
const leastEqualWidth = 0.05;

/** Even for coarse runs, no figures with wider intervals count as equal. */
const greatestEqualWidth = 0.1;

/**
 * Largest relative half-width of intervals with which figures may count as equal: the result's precision, from 5 % to
 * 10 %.
 */
export function equalWidth(document: ResultDocument): number {
  return Math.min(greatestEqualWidth, Math.max(leastEqualWidth, document.plan?.precision ?? 0));
}

/**
 * "above" or "below" if the interval of the ratio excludes 1; "equal" if it does not, and neither figure's interval has
 * a relative half-width above `equalWidth`.
 */
export function compareIntervals(
  one: IntervalEstimate,
  other: IntervalEstimate,
  equalWidth: number,
): IntervalOrder {
  const { low, high } = ratioInterval(one, other);
  if (low > 1) return "above";
  if (high < 1) return "below";
  return isNarrow(one, equalWidth) && isNarrow(other, equalWidth) ? "equal" : "open";
}

/** Whether the interval's relative half-width is at most `equalWidth`. */
export function isNarrow(estimate: IntervalEstimate, equalWidth: number): boolean {
  return (relativeHalfWidth(estimate, estimate.median) ?? Number.POSITIVE_INFINITY) <= equalWidth;
}

/**
 * Among the observations that are as fast as the fastest, the one with the fewest workers; null without observations.
 */
export function leanestBest(observations: readonly Observation[], equalWidth: number): Observation | null {
  const best = fastest(observations);
  if (best === null) return null;
  return observations
    .filter((one) => one === best || compareIntervals(one.estimate, best.estimate, equalWidth) === "equal")
    .reduce((leanest, one) => (one.workers < leanest.workers ? one : leanest));
}

/** The observation with the highest median rate; null without observations. */
export function fastest(observations: readonly Observation[]): Observation | null {
  return observations.toSorted((a, b) => b.estimate.median - a.estimate.median)[0] ?? null;
}

/** The values in both lists, each once and ascending. */
function sharedValues(ones: readonly number[], others: readonly number[]): number[] {
  return [...new Set(ones)].filter((value) => others.includes(value)).sort((a, b) => a - b);
}

/** The sizes in bytes at which both were measured, each once and ascending. */
export function sharedSizes(ones: readonly Observation[], others: readonly Observation[]): number[] {
  return sharedValues(sizesOf(ones), sizesOf(others));
}

/** Two kinds of memory measured at one size with the same number of workers. */
export interface Pair {
  sizeBytes: number;
  workers: number;
  one: IntervalEstimate;
  other: IntervalEstimate;
  /** `one` over `other`. */
  ratio: IntervalEstimate;
  order: IntervalOrder;
}

/**
 * Pairs of two kinds of memory, one for each size at which both were measured, ascending. All have the same number of
 * workers: the smallest with which both were measured.
 */
export function pairUp(
  observations: readonly Observation[],
  memory: Observation["memory"],
  otherMemory: Observation["memory"],
  equalWidth: number,
): Pair[] {
  const ones = ofMemory(observations, memory);
  const others = ofMemory(observations, otherMemory);
  const [workers] = sharedValues(workersOf(ones), workersOf(others));
  return sharedSizes(ones, others).flatMap((sizeBytes) => {
    const [one, other] = [ones, others].map(
      (list) => list.find((each) => each.sizeBytes === sizeBytes && each.workers === workers)?.estimate,
    );
    if (workers === undefined || one === undefined || other === undefined || other.median === 0) return [];
    const order = compareIntervals(one, other, equalWidth);
    return [{ sizeBytes, workers, one, other, ratio: ratioInterval(one, other), order }];
  });
}

/** The size of each observation or pair, in bytes. */
export function sizesOf(measured: readonly { sizeBytes: number }[]): number[] {
  return measured.map(({ sizeBytes }) => sizeBytes);
}

function workersOf(observations: readonly Observation[]): number[] {
  return observations.map(({ workers }) => workers);
}

/** Why intervals allow no claim on these cells, and what would help. */
export function whyOpen(cells: readonly CellResult[]): string {
  return cells.every(({ outcome }) => outcome === "converged")
    ? "processes may differ by more than these figures do: measure with --runs 5"
    : "the figures vary too much; try a larger --budget, or --runs 5";
}
