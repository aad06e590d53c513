import type { LoaderSetting } from "../../results/tuning.js";
import { type Score, scoreOf } from "../score.js";
import { cycleBatches, droppedBatches, steadyState } from "../steady-state.js";

/** The rule of a search, but for what depends on the request. */
export const usualStopping = {
  /** Relative half width of the interval that is aimed at. */
  precision: 0.03,
  /**
   * The least and the most time that is timed, after the batches that are dropped; the most is exceeded for as long as
   * too few cycles have come for an interval.
   */
  leastTimedNs: 0.3e9,
  mostTimedNs: 1.2e9,
  /** A trial ends early where its whole interval lies below the best one's by more than this share. */
  tolerance: 0.02,
  /** A shorter look is not trusted to rule a setting out. */
  leastRuledOutNs: 0.15e9,
};

/**
 * In a job that runs, whose steps are long and uneven. What its pick loses is lost for as long as it trains: of settings
 * that are nearly as fast, the cheaper one has to be nearer. And a second of it says little: one of Transformers on an
 * H200 was held up by a fifth for that long (results/nvidia-h200/tune-live.txt), and what is ruled out by it takes the
 * settings with it that it bounds.
 */
export const liveStopping: typeof usualStopping = {
  ...usualStopping,
  leastTimedNs: 0.5e9,
  mostTimedNs: 4e9,
  tolerance: 0.01,
  leastRuledOutNs: 1.5e9,
};

/** When a trial has run for long enough. */
export type StoppingRule = typeof usualStopping & {
  /** The most time that a trial takes in all from the loader's start, however slow that is. */
  mostNs: number;
  /** Ends with the epoch of so many batches; null where the steady state is wanted. */
  epochBatches: number | null;
};

/**
 * Cycles below which an interval is not believed to be narrow: it is looked at again and again until it is, and of a few
 * cycles some look alike by chance.
 */
const leastCyclesForNarrow = 8;

/** The `enough` of a TrialControl for this setting; `best` is the best score of the trials before it. */
export function enoughFor(
  setting: LoaderSetting,
  rule: StoppingRule,
  best: Score | null,
): (arrivalsNs: readonly number[]) => boolean {
  return (arrivalsNs) => {
    const elapsedNs = arrivalsNs.at(-1)!;
    if (elapsedNs >= rule.mostNs) return true;
    if (rule.epochBatches !== null && arrivalsNs.length >= rule.epochBatches) return true;
    const steady = steadyState(arrivalsNs, droppedBatches(setting), cycleBatches(setting));
    const score = scoreOf(arrivalsNs, setting, rule.epochBatches, false);
    if (steady === null || score === null) return false;
    if (cannotWin(score, best, rule.tolerance)) return steady.durationNs >= rule.leastRuledOutNs;
    if (steady.durationNs < rule.leastTimedNs) return false;
    if (steady.durationNs >= rule.mostTimedNs) return Number.isFinite(steady.high);
    if (steady.cycles < leastCyclesForNarrow) return false;
    return score.high - score.batchesPerSecond <= rule.precision * score.batchesPerSecond;
  };
}

/** Whether even the upper end of the interval lies below the best one's by more than the tolerance. */
export function cannotWin(score: Score, best: Score | null, tolerance: number): boolean {
  return best !== null && score.high < (1 - tolerance) * best.low;
}
