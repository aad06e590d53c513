import { batchesInFlight } from "../results/loader-setting.js";
import type { LoaderSetting } from "../results/tuning.js";
import { studentQuantile } from "../stats/hypothesis-tests.js";
import { mean, squaresAboutMean } from "../stats/variance.js";

/** How fast batches arrive once the loader runs evenly, with a 95 % interval. */
export interface SteadyState {
  batchesPerSecond: number;
  /** The interval's ends; 0 and infinity where too few batches came to say. */
  low: number;
  high: number;
  /** Batches that were timed, after those that were dropped. */
  batches: number;
  durationNs: number;
}

/**
 * Batches made ahead before the clock starts, which come as fast as they can be copied: twice what may be in flight,
 * as a short run otherwise flatters many workers.
 */
export function droppedBatches(setting: LoaderSetting): number {
  return 2 * batchesInFlight(setting);
}

/** Blocks of consecutive batches whose means are compared: fewer give an interval that is wider than it is worth. */
const blocks = { least: 5, most: 16 };

/**
 * The rate after the first `dropped` batches (at least 1), by the method of batch means (Law, "Simulation Modeling
 * and Analysis", section 9.5.3): single gaps depend on each other, since workers deliver in bursts, but the means of
 * long blocks of them hardly do. There are as many blocks as each has batches. A rhythm that is longer than a block
 * widens the interval, so that measuring goes on. Null until a batch has been timed.
 */
export function steadyState(arrivalsNs: readonly number[], dropped: number): SteadyState | null {
  const batches = arrivalsNs.length - dropped;
  if (batches < 1) return null;
  // From the arrival of the last one that is dropped.
  const startNs = arrivalsNs[dropped - 1]!;
  const durationNs = arrivalsNs.at(-1)! - startNs;
  if (!(durationNs > 0)) return null;
  const batchesPerSecond = (batches / durationNs) * 1e9;
  const relative = relativeHalfWidth(arrivalsNs, dropped, batches);
  return {
    batchesPerSecond,
    low: batchesPerSecond / (1 + relative),
    high: relative < 1 ? batchesPerSecond / (1 - relative) : Number.POSITIVE_INFINITY,
    batches,
    durationNs,
  };
}

/** Of the mean time between two batches; infinite for too few of them. */
function relativeHalfWidth(arrivalsNs: readonly number[], dropped: number, batches: number): number {
  if (batches < blocks.least) return Number.POSITIVE_INFINITY;
  const count = Math.min(blocks.most, Math.max(blocks.least, Math.floor(Math.sqrt(batches))));
  // All batches are in a block: one that came late would otherwise count for the rate and not for its interval.
  const end = (block: number) => dropped - 1 + Math.floor((block * batches) / count);
  const gaps = Array.from({ length: count }, (_, block) => {
    const [from, to] = [end(block), end(block + 1)];
    return (arrivalsNs[to]! - arrivalsNs[from]!) / (to - from);
  });
  const standardError = Math.sqrt(squaresAboutMean(gaps) / (count - 1) / count);
  return (studentQuantile(0.025, count - 1) * standardError) / mean(gaps);
}
