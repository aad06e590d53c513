import { batchesInFlight } from "../results/loader-setting.js";
import type { LoaderSetting } from "../results/tuning.js";
import type { Score } from "./score.js";

/** A setting with the score of its trials. */
export interface Measured {
  setting: LoaderSetting;
  score: Score;
}

/** The one with the highest rate; null where nothing was measured. */
export function fastest<M extends { score: Score }>(measured: readonly M[]): M | null {
  return measured.reduce<M | null>(
    (best, one) => (best === null || one.score.batchesPerSecond > best.score.batchesPerSecond ? one : best),
    null,
  );
}

/** Negative where `a` costs less than `b`: fewer workers, then less memory for batches in flight and for pinning. */
export function compareCost(a: LoaderSetting, b: LoaderSetting): number {
  const memory = (setting: LoaderSetting) => batchesInFlight(setting) * (setting.pinMemory ? 2 : 1);
  return a.numWorkers - b.numWorkers || memory(a) - memory(b);
}

/**
 * The cheapest setting that reaches the fastest one's rate within `tolerance`: by its rate, not by its interval, as one
 * that is wide for want of batches recommends nothing.
 */
export function cheapestWithin(measured: readonly Measured[], tolerance: number): Measured | null {
  const best = fastest(measured);
  if (best === null) return null;
  const needed = (1 - tolerance) * best.score.batchesPerSecond;
  return measured
    .filter(({ score }) => score.batchesPerSecond >= needed)
    .reduce((cheapest, one) => (compareCost(one.setting, cheapest.setting) < 0 ? one : cheapest), best);
}
