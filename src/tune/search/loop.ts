import type { LoaderSetting, TrialRecord } from "../../results/tuning.js";
import { constants } from "./constants.js";
import { busyWorkers, type Deviation, type Score, scaled, uncertainty, waitingShare } from "./rate.js";

interface ScoredSetting {
  setting: LoaderSetting;
  trials: TrialRecord[];
  score: Score | null;
  count: number;
}

interface Loop extends ScoredSetting {
  score: Score;
  /** Time of the loop's own work per batch, without waiting. */
  bodyNs: number;
}

/**
 * Scores of a running job's settings with one common time for the loop's own work: a machine drifts more between trials
 * than loaders differ, and waits are timed separately. Loops that differ by more than that drift keep their own time,
 * as do pinned ones that may save copies.
 */
export function withCommonLoop(
  all: readonly ScoredSetting[],
  deviation: Deviation,
  { batchBytes, tolerance }: { batchBytes: number; tolerance: number },
): (Score | null)[] {
  const loops = all.map(loopOf);
  const isAlike = (one: Loop, other: Loop) => {
    const pair = [one, other].map(({ score, count }) => ({ score, trials: count }));
    const least = Math.min(one.count, other.count) < constants.turns ? constants.wander : 0;
    const most = Math.max(one.bodyNs, other.bodyNs);
    if (Math.abs(one.bodyNs - other.bodyNs) > Math.max(uncertainty(pair, deviation), least) * most)
      return false;
    if (one.setting.pinMemory === other.setting.pinMemory) return true;
    const copyNs = (1e9 * batchBytes) / constants.copyRate;
    return copyNs < tolerance * most || one.bodyNs < other.bodyNs === other.setting.pinMemory;
  };
  return loops.map((one, index) => {
    if (one === null) return all[index]!.score;
    const alike = loops.flatMap((other) => (other !== null && isAlike(one, other) ? other : []));
    const count = alike.reduce((sum, other) => sum + other.count, 0);
    const bodyNs = alike.reduce((sum, other) => sum + (other.count * other.bodyNs) / count, 0);
    const batchNs = 1e9 / one.score.batchesPerSecond;
    return scaled(one.score, batchNs / (batchNs - one.bodyNs + bodyNs));
  });
}

/** Null if nothing was measured, the wait is unknown, or workers are the limit: less work then means longer waits. */
function loopOf(one: ScoredSetting): Loop | null {
  const { setting, trials, score } = one;
  const waiting = waitingShare(one);
  if (score === null || waiting === null) return null;
  const busy = busyWorkers(score.batchesPerSecond, trials);
  if (busy === null || busy > setting.numWorkers / constants.workerSlack) return null;
  return { ...one, score, bodyNs: ((1 - waiting) * 1e9) / score.batchesPerSecond };
}
