import type { LoaderSetting } from "../results/tuning.js";
import { type Score, scoreOf } from "./score.js";
import { droppedBatches, steadyState } from "./steady-state.js";

/** When a trial has told enough. Times are of the loader's clock. */
export interface StoppingRule {
  /** Relative half width of the interval that is aimed at. */
  precision: number;
  /** The least and the most time that is timed, after the batches that are dropped. */
  leastTimedNs: number;
  mostTimedNs: number;
  /** The most time that a trial takes in all, however slow the loader. */
  mostNs: number;
  /** Settings whose whole interval lies so far below the best one's are given up. */
  tolerance: number;
  epochBatches: number | null;
}

export const usualStopping = {
  precision: 0.03,
  leastTimedNs: 0.3e9,
  mostTimedNs: 1.2e9,
  tolerance: 0.02,
} as const;

/** A shorter look is not trusted to rule a setting out. */
const leastRuledOutNs = 0.15e9;

/** The `enough` of a trial's control. `best` is the best score until now. */
export function enoughFor(
  setting: LoaderSetting,
  rule: StoppingRule,
  best: Score | null,
): (arrivalsNs: readonly number[]) => boolean {
  return (arrivalsNs) => {
    const elapsedNs = arrivalsNs.at(-1)!;
    if (elapsedNs >= rule.mostNs) return true;
    if (rule.epochBatches !== null && arrivalsNs.length >= rule.epochBatches) return true;
    const steady = steadyState(arrivalsNs, droppedBatches(setting));
    const score = scoreOf(arrivalsNs, setting, rule.epochBatches, false);
    if (steady === null || score === null) return false;
    if (steady.durationNs >= leastRuledOutNs && cannotWin(score, best, rule.tolerance)) return true;
    if (steady.durationNs < rule.leastTimedNs) return false;
    if (steady.durationNs >= rule.mostTimedNs) return Number.isFinite(steady.high);
    return score.high - score.batchesPerSecond <= rule.precision * score.batchesPerSecond;
  };
}

/** Even at its highest it lies outside of the tolerance. */
export function cannotWin(score: Score, best: Score | null, tolerance: number): boolean {
  return best !== null && score.high < (1 - tolerance) * best.low;
}
