import { settingKey } from "../results/loader-setting.js";
import type { EpochTurn, LoaderSetting, TrialRecord } from "../results/tuning.js";
import { median } from "../stats/order-statistics.js";
import type { Score } from "./score.js";

/** Medians of what epochs of a running job cost under a setting. */
export interface EpochCost extends Omit<EpochTurn, "start"> {
  start: NonNullable<EpochTurn["start"]>;
  /** Whether an epoch began under the setting; if not, its start is computed from other settings. */
  isMeasured: boolean;
}

interface Tried {
  setting: LoaderSetting;
  trials: readonly TrialRecord[];
}

const isStarting = ({ numWorkers, persistentWorkers }: LoaderSetting) => numWorkers > 0 && !persistentWorkers;

/**
 * Time without a batch in an epoch under a setting, tried or not. An epoch that starts no workers waits for
 * `makeNsPerBatch`, the time to make a batch. Workers start one after the other, so the wait for other numbers of
 * workers is computed in proportion. Null if no epoch began, or the wait cannot be computed.
 */
export function epochCost(
  setting: LoaderSetting,
  tried: readonly Tried[],
  makeNsPerBatch: number | null,
): EpochCost | null {
  const known = tried.map((one) => ({
    setting: one.setting,
    turns: one.trials.flatMap(({ epochTurns }) => epochTurns ?? []),
  }));
  const turns = known.flatMap((one) => one.turns);
  if (turns.length === 0) return null;
  const middle = (of: readonly EpochTurn[], key: "batches" | "betweenNs" | "firstBatchNs") =>
    median(of.map((turn) => turn[key]));
  const alike = known.filter((one) => isStarting(one.setting) === isStarting(setting));
  const own = alike.flatMap((one) => (one.setting.numWorkers === setting.numWorkers ? one.turns : []));
  const common = { batches: Math.round(middle(turns, "batches")), betweenNs: middle(turns, "betweenNs") };
  if (own.length > 0) {
    // Steps of a start and of an epoch's end differ where batches are pinned, or more are made ahead.
    const key = settingKey(setting);
    const same = known.flatMap((one) => (settingKey(one.setting) === key ? one.turns : []));
    const seen = same.length > 0 ? same : own;
    // Workers that are not persistent also end between two epochs.
    const [betweenNs, firstBatchNs] = [middle(seen, "betweenNs"), middle(seen, "firstBatchNs")];
    const start = same.length > 0 ? middleStart(same) : { batches: 1, ns: firstBatchNs };
    return { ...common, betweenNs, firstBatchNs, start, isMeasured: true };
  }
  const computed = (firstBatchNs: number) => {
    const start = { batches: 1, ns: firstBatchNs };
    return { ...common, firstBatchNs, start, isMeasured: false };
  };
  const makeNs = makeNsPerBatch ?? 0;
  if (!isStarting(setting)) return computed(makeNs);
  const distance = (one: Tried | (typeof alike)[0]) => Math.abs(one.setting.numWorkers - setting.numWorkers);
  const nearest = alike.filter((one) => one.turns.length > 0).sort((a, b) => distance(a) - distance(b))[0];
  if (nearest === undefined) return null;
  const startNs = Math.max(0, middle(nearest.turns, "firstBatchNs") - makeNs);
  return computed(makeNs + (startNs * setting.numWorkers) / nearest.setting.numWorkers);
}

/** Of the turns whose start was seen longest: a trial may end in one. */
function middleStart(turns: readonly EpochTurn[]): EpochCost["start"] {
  const starts = turns.map(({ start, firstBatchNs }) => start ?? { batches: 1, ns: firstBatchNs });
  const batches = Math.max(...starts.map((start) => start.batches));
  const whole = starts.filter((start) => start.batches === batches);
  return { batches, ns: median(whole.map(({ ns }) => ns)) };
}

/** Time of an epoch minus that of its batches in the steady state. */
function lostNs({ betweenNs, start }: EpochCost, score: Score): number {
  return Math.max(0, betweenNs + start.ns - (1e9 * start.batches) / score.batchesPerSecond);
}

/** The rate of the whole job: an epoch's batches over its time, the time between two epochs included. */
export function jobScore(score: Score, cost: EpochCost): Score {
  const lost = lostNs(cost, score);
  const over = (rate: number) => cost.batches / (cost.batches / rate + lost / 1e9);
  const { batchesPerSecond, low, high, isSettled } = score;
  return {
    batchesPerSecond: over(batchesPerSecond),
    low: low > 0 ? over(low) : 0,
    high: Number.isFinite(high) ? over(high) : high,
    isSettled,
  };
}
