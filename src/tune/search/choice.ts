import { batchesInFlight } from "../../results/loader-setting.js";
import type { LoaderSetting } from "../../results/tuning.js";
import { type Score, type TrialSpread, uncertainty } from "../score.js";

/** A setting with the combined score of its trials, and their number. */
export interface Measured {
  setting: LoaderSetting;
  score: Score;
  trials: number;
}

/** The criteria of a choice among settings. */
export interface ChoiceRule {
  /** Relative difference in rate that does not justify another worker. */
  tolerance: number;
  /**
   * Factor by which a setting without workers must be faster than one with workers to be preferred: above 1 if the
   * rates were measured without the training step, during which workers continue.
   */
  overlapWorth: number;
  spread: TrialSpread;
}

/**
 * The `overlapWorth` of a loop without a step. During a blocking step a loop without workers makes no batch and loses
 * up to the whole time of making. Workers only cost their hand-over, so they are preferred unless that costs more than
 * this.
 */
export const overlapWorthWithoutStep = 1.25;

/** Batches a second as they count in a choice. */
export function worth({ setting, score }: Pick<Measured, "setting" | "score">, rule: ChoiceRule): number {
  return score.batchesPerSecond / (setting.numWorkers === 0 ? rule.overlapWorth : 1);
}

/** The one with the highest rate; null if nothing was measured. */
export function fastest<M extends { score: Score }>(measured: readonly M[]): M | null {
  return highest(measured, ({ score }) => score.batchesPerSecond);
}

/** The most valuable one; null if nothing was measured. */
export function bestOf(measured: readonly Measured[], rule: ChoiceRule): Measured | null {
  return highest(measured, (one) => worth(one, rule));
}

function highest<M>(all: readonly M[], value: (one: M) => number): M | null {
  return all.reduce<M | null>((best, one) => (best === null || value(one) > value(best) ? one : best), null);
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

/** The relative disadvantage of one setting against another, and half of its 95 % interval. */
export function shortfall(
  one: Measured,
  than: Measured,
  rule: ChoiceRule,
): { share: number; uncertainty: number } {
  const half = ({ score, trials }: Measured) => uncertainty(score, trials, rule.spread);
  const ratio = worth(one, rule) / worth(than, rule);
  return { share: 1 - ratio, uncertainty: one === than ? 0 : ratio * Math.hypot(half(one), half(than)) };
}

/**
 * The cheapest setting that is not shown to be worse than the best by more than the tolerance. A setting that was tried
 * once is judged by its rate alone, because an interval that is wide for lack of trials recommends nothing. No interval
 * excuses more than one and a half tolerances.
 */
export function cheapestWithin(measured: readonly Measured[], rule: ChoiceRule): Measured | null {
  const best = bestOf(measured, rule);
  if (best === null) return null;
  return measured
    .filter((one) => {
      const { share, uncertainty } = shortfall(one, best, rule);
      const isKnown = one.trials > 1 && best.trials > 1;
      return share <= rule.tolerance + (isKnown ? Math.min(uncertainty, rule.tolerance / 2) : 0);
    })
    .reduce((cheapest, one) => (compareCost(one.setting, cheapest.setting) < 0 ? one : cheapest), best);
}
