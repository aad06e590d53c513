import {
  formatHalfWidth,
  formatRatio,
  formatSetting,
  roundDown,
  roundUp,
  saysAnything,
} from "../../draw/numbers.js";
import { capital, counted } from "../../draw/words.js";
import { describeSetting, settingKey } from "../../results/loader-setting.js";
import type { LoaderSetting, Recommendation, Tuning, TuningScore } from "../../results/tuning.js";
import { median } from "../../stats/order-statistics.js";
import { waitingShare } from "../score.js";
import { overlapWorthWithoutStep } from "../search/choice.js";

/** Smallest gain that is reported. */
const leastGain = 1.01;

/** The gain of the recommended setting over the user's, as a sentence with both intervals. */
export function tuningGain(tuning: Tuning, recommendation: Recommendation): string {
  const { probe, startingScore } = tuning;
  const { setting, score } = recommendation;
  const persists = (one: LoaderSetting) => one.numWorkers > 0 && one.persistentWorkers;
  const describe = (one: LoaderSetting) =>
    describeSetting(one, probe.kind === "live" && own !== null && persists(own) !== persists(setting));
  const rate = rateWithInterval(score);
  const own = probe.startingPoint;
  const isDefault = setting.numWorkers === 0 && !setting.pinMemory;
  const waiting = waitingWords(tuning, setting);
  if (own === null ? isDefault : settingKey(own) === settingKey(setting)) {
    const whose = capital(startingOwner(tuning));
    return `${whose} (${describe(setting)}) give ${rate} batches/s, and no other tried setting is worth a change${waiting}.`;
  }
  const given = `${describe(setting)}: ${rate} batches/s`;
  const start = own ?? { ...setting, numWorkers: 0, pinMemory: false, prefetchFactor: null };
  const owned = `${startingOwner(tuning)} (${describe(start)})`;
  if (startingScore === null) return `${given}; there is no rate of ${owned} to compare with${waiting}.`;
  const against = `${rateWithInterval(startingScore)} with ${owned}`;
  return `${given}, against ${against}: ${claim(tuning, recommendation, start)}${waiting}.`;
}

/** The name of the settings that the result is compared with. */
export function startingOwner({ probe }: Tuning): string {
  if (probe.kind === "live") return "the script's own settings";
  return probe.startingPoint === null ? "DataLoader's defaults" : "your DataLoader's own settings";
}

/** The gain as far as its interval allows: "1.31× to 1.42×", "no difference is certain at ±6.2 %". */
function claim(
  { method, startingScore }: Tuning,
  { gain, setting, score }: Recommendation,
  start: LoaderSetting,
) {
  const { tolerance } = method;
  const ratio = gain?.ratio ?? score.batchesPerSecond / startingScore!.batchesPerSecond;
  const [low, high] = [gain?.low ?? null, gain?.high ?? null];
  if (low === null || high === null) return `about ${formatRatio(ratio)}, which was not measured again`;
  const half = (high - low) / 2 / ratio;
  const saved = start.numWorkers - setting.numWorkers;
  const fewer = saved > 0 ? `, with ${counted(saved, "worker")} fewer` : "";
  if (Math.abs(ratio - 1) <= tolerance && half <= tolerance) {
    return `as fast within ${formatSetting(tolerance)}${fewer}`;
  }
  if (low <= 1 && high >= 1) {
    const width = saysAnything(half) ? ` at ${formatHalfWidth(half)}` : "";
    return `no difference is certain${width}${fewer}`;
  }
  const range = [formatRatio(low), formatRatio(high, roundUp)];
  return `${range[0] === range[1] ? range[0] : range.join(" to ")}${fewer}`;
}

/**
 * The gain of a perfect loader for a running job that waited as under this setting, within epochs and at their start:
 * "a loader without any waits would make the job at most 1.23× as fast". Null if unknown.
 */
export function perfectLoader(tried: Tuning["tried"][number]): string | null {
  const waiting = waitingShare(tried);
  if (waiting === null || tried.score === null) return null;
  const turns = tried.trials.flatMap(({ epochTurns }) => epochTurns ?? []);
  const starts = turns.map(({ firstBatchNs, batches }) => firstBatchNs / batches);
  const startShare = starts.length === 0 ? 0 : (median(starts) * tried.score.batchesPerSecond) / 1e9;
  const most = 1 / (1 - Math.min(1, waiting + startShare));
  if (!Number.isFinite(most)) return null;
  if (most < leastGain) return "no loader would make the job notably faster";
  return `a loader without any waits would make the job at most ${formatRatio(most, roundUp)} as fast`;
}

/** For a running job, "; the loop waits 19 % of its time for data, then 1 %"; else "". */
function waitingWords({ probe, tried }: Tuning, setting: LoaderSetting): string {
  if (probe.kind !== "live") return "";
  const shareOf = (of: LoaderSetting | null) => {
    const one = tried.find((candidate) => of !== null && settingKey(candidate.setting) === settingKey(of));
    return one === undefined ? null : waitingShare(one);
  };
  const [before, then] = [shareOf(probe.startingPoint), shareOf(setting)];
  if (then === null) return "";
  const percent = (share: number) => (share < 0.01 ? "less than 1 %" : `${roundUp(100 * share, 0)} %`);
  const isSame = probe.startingPoint !== null && settingKey(probe.startingPoint) === settingKey(setting);
  return before === null || isSame
    ? `; the loop waits ${percent(then)} of its time for data`
    : `; the loop waits ${percent(before)} of its time for data, then ${percent(then)}`;
}

/**
 * A note on the choice between no workers and some, if it was measured without a step; null with one, or if nothing
 * depends on it.
 */
export function overlapAssumption(
  { probe, tried }: Tuning,
  { setting, score }: Recommendation,
): string | null {
  if (probe.stepNs !== null || probe.kind === "live") return null;
  const rateOf = (isOfInterest: (workers: number) => boolean) =>
    Math.max(
      0,
      ...tried.map((one) => (isOfInterest(one.setting.numWorkers) ? (one.score?.batchesPerSecond ?? 0) : 0)),
    );
  const least = formatRatio(overlapWorthWithoutStep);
  if (setting.numWorkers === 0) {
    const others = rateOf((workers) => workers > 0);
    if (others === 0) return null;
    return `Measured without a training step. Workers make batches during a step, so they are preferred unless 0 workers are over ${least} as fast. A step that blocks can still reverse this: try --step-time.`;
  }
  const without = rateOf((workers) => workers === 0);
  if (without < score.batchesPerSecond) return null;
  return `Measured without a training step: 0 workers bring ${formatRate(without)} batches/s here, but make none during a step that blocks, so workers are preferred unless 0 workers are over ${least} as fast.`;
}

/** "96.9 ±2.2 %"; without an open interval. */
function rateWithInterval({ batchesPerSecond, low, high }: TuningScore): string {
  const rate = formatRate(batchesPerSecond);
  if (low === null || high === null) return rate;
  return `${rate} ${formatHalfWidth((high - low) / 2 / batchesPerSecond)}`;
}

/** Batches a second with three digits or so, rounded down. */
export function formatRate(batchesPerSecond: number): string {
  return roundDown(batchesPerSecond, batchesPerSecond >= 100 ? 0 : batchesPerSecond >= 10 ? 1 : 2);
}
