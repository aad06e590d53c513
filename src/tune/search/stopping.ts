import type { LoaderSetting } from "../../results/tuning.js";
import type { TrialControl } from "../loader-probe.js";
import { cycleBatches, droppedBatches, type Score, scoreOf, steadyState } from "../score.js";

/** The rule for ending trials, without the part that depends on the request. */
export const usualStopping = {
  /** Target of the relative half-width. */
  precision: 0.03,
  /**
   * Shortest and longest timed span after the dropped batches; the longest is exceeded while there are too few cycles
   * for an interval.
   */
  leastTimedNs: 0.3e9,
  mostTimedNs: 1.2e9,
  /** A trial ends early if its whole interval lies below the best one's by more than this share. */
  tolerance: 0.02,
  /** Shortest measurement that can rule a setting out. */
  leastRuledOutNs: 0.15e9,
};

/**
 * The rule for a running job, whose steps are long and uneven. A loss by the choice lasts as long as the training, so a
 * cheaper setting has to be closer to the fastest. One second says little: a training of Transformers on an H200 was a
 * fifth slower for that long (results/nvidia-h200/tune-live.txt), and a setting that is ruled out also rules out those
 * that it bounds.
 */
export const liveStopping: typeof usualStopping = {
  ...usualStopping,
  leastTimedNs: 0.5e9,
  mostTimedNs: 4e9,
  tolerance: 0.01,
  leastRuledOutNs: 1.5e9,
};

/** Conditions that end a trial. */
export type StoppingRule = typeof usualStopping & {
  /** Longest trial from the loader's start, however slow that is. */
  mostNs: number;
};

/**
 * Fewest cycles for a narrow interval: it is checked repeatedly until it is narrow, and a few cycles look alike by
 * chance.
 */
const leastCyclesForNarrow = 8;

/**
 * The `enough` of a TrialControl for this setting; `best` is the best score of earlier trials, and `dropped` the number
 * of first batches that count for nothing.
 */
export function enoughFor(
  setting: LoaderSetting,
  rule: StoppingRule,
  best: Score | null,
  dropped = droppedBatches(setting),
): TrialControl["enough"] {
  return (arrivalsNs, elapsedNs = arrivalsNs.at(-1)!) => {
    if (elapsedNs >= rule.mostNs) return true;
    const steady = steadyState(arrivalsNs, dropped, cycleBatches(setting));
    const score = scoreOf(arrivalsNs, setting, false, dropped);
    if (steady === null || score === null) return false;
    if (cannotWin(score, best, rule.tolerance)) return steady.durationNs >= rule.leastRuledOutNs;
    if (steady.durationNs < rule.leastTimedNs) return false;
    if (steady.durationNs >= rule.mostTimedNs) return Number.isFinite(steady.high);
    if (steady.cycles < leastCyclesForNarrow) return false;
    return score.high - score.batchesPerSecond <= rule.precision * score.batchesPerSecond;
  };
}

/** Whether even the upper end of the interval is below the best one's by more than the tolerance. */
export function cannotWin(score: Score, best: Score | null, tolerance: number): boolean {
  return best !== null && score.high < (1 - tolerance) * best.low;
}
