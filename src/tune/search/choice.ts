import { batchesInFlight, settingKey } from "../../results/loader-setting.js";
import type { LoaderSetting } from "../../results/tuning.js";
import { constants } from "./constants.js";
import { type Deviation, type Score, uncertainty } from "./rate.js";

/** A setting with the score of all its trials that count. */
export interface Measured {
  setting: LoaderSetting;
  score: Score;
  trials: number;
  /**
   * Batches a second as they count in a choice: less for 0 workers if no step was measured, and for a running job's
   * workers without time to spare.
   */
  value: number;
}

/** The criteria of a choice among settings. */
export interface ChoiceRule {
  /** Relative difference in rate that does not justify another worker. */
  tolerance: number;
  deviation: Deviation;
}

/** The one with the highest value; null if nothing was measured. */
export function bestOf(measured: readonly Measured[]): Measured | null {
  return measured.toSorted((a, b) => b.value - a.value)[0] ?? null;
}

/**
 * Negative if `a` costs less than `b`: fewer workers, then less memory for batches in flight and for pinning, then no
 * persistent workers.
 */
export function compareCost(a: LoaderSetting, b: LoaderSetting): number {
  const memory = (setting: LoaderSetting) => batchesInFlight(setting) * (setting.pinMemory ? 2 : 1);
  const persistence = Number(a.persistentWorkers) - Number(b.persistentWorkers);
  return a.numWorkers - b.numWorkers || memory(a) - memory(b) || persistence;
}

/**
 * The cheapest setting that is not worth less than the best by more than the tolerance. The user's own number of workers
 * stays if it is as fast, with time to spare or not.
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
 * The settings to measure once more, because the choice may change: the user's own and the chosen one, the best, and at
 * most two more that may be better. Each is measured twice; once it was, a difference within the tolerance is known well
 * enough, and one beyond its interval too. None if all is known.
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
