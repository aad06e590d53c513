import type { LoaderSetting, Tuning, TuningScore } from "../results/tuning.js";
import { median } from "../stats/order-statistics.js";
import { cycleBatches, droppedBatches, type SteadyState, steadyState } from "./steady-state.js";

/** The score by which settings are compared: the document's, with 0 and infinity for unknown ends. */
export type Score = { [Key in keyof TuningScore]: NonNullable<TuningScore[Key]> };

/**
 * The score of a setting: its steady state, or with `epochBatches` the rate over an epoch of that many batches from the
 * loader's start, including the workers' start-up. The rest of the epoch is added at the steady rate. A trial that
 * `ended` before its steady state gets a rough score. Null if there are too few batches.
 */
export function scoreOf(
  arrivalsNs: readonly number[],
  setting: LoaderSetting,
  epochBatches: number | null,
  ended: boolean,
): Score | null {
  const cycle = cycleBatches(setting);
  const settled = steadyState(arrivalsNs, droppedBatches(setting), cycle);
  const isSettled = settled !== null && Number.isFinite(settled.high);
  const steady = isSettled || !ended ? settled : roughState(arrivalsNs, cycle);
  if (epochBatches !== null && arrivalsNs.length >= epochBatches) {
    return wholeEpoch(arrivalsNs[epochBatches - 1]!, epochBatches, steady);
  }
  if (steady === null) return null;
  const { batchesPerSecond, low, high } = steady;
  if (epochBatches === null) return { batchesPerSecond, low, high, isSettled };
  const left = epochBatches - arrivalsNs.length;
  const elapsedS = arrivalsNs.at(-1)! / 1e9;
  const over = (rate: number) => epochBatches / (elapsedS + left / rate);
  return { batchesPerSecond: over(batchesPerSecond), low: over(low), high: over(high), isSettled };
}

/**
 * The rate without a steady state: whole cycles in the second half of the batches, but at most the rate since the
 * loader's start, because the first batches of many workers arrive together. Its interval is open, because batches made
 * ahead say little about later ones. Null if a worker has not delivered yet.
 */
function roughState(arrivalsNs: readonly number[], cycle: number): SteadyState | null {
  const count = arrivalsNs.length;
  if (count < Math.max(2, cycle)) return null;
  const durationNs = arrivalsNs.at(-1)!;
  if (!(durationNs > 0)) return null;
  const sinceStart = (count / durationNs) * 1e9;
  const cycles = Math.floor(count / 2 / cycle);
  const half = steadyState(arrivalsNs, count - cycles * cycle, cycle);
  const batchesPerSecond = Math.min(sinceStart, half?.batchesPerSecond ?? Number.POSITIVE_INFINITY);
  return { batchesPerSecond, low: 0, high: Number.POSITIVE_INFINITY, batches: count, cycles, durationNs };
}

/** Relative half-width for an epoch that ends before a steady state: one epoch does not show its own spread. */
const assumedSpread = 0.1;

/** For a completely measured epoch the interval is as wide as the steady state's, the only known spread. */
function wholeEpoch(durationNs: number, batches: number, steady: SteadyState | null): Score {
  const batchesPerSecond = (batches / durationNs) * 1e9;
  if (steady === null || !Number.isFinite(steady.high)) {
    const by = (factor: number) => batchesPerSecond * factor;
    return { batchesPerSecond, low: by(1 - assumedSpread), high: by(1 + assumedSpread), isSettled: true };
  }
  const scale = batchesPerSecond / steady.batchesPerSecond;
  return { batchesPerSecond, low: steady.low * scale, high: steady.high * scale, isSettled: true };
}

/**
 * Share of the time for a batch that the loop waited for it; null if unknown. A trial with only its first batches, such
 * as a job's first, counts only if there is no other.
 */
export function waitingShare({ trials, score }: Tuning["tried"][number]): number | null {
  const steady = trials.filter(({ arrivalsNs, droppedBatches }) => arrivalsNs.length > droppedBatches);
  const waits = (steady.length === 0 ? trials : steady).flatMap(({ waitNsPerBatch }) => waitNsPerBatch ?? []);
  if (waits.length === 0 || score === null) return null;
  return Math.min(1, (median(waits) * score.batchesPerSecond) / 1e9);
}
