import { batchesInFlight } from "../results/loader-setting.js";
import type { LoaderSetting } from "../results/tuning.js";
import { studentQuantile } from "../stats/hypothesis-tests.js";

/** How fast batches arrive once the loader runs evenly, with a 95 % interval. */
export interface SteadyState {
  batchesPerSecond: number;
  /** The interval's ends; 0 and infinity where too few batches came to say. */
  low: number;
  high: number;
  /** Batches that were timed, after those that were dropped: whole cycles of them. */
  batches: number;
  cycles: number;
  durationNs: number;
}

/**
 * Batches made ahead before the clock starts, which come as fast as they can be copied: twice what may be in flight,
 * as a short run otherwise flatters many workers. At least four cycles: workers that started together wait for the
 * slowest until they have fallen out of step.
 */
export function droppedBatches(setting: LoaderSetting): number {
  return Math.max(2 * batchesInFlight(setting), 4 * setting.numWorkers);
}

/**
 * Batches of a cycle: one of each worker. Workers that started together deliver together, a burst and then a gap; what
 * begins behind a burst and ends within the next one has the gap and not its batches.
 */
export function cycleBatches({ numWorkers }: LoaderSetting): number {
  return Math.max(1, numWorkers);
}

/**
 * Blocks of consecutive cycles whose times are compared: each cycle is one, or a share of them where there are many.
 * Below the least there is no interval, and with it no steady state that could be told.
 */
const blocks = { least: 4, most: 10 };

/**
 * Relative half width that no interval goes below. A loop that hardly ever waits has gaps as even as its step, while the
 * rare slow batches that empty its queue are missing from a second of it: in the simulated loaders of
 * test/tune/estimator.test.ts they take up to 1 % of the rate, or in the worst one 3 %.
 */
const leastHalfWidth = 0.01;

/**
 * The rate after the first `dropped` batches (at least 1) over whole cycles of `cycle` batches, by the method of batch
 * means (Law, "Simulation Modeling and Analysis", section 9.5.3): single gaps depend on each other, since workers
 * deliver in bursts, but the times of blocks of whole cycles hardly do. A rhythm that is longer than a block widens the
 * interval, so that measuring goes on. Null until a cycle has been timed.
 */
export function steadyState(
  arrivalsNs: readonly number[],
  dropped: number,
  cycle: number,
): SteadyState | null {
  const cycles = Math.floor((arrivalsNs.length - dropped) / cycle);
  if (cycles < 1) return null;
  // From the arrival of the last batch that is dropped.
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
 * Of the mean time of a cycle, from where cycles end; infinite for too few of them. All cycles are in a block: one that
 * came late would otherwise count for the rate and not for its interval. Blocks that differ by a cycle are compared by
 * what they took beyond their share of the whole (a ratio estimate: Cochran, "Sampling Techniques", section 6.3).
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

/** Student's t for a 95 % interval; kept, as it is asked for again whenever batches have come. */
function quantileFor(degreesOfFreedom: number): number {
  const known = quantiles.get(degreesOfFreedom) ?? studentQuantile(0.025, degreesOfFreedom);
  quantiles.set(degreesOfFreedom, known);
  return known;
}
