import { describeSetting } from "../results/loader-setting.js";
import type { Trial } from "./loader-probe.js";
import { cycleBatches } from "./steady-state.js";

/** A wait that was cut off is explained where one of up to so many times less was seen before it. */
const explainedFactor = 10;

/** Shorter waits say nothing: arrivals are told some time after they came, later where the machine is busy. */
const leastWaitNs = 0.1e9;

/** Until the first batch a loader starts, and its data may come from slow storage: only then nothing is said of it. */
const leastFirstWaitNs = 5e9;

/**
 * The trial as it is, or with a failure where it was aborted (the budget was used, say) while the loop waited for a batch
 * for longer than the waits before explain. What came before a hang is no result: a few batches that were made ahead look
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

/** The longest wait that what came until then gives no reason to wonder about. */
function explainedWaitNs(arrivalsNs: readonly number[], cycle: number): number {
  if (arrivalsNs.length === 0) return leastFirstWaitNs;
  // Within the first burst there is no wait for the next one to go by, but for the loader's start.
  let longestNs = arrivalsNs.length <= cycle ? arrivalsNs[0]! : 0;
  for (let batch = 1; batch < arrivalsNs.length; ++batch) {
    longestNs = Math.max(longestNs, arrivalsNs[batch]! - arrivalsNs[batch - 1]!);
  }
  return Math.max(leastWaitNs, explainedFactor * longestNs);
}
