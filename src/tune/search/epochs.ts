import { settingKey } from "../../results/loader-setting.js";
import type { EpochTurn, LoaderSetting, Tried } from "../../results/tuning.js";
import { median } from "../../stats/order-statistics.js";
import type { Score } from "./rate.js";

/** Median costs of a running job's epochs under a setting. */
export interface EpochCost extends Omit<EpochTurn, "start"> {
  start: NonNullable<EpochTurn["start"]>;
  /** Whether an epoch began under this setting; if not, its start is computed from other settings. */
  isMeasured: boolean;
}

type SettingTrials = Pick<Tried, "setting" | "trials">;

const turnsOf = ({ trials }: SettingTrials) => trials.flatMap(({ epochTurns }) => epochTurns ?? []);

/** Whether each epoch starts workers. */
export const startsWorkers = ({ numWorkers, persistentWorkers }: LoaderSetting) =>
  numWorkers > 0 && !persistentWorkers;

/**
 * Cost of an epoch under a setting, tried or not. An epoch that starts no workers waits for one batch
 * (`makeNsPerBatch`). Workers start one after the other, so the wait grows in proportion to their number. Null if no
 * epoch began or the wait cannot be computed.
 */
export function epochCost(
  setting: LoaderSetting,
  tried: readonly SettingTrials[],
  makeNsPerBatch: number | null,
): EpochCost | null {
  const turns = tried.flatMap(turnsOf);
  if (turns.length === 0) return null;
  const middle = (of: readonly EpochTurn[], key: "batches" | "betweenNs" | "firstBatchNs") =>
    median(of.map((turn) => turn[key]));
  const same = tried.filter((one) => settingKey(one.setting) === settingKey(setting)).flatMap(turnsOf);
  const batches = Math.round(middle(turns, "batches"));
  if (same.length > 0) {
    // Includes the end of workers that are not persistent.
    const [betweenNs, firstBatchNs] = [middle(same, "betweenNs"), middle(same, "firstBatchNs")];
    return { batches, betweenNs, firstBatchNs, start: middleStart(same), isMeasured: true };
  }
  const makeNs = makeNsPerBatch ?? 0;
  const computed = (ns: number): EpochCost => {
    const betweenNs = middle(turns, "betweenNs");
    return { batches, betweenNs, firstBatchNs: ns, start: { batches: 1, ns }, isMeasured: false };
  };
  if (!startsWorkers(setting)) return computed(makeNs);
  const distance = (one: SettingTrials) => Math.abs(one.setting.numWorkers - setting.numWorkers);
  const [nearest] = tried
    .filter((one) => startsWorkers(one.setting) && turnsOf(one).length > 0)
    .sort((a, b) => distance(a) - distance(b));
  if (nearest === undefined) return null;
  const startNs = Math.max(0, middle(turnsOf(nearest), "firstBatchNs") - makeNs);
  return computed(makeNs + (startNs * setting.numWorkers) / nearest.setting.numWorkers);
}

/** Median start, over the turns with most observed batches: a trial may end in the middle of a start. */
function middleStart(turns: readonly EpochTurn[]): EpochCost["start"] {
  const starts = turns.map(({ start, firstBatchNs }) => start ?? { batches: 1, ns: firstBatchNs });
  const batches = Math.max(...starts.map((start) => start.batches));
  const whole = starts.filter((start) => start.batches === batches);
  return { batches, ns: median(whole.map(({ ns }) => ns)) };
}

/** The rate of the whole job, including the time between epochs. */
export function jobScore(score: Score, { batches, betweenNs, start }: EpochCost): Score {
  const lostNs = Math.max(0, betweenNs + start.ns - (1e9 * start.batches) / score.batchesPerSecond);
  const over = (rate: number) => batches / (batches / rate + lostNs / 1e9);
  const { batchesPerSecond, low, high, isSettled } = score;
  return {
    batchesPerSecond: over(batchesPerSecond),
    low: low > 0 ? over(low) : 0,
    high: Number.isFinite(high) ? over(high) : high,
    isSettled,
  };
}
