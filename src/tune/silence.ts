import { describeSetting } from "../results/loader-setting.js";
import type { LoaderSetting, TrialFailure } from "../results/tuning.js";
import { doubled } from "../settings/units.js";

/**
 * Calls `isOver` after `silentMs`, unless the returned function is called before. If this process had no CPU, its late
 * timers run before it reads messages, so `isOver` waits for those.
 */
export function afterSilence(silentMs: number, isOver: () => void): () => void {
  let immediate: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    immediate = setImmediate(isOver);
  }, silentMs);
  return () => {
    clearTimeout(timer);
    clearImmediate(immediate);
  };
}

/** Failure of a trial without a batch for `timeoutNs`; `at` continues the message, `cause` precedes the remedy. */
export function hangFailure(
  setting: LoaderSetting,
  { batches, timeoutNs, at = "", cause = null, ...more }: HangFacts,
): TrialFailure {
  const message = `No ${batches === 0 ? "" : "further "}batch came within ${timeoutNs / 1e9} s with ${describeSetting(setting)}${at}.`;
  const remedy = `If a batch or a step really takes this long, use --timeout ${doubled(timeoutNs)}.`;
  const hint = cause === null ? remedy : `${cause} ${remedy}`;
  return { fault: "hang", message, hint, traceback: null, everywhere: false, ...more };
}

interface HangFacts extends Partial<Pick<TrialFailure, "traceback" | "everywhere">> {
  batches: number;
  timeoutNs: number;
  at?: string;
  cause?: string | null;
}
