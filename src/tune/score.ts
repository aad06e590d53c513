import type { LoaderSetting, TuningScore } from "../results/tuning.js";
import { droppedBatches, type SteadyState, steadyState } from "./steady-state.js";

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
  const settled = steadyState(arrivalsNs, droppedBatches(setting));
  const isSettled = settled !== null && Number.isFinite(settled.high);
  const steady = isSettled || !ended ? settled : roughState(arrivalsNs);
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
 * For want of a steady state: the second half of what came, but no faster than all of it since the loader was started,
 * as the first batches of many workers come at once.
 */
function roughState(arrivalsNs: readonly number[]): SteadyState | null {
  const half = steadyState(arrivalsNs, Math.ceil(arrivalsNs.length / 2));
  if (half === null) return null;
  const sinceStart = (arrivalsNs.length / arrivalsNs.at(-1)!) * 1e9;
  if (half.batchesPerSecond <= sinceStart) return half;
  return { ...half, batchesPerSecond: sinceStart, low: Math.min(half.low, sinceStart) };
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
