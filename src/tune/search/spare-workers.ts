import { settingKey } from "../../results/loader-setting.js";
import type { LoaderSetting } from "../../results/tuning.js";
import type { Trials } from "../trials.js";
import { bestOf, cheapestWithin, compareCost, type Measured, worth } from "./choice.js";
import { apartInTime, busyWorkersAt } from "./loop-body.js";

/*
 * Workers that are only just enough become a running job's limit as soon as the machine's speed wanders: three that were
 * busy for 74 % of the time waited for nobody during a search, and cost 7 % afterwards (results/nvidia-h200/tune-live.txt).
 */

/** Largest share of the time that workers are busy if they may become slower, and the loop faster, by `apartInTime`. */
const mostBusy = (1 - apartInTime) ** 2;
/** Relative difference in rate that time to spare is worth. */
const worthOfSpare = 0.03;

/**
 * Share of the time in which a running job's workers make batches, without the time between epochs; null without workers,
 * and if no worker was timed. Of several ranks it is the average.
 */
export function workersBusyShare(trials: Trials, setting: LoaderSetting): number | null {
  const tried = trials.find(setting);
  if (!tried?.score || setting.numWorkers === 0 || trials.probe.facts.kind !== "live") return null;
  const steadyRate = tried.score.batchesPerSecond / (1 - (tried.epochs?.share ?? 0));
  const busyWorkers = busyWorkersAt(steadyRate, tried.trials);
  return busyWorkers === null ? null : busyWorkers / setting.numWorkers;
}

/**
 * The setting to recommend: the cheapest of the fastest, or else more workers, if these have time to spare and the
 * cheapest ones have not. The script's own number is left as it is. One of `measured`; null if there is none.
 */
export function chosenOf(trials: Trials, measured: readonly Measured[] = trials.measured): Measured | null {
  const { rule } = trials;
  const cheapest = cheapestWithin(measured, rule);
  if (cheapest === null || workersWithSpare(trials, cheapest.setting) === null) return cheapest;
  const least = (1 - worthOfSpare) * worth(bestOf(measured, rule)!, rule);
  const isMore = ({ setting }: Measured) =>
    setting.numWorkers > cheapest.setting.numWorkers &&
    settingKey({ ...cheapest.setting, numWorkers: setting.numWorkers }) === settingKey(setting);
  const [spared] = measured
    .filter((one) => isMore(one) && worth(one, rule) >= least)
    .filter(({ setting }) => (workersBusyShare(trials, setting) ?? 1) <= mostBusy)
    .sort((one, other) => compareCost(one.setting, other.setting));
  return spared ?? cheapest;
}

/** The fewest workers with time to spare at a setting's rate; null if its own have it, or are the script's number. */
function workersWithSpare(trials: Trials, setting: LoaderSetting): number | null {
  const share = workersBusyShare(trials, setting) ?? 0;
  const isOwn = setting.numWorkers === trials.startingPoint.numWorkers;
  return isOwn || share <= mostBusy ? null : Math.ceil((share * setting.numWorkers) / mostBusy);
}

/** Tries as many workers as have time to spare, if those chosen have none and the machine allows more. */
export async function trySpareWorkers(trials: Trials): Promise<void> {
  const chosen = chosenOf(trials);
  const needed = chosen === null ? null : workersWithSpare(trials, chosen.setting);
  if (trials.isOver || needed === null || needed > trials.options.maxWorkers) return;
  const setting = { ...chosen!.setting, numWorkers: needed };
  if (trials.find(setting) === null && trials.misfit(setting) === null) await trials.run(setting);
}
