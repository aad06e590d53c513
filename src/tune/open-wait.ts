import { describeSetting } from "../results/loader-setting.js";
import type { Trial } from "./loader-probe.js";
import { cycleBatches } from "./steady-state.js";

/** A wait that was cut off is normal if an earlier one was at least this fraction as long. */
const explainedFactor = 10;

/** Shorter waits mean nothing: arrivals are reported some time after they came, later on a busy machine. */
const leastWaitNs = 0.1e9;

/** Longest normal wait for the first batch: the loader starts, and its data may come from slow storage. */
const leastFirstWaitNs = 5e9;

/**
 * The trial, with a failure if it was aborted (for example at the end of the budget) while the loop had waited for a
 * batch for longer than the earlier waits explain. Batches before a hang are no result: a few that were made ahead look
 * like a fast loader.
 */
export function withOpenWait(trial: Trial): Trial {
  const { setting, arrivalsNs, aborted, endedNs, failure } = trial;
  if (!aborted || failure !== null || endedNs === undefined) return trial;
  const waitedNs = endedNs - (arrivalsNs.at(-1) ?? 0);
  if (waitedNs <= explainedWaitNs(arrivalsNs, cycleBatches(setting))) return trial;
  const further = arrivalsNs.length === 0 ? "" : "further ";
  return {
    ...trial,
    failure: {
      fault: "hang",
      message:
        `No ${further}batch had come for ${(waitedNs / 1e9).toPrecision(2)} s with ${describeSetting(setting)} when the trial ` +
        "was ended: the trial has no result.",
      hint: "A larger --budget shows whether the data set hangs or is slow; a wait ends after --timeout.",
      traceback: null,
      everywhere: false,
    },
  };
}

/** The longest wait that is normal after these arrivals. */
function explainedWaitNs(arrivalsNs: readonly number[], cycle: number): number {
  if (arrivalsNs.length === 0) return leastFirstWaitNs;
  // Within the first burst, only the loader's start predicts the wait for the next one.
  let longestNs = arrivalsNs.length <= cycle ? arrivalsNs[0]! : 0;
  for (let batch = 1; batch < arrivalsNs.length; ++batch) {
    longestNs = Math.max(longestNs, arrivalsNs[batch]! - arrivalsNs[batch - 1]!);
  }
  return Math.max(leastWaitNs, explainedFactor * longestNs);
}
