import type { LoaderSetting, TuningScore } from "../results/tuning.js";
import { cycleBatches, droppedBatches, type SteadyState, steadyState } from "./steady-state.js";

/** What settings are compared by: as the document has it, but with 0 and infinity for ends that are not known. */
export type Score = { [Key in keyof TuningScore]: NonNullable<TuningScore[Key]> };

/**
 * The score of a setting: its steady state, or with `epochBatches` the rate over an epoch of so many batches from the
 * loader's start, which counts the workers' start-up. The part of the epoch that was not waited for is added at the
 * steady rate. A trial that has `ended` before its steady state has a rough score. Null where there is too little to
 * say.
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
 * For want of a steady state: the whole cycles of the second half of what came, but no faster than all of it since the
 * loader was started, as the first batches of many workers come at once. Its interval is open: what was made ahead says
 * little of what follows. Null where not every worker has delivered.
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

/** Half the interval of an epoch that ends before there is a steady state: one epoch does not tell its own spread. */
const assumedSpread = 0.1;

/** One epoch was seen from end to end: its interval is as wide as the steady state's, which is all that is known. */
function wholeEpoch(durationNs: number, batches: number, steady: SteadyState | null): Score {
  const batchesPerSecond = (batches / durationNs) * 1e9;
  if (steady === null || !Number.isFinite(steady.high)) {
    const by = (factor: number) => batchesPerSecond * factor;
    return { batchesPerSecond, low: by(1 - assumedSpread), high: by(1 + assumedSpread), isSettled: true };
  }
  const scale = batchesPerSecond / steady.batchesPerSecond;
  return { batchesPerSecond, low: steady.low * scale, high: steady.high * scale, isSettled: true };
}
