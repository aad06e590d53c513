import { batchesInFlight, settingKey } from "../../results/loader-setting.js";
import type { LoaderSetting } from "../../results/tuning.js";
import { constants } from "./constants.js";
import { type Deviation, type Score, uncertainty } from "./rate.js";

/** A setting with the score over its counted trials. */
export interface Measured {
  setting: LoaderSetting;
  score: Score;
  trials: number;
  /**
   * Batches per second, adjusted for the choice: lower for 0 workers if no step was measured, and for the gain of a
   * running job's workers without spare time.
   */
  value: number;
}

export interface ChoiceRule {
  /** Gains below this share do not justify another worker. */
  tolerance: number;
  deviation: Deviation;
}

export function bestOf(measured: readonly Measured[]): Measured | null {
  return measured.toSorted((a, b) => b.value - a.value)[0] ?? null;
}

/**
 * Compares costs; negative if `a` is cheaper. Fewer workers come first, then less memory for batches and pinning, then
 * no persistent workers.
 */
export function compareCost(a: LoaderSetting, b: LoaderSetting): number {
  const memory = (setting: LoaderSetting) => batchesInFlight(setting) * (setting.pinMemory ? 2 : 1);
  const persistence = Number(a.persistentWorkers) - Number(b.persistentWorkers);
  return a.numWorkers - b.numWorkers || memory(a) - memory(b) || persistence;
}

/**
 * The cheapest setting whose value is within the tolerance of the best. The user's own number of workers also qualifies
 * if its rate is, even without spare time.
 */
export function choose(
  measured: readonly Measured[],
  { tolerance }: Pick<ChoiceRule, "tolerance">,
  own: LoaderSetting | null = null,
): Measured | null {
  const best = bestOf(measured);
  if (best === null) return null;
  const fastest = Math.max(...measured.map(({ score }) => score.batchesPerSecond));
  const isAsGood = ({ value }: Measured) => value >= (1 - tolerance) * best.value;
  const isOwn = ({ setting, score }: Measured) =>
    setting.numWorkers === own?.numWorkers && score.batchesPerSecond >= (1 - tolerance) * fastest;
  return measured
    .filter((one) => isAsGood(one) || isOwn(one))
    .reduce((cheapest, one) => (compareCost(one.setting, cheapest.setting) < 0 ? one : cheapest), best);
}

/**
 * The settings to measure again because the choice may change: the user's own, the chosen one, and at most two that may
 * be better. A setting is certain if it was measured twice and differs within the tolerance, or if the difference
 * exceeds its interval. Empty if all are certain.
 */
export function inDoubt(
  measured: readonly Measured[],
  { tolerance, deviation }: ChoiceRule,
  own: LoaderSetting,
): LoaderSetting[] {
  const best = bestOf(measured);
  const chosen = choose(measured, { tolerance }, own);
  if (best === null || chosen === null || measured.length === 1) return [];
  const isOpen = (one: Measured) => {
    const ratio = one.value / chosen.value;
    const gap = Math.abs(1 - ratio);
    const isRepeated = Math.min(one.trials, chosen.trials) > 1;
    const isKnown = (isRepeated && gap <= tolerance) || gap > ratio * uncertainty([one, chosen], deviation);
    return one !== chosen && !isKnown;
  };
  const start = measured.find(({ setting }) => settingKey(setting) === settingKey(own));
  const claimed = start !== undefined && (start.trials < 2 || isOpen(start)) ? [start] : [];
  const rivals = measured
    .filter((one) => isOpen(one) && one.value >= (1 - 3 * tolerance) * best.value)
    .sort((a, b) => b.value - a.value)
    .slice(0, 2);
  if (claimed.length + rivals.length === 0 && chosen.trials > 1) return [];
  return [...new Set([...claimed, chosen, ...rivals])]
    .filter(({ trials }) => trials <= constants.turns)
    .map(({ setting }) => setting);
}
