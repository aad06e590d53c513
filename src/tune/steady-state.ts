import { batchesInFlight } from "../results/loader-setting.js";
import type { LoaderSetting } from "../results/tuning.js";
import { studentQuantile } from "../stats/hypothesis-tests.js";

/** Rate of arriving batches in the steady state, with a 95 % interval. */
export interface SteadyState {
  batchesPerSecond: number;
  /** The interval's ends; 0 and infinity with too few batches. */
  low: number;
  high: number;
  /** Number of timed batches after the dropped ones, in whole cycles. */
  batches: number;
  cycles: number;
  durationNs: number;
}

/**
 * Batches made ahead before the clock starts arrive as fast as they can be copied. Twice as many as may be in flight
 * are dropped, because they make many workers look fast in a short run. At least four cycles are dropped: workers that
 * started together wait for the slowest until they have fallen out of step.
 */
export function droppedBatches(setting: LoaderSetting): number {
  return Math.max(2 * batchesInFlight(setting), 4 * setting.numWorkers);
}

/**
 * Batches of a cycle: one from each worker. Workers that started together deliver in bursts with gaps. A span from the
 * end of one burst into the next has the gap without all of the batches.
 */
export function cycleBatches({ numWorkers }: LoaderSetting): number {
  return Math.max(1, numWorkers);
}

/**
 * Numbers of blocks of consecutive cycles whose times are compared: one cycle each, or more if there are many. Below
 * the least there is no interval, and so no steady state.
 */
const blocks = { least: 4, most: 10 };

/**
 * Smallest relative half-width. A loop that hardly waits has gaps as even as its step, but a second of it may lack the
 * rare slow batches that empty its queue. In the simulated loaders of test/tune/estimator.test.ts these take up to 1 %
 * of the rate, and 3 % in the worst one.
 */
const leastHalfWidth = 0.01;

/**
 * The rate after the first `dropped` batches (at least 1) over whole cycles of `cycle` batches, by the method of batch
 * means (Law, "Simulation Modeling and Analysis", section 9.5.3): single gaps depend on each other, because workers
 * deliver in bursts, but the times of blocks of whole cycles hardly do. A rhythm longer than a block widens the
 * interval, so that measuring continues. Null until one cycle is timed.
 */
export function steadyState(
  arrivalsNs: readonly number[],
  dropped: number,
  cycle: number,
): SteadyState | null {
  const cycles = Math.floor((arrivalsNs.length - dropped) / cycle);
  if (cycles < 1) return null;
  // The clock starts when the last dropped batch arrives.
  const endsNs = Array.from({ length: cycles + 1 }, (_, index) => arrivalsNs[dropped - 1 + index * cycle]!);
  const durationNs = endsNs[cycles]! - endsNs[0]!;
  if (!(durationNs > 0)) return null;
  const batches = cycles * cycle;
  const batchesPerSecond = (batches / durationNs) * 1e9;
  const relative = relativeHalfWidth(endsNs);
  return {
    batchesPerSecond,
    low: batchesPerSecond / (1 + relative),
    high: relative < 1 ? batchesPerSecond / (1 - relative) : Number.POSITIVE_INFINITY,
    batches,
    cycles,
    durationNs,
  };
}

/**
 * Relative half-width of the mean time of a cycle, from the times when cycles end; infinite with too few. All cycles
 * are in a block: a late one would otherwise count for the rate but not for its interval. Blocks that differ by a cycle
 * are compared by the time beyond their share of the whole (a ratio estimate: Cochran, "Sampling Techniques", section
 * 6.3).
 */
function relativeHalfWidth(endsNs: readonly number[]): number {
  const cycles = endsNs.length - 1;
  if (cycles < blocks.least) return Number.POSITIVE_INFINITY;
  const count = Math.min(blocks.most, cycles);
  const durationNs = endsNs[cycles]! - endsNs[0]!;
  const end = (block: number) => Math.floor((block * cycles) / count);
  let squares = 0;
  for (let block = 0; block < count; ++block) {
    const [from, to] = [end(block), end(block + 1)];
    squares += (endsNs[to]! - endsNs[from]! - ((to - from) / cycles) * durationNs) ** 2;
  }
  const standardError = Math.sqrt((squares * count) / (count - 1)) / durationNs;
  return Math.hypot(quantileFor(count - 1) * standardError, leastHalfWidth);
}

const quantiles = new Map<number, number>();

/** Student's t for a 95 % interval, cached because it is needed whenever batches arrive. */
function quantileFor(degreesOfFreedom: number): number {
  const known = quantiles.get(degreesOfFreedom) ?? studentQuantile(0.025, degreesOfFreedom);
  quantiles.set(degreesOfFreedom, known);
  return known;
}
