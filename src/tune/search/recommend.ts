import { settingKey } from "../../results/loader-setting.js";
import type { LoaderSetting, ProbeRecord, Recommendation } from "../../results/tuning.js";
import { choose, type Measured } from "./choice.js";
import { constants } from "./constants.js";
import { busyWorkers, closedEnd, toDocument, uncertainty, waitingShare } from "./rate.js";
import type { Trials } from "./trials.js";

/** The recommended setting with its figures; null if none was measured. */
export function recommend(trials: Trials): Recommendation | null {
  const { measured, startingPoint } = trials;
  const best = choose(measured, trials.rule, startingPoint);
  const checks = checksOf(trials);
  const isHeld = checks.length > 0;
  const allowed = measured.filter(
    ({ setting }) => !isHeld || setting.numWorkers === startingPoint.numWorkers,
  );
  const faster = choose(allowed, trials.rule, startingPoint);
  if (best === null || faster === null) return null;
  const start = startOf(trials);
  const isUndecided = start !== undefined && !isShown(faster, start);
  const chosen = isUndecided ? start : faster;
  const { setting, score } = chosen;
  return {
    setting,
    score: toDocument(score),
    limit: limitOf(trials, chosen),
    loaderGBps: (score.batchesPerSecond * trials.probe.facts.batch.bytes) / 1e9,
    gain: gainOf(trials, chosen),
    dataShareOfStep: dataShare(trials, chosen),
    pinning: pinningAt(trials, setting.numWorkers),
    epochs: trials.find(setting)?.epochs ?? null,
    // The rate of a data set that keeps samples rises as it fills, so nothing is known of the rest of the training.
    ...(isHeld && best.score.low > score.high && checks.every(({ check }) => check !== "keeps")
      ? {
          heldBack: {
            setting: best.setting,
            ratio: best.score.batchesPerSecond / score.batchesPerSecond,
          },
        }
      : {}),
    ...(isUndecided ? { undecided: { setting: faster.setting, score: toDocument(faster.score) } } : {}),
  };
}

/**
 * All problems found in a running job, by the hook's checks or by trials of workers. With any, the recommendation keeps
 * the script's number of workers.
 */
export function checksOf(trials: Trials): ProbeRecord["checks"] {
  const { facts } = trials.probe;
  if (facts.kind !== "live") return [];
  const unsent = trials.tried
    .flatMap((one) => one.trials.flatMap(({ failure }) => failure ?? []))
    .filter(({ fault }) => fault === "not-picklable")
    .map(({ message, hint }) => [message, hint].filter(Boolean).join(" "));
  const best = choose(trials.measured, trials.rule, trials.startingPoint);
  const misfit = best === null ? null : trials.memoryMisfit(best.setting);
  const memory = misfit === null ? [] : [`Memory would run out in the training: ${misfit}.`];
  return [
    ...facts.checks,
    ...unsent.slice(0, 1).map((message) => ({ check: "not-picklable", message }) as const),
    ...memory.map((message) => ({ check: "memory", message }) as const),
  ];
}

function startOf({ measured, startingPoint }: Trials): Measured | undefined {
  return measured.find(({ setting }) => settingKey(setting) === settingKey(startingPoint));
}

/**
 * Whether trials show that `faster` is better than the user's own setting. If either was tried only once, the
 * interval of `faster` must be above the other's. If both were repeated, the better rate counts.
 */
function isShown(faster: Measured, start: Measured): boolean {
  if (faster.setting === start.setting || Math.min(faster.trials, start.trials) > 1) return true;
  return faster.score.low > start.score.high;
}

function gainOf(trials: Trials, chosen: Measured): Recommendation["gain"] {
  const { rule } = trials;
  const start = startOf(trials);
  if (start === undefined || start.setting === chosen.setting) return null;
  const ratio = chosen.score.batchesPerSecond / start.score.batchesPerSecond;
  if (Math.min(chosen.trials, start.trials) < 2) return { ratio, low: null, high: null };
  const half = uncertainty([chosen, start], rule.deviation);
  return { ratio, low: closedEnd(ratio / (1 + half)), high: closedEnd(ratio * (1 + half)) };
}

function limitOf(trials: Trials, { setting, score }: Measured): Recommendation["limit"] {
  const { link, batch } = trials.probe.facts;
  const { precision, busyShare } = constants;
  const { numWorkers, pinMemory } = setting;
  const share = dataShare(trials, { setting, score });
  const tried = trials.find(setting);
  if ((tried?.epochs?.share ?? 0) >= Math.max(precision, share ?? 0)) return "epochs";
  if (share !== null && share <= precision) return "step";
  const linkRate = pinMemory ? link?.pinnedBytesPerSecond : link?.pageableBytesPerSecond;
  if (linkRate !== undefined && score.batchesPerSecond * batch.bytes >= busyShare * linkRate) return "link";
  if (numWorkers === 0) return "process";
  const busy = busyWorkers(score.batchesPerSecond, tried?.trials ?? []);
  if (busy === null) return "unknown";
  return busy >= busyShare * numWorkers ? "workers" : "hand-over";
}

/** Share of the time between batches that data takes, beyond the step or by waiting; null if unknown. */
function dataShare(trials: Trials, { setting, score }: Pick<Measured, "setting" | "score">): number | null {
  const { kind, stepNs } = trials.probe.facts;
  if (stepNs !== null) return Math.max(0, 1 - (stepNs * score.batchesPerSecond) / 1e9);
  const tried = kind === "live" ? trials.find(setting) : null;
  return tried === null ? null : waitingShare(tried);
}

/** Pinned and pageable rates at the number of workers nearest to `workers` with both measured. */
function pinningAt(trials: Trials, workers: number): Recommendation["pinning"] {
  const { measured } = trials;
  const twinKey = (setting: LoaderSetting) =>
    settingKey({ ...setting, pinMemory: false, nonBlocking: false });
  const pairs = measured.flatMap((pinned) => {
    const twin = measured.find(
      ({ setting }) => !setting.pinMemory && twinKey(setting) === twinKey(pinned.setting),
    );
    return pinned.setting.pinMemory && twin !== undefined ? [[pinned, twin] as const] : [];
  });
  const distance = ([{ setting }]: (typeof pairs)[number]) => Math.abs(setting.numWorkers - workers);
  const nearest = pairs.sort((a, b) => distance(a) - distance(b))[0];
  if (nearest === undefined) return null;
  const [pinnedNs, twinNs] = nearest.map(({ score }) => 1e9 / score.batchesPerSecond) as [number, number];
  const [half, halfOfTwin] = nearest.map((one) => uncertainty([one], trials.rule.deviation));
  const halfNs = Math.hypot(pinnedNs * half!, twinNs * halfOfTwin!);
  const savedNsPerBatch = twinNs - pinnedNs;
  const isClosed = Number.isFinite(halfNs);
  return {
    numWorkers: nearest[0].setting.numWorkers,
    savedNsPerBatch,
    savedNsLow: isClosed ? savedNsPerBatch - halfNs : null,
    savedNsHigh: isClosed ? savedNsPerBatch + halfNs : null,
  };
}
