import { batchesInFlight } from "../../results/loader-setting.js";
import type { LoaderSetting } from "../../results/tuning.js";
import { type TrialSpread, uncertainty } from "../pooled-score.js";
import type { Score } from "../score.js";

/** A setting with the score of its trials together, and how many of them there were. */
export interface Measured {
  setting: LoaderSetting;
  score: Score;
  trials: number;
}

/** What a choice among settings goes by. */
export interface ChoiceRule {
  /** Relative difference in rate that is not worth a worker. */
  tolerance: number;
  /**
   * By this factor a setting without workers must be faster than one with workers to be preferred: above 1 where the
   * rates were measured without the training step during which workers go on.
   */
  overlapWorth: number;
  spread: TrialSpread;
}

/**
 * A loop whose step blocks makes no batch meanwhile without workers, and loses by up to the whole time of making; what
 * workers lose is their hand-over. Where that cost them less than this in a loop without a step, they are preferred.
 */
export const overlapWorthWithoutStep = 1.25;

/** Batches a second, as far as they count in a choice. */
export function worth({ setting, score }: Pick<Measured, "setting" | "score">, rule: ChoiceRule): number {
  return score.batchesPerSecond / (setting.numWorkers === 0 ? rule.overlapWorth : 1);
}

/** The one with the highest rate; null where nothing was measured. */
export function fastest<M extends { score: Score }>(measured: readonly M[]): M | null {
  return highest(measured, ({ score }) => score.batchesPerSecond);
}

/** The one that is worth most; null where nothing was measured. */
export function bestOf(measured: readonly Measured[], rule: ChoiceRule): Measured | null {
  return highest(measured, (one) => worth(one, rule));
}

function highest<M>(all: readonly M[], value: (one: M) => number): M | null {
  return all.reduce<M | null>((best, one) => (best === null || value(one) > value(best) ? one : best), null);
}

/** Negative where `a` costs less than `b`: fewer workers, then less memory for batches in flight and for pinning, then workers that do not persist. */
export function compareCost(a: LoaderSetting, b: LoaderSetting): number {
  const memory = (setting: LoaderSetting) => batchesInFlight(setting) * (setting.pinMemory ? 2 : 1);
  const persistence = Number(a.persistentWorkers) - Number(b.persistentWorkers);
  return a.numWorkers - b.numWorkers || memory(a) - memory(b) || persistence;
}

/** By how much one setting is worth less than another, relative to that, and half the 95 % interval of it. */
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
 * The cheapest setting that is not shown to be worse than the best by more than the tolerance. What was tried but once
 * goes by its rate alone, as an interval that is wide for want of trials recommends nothing; and no interval excuses
 * more than half the tolerance again.
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
