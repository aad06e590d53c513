import { settingKey } from "../../results/loader-setting.js";
import type { LoaderSetting, Recommendation, TuningScore } from "../../results/tuning.js";
import { median } from "../../stats/order-statistics.js";
import { type Score, uncertainty, waitingShare } from "../score.js";
import { makeNsInProcess, type Trials } from "../trials.js";
import { cheapestWithin, type Measured } from "./choice.js";
import { chosenOf, workersBusyShare } from "./spare-workers.js";

/** The chosen setting with its facts on the machine; null if none was measured. */
export function recommend(trials: Trials): Recommendation | null {
  const { measured } = trials;
  const chosen = chosenOf(trials, measured);
  if (chosen === null) return null;
  const { setting, score } = chosen;
  return {
    setting,
    score: toDocument(score),
    limit: limitOf(trials, chosen),
    loaderGBps: loaderGBps(score, trials.probe.facts.batch.bytes),
    gain: gainOf(trials, chosen),
    dataShareOfStep: dataShare(trials, chosen),
    pinning: pinningAt(trials, setting.numWorkers),
    epochs: trials.find(setting)?.epochs ?? null,
    ...fewerBusy(trials, measured, setting),
  };
}

/** Fewer workers that were as fast, if they were not chosen because they have no time to spare. */
function fewerBusy(
  trials: Trials,
  measured: readonly Measured[],
  { numWorkers }: LoaderSetting,
): Pick<Recommendation, "fewerBusy"> {
  const cheapest = cheapestWithin(measured, trials.rule);
  if (cheapest === null || cheapest.setting.numWorkers === numWorkers) return {};
  const share = workersBusyShare(trials, cheapest.setting);
  return share === null
    ? {}
    : { fewerBusy: { numWorkers: cheapest.setting.numWorkers, busyShare: Math.min(1, share) } };
}

/** The document's score: an open end of its interval is null, because JSON has no infinity. */
export function toDocument({ batchesPerSecond, low, high, isSettled }: Score): TuningScore {
  return { batchesPerSecond, low: closedEnd(low), high: closedEnd(high), isSettled };
}

function closedEnd(value: number): number | null {
  return Number.isFinite(value) && value > 0 ? value : null;
}

function gainOf({ measured, rule, startingPoint }: Trials, chosen: Measured): Recommendation["gain"] {
  const start = measured.find(({ setting }) => settingKey(setting) === settingKey(startingPoint));
  if (start === undefined || settingKey(start.setting) === settingKey(chosen.setting)) return null;
  const ratio = chosen.score.batchesPerSecond / start.score.batchesPerSecond;
  if (Math.min(chosen.trials, start.trials) < 2) return { ratio, low: null, high: null };
  const half = Math.hypot(...[chosen, start].map((one) => uncertainty(one.score, one.trials, rule.spread)));
  return { ratio, low: closedEnd(ratio / (1 + half)), high: closedEnd(ratio * (1 + half)) };
}

/** Share of the time from which a step hides loading. */
const hiddenShare = 0.95;
/** Share of its rate from which the link is the limit. */
const fullLinkShare = 0.8;
/** Share of their possible rate from which workers are always busy. */
const busyShare = 0.7;
/** Share of the data's time from which making batches is the limit. */
const mostOfTheTime = 0.5;

function limitOf(
  trials: Trials,
  { setting, score }: Pick<Measured, "setting" | "score">,
): Recommendation["limit"] {
  const { kind, stepNs, link, batch, device } = trials.probe.facts;
  const share = dataShare(trials, { setting, score });
  const tried = trials.find(setting);
  if ((tried?.epochs?.share ?? 0) >= Math.max(1 - hiddenShare, share ?? 0)) return "epochs";
  if (share !== null && 1 - share >= hiddenShare) return "step";
  if (link !== null) {
    const linkRate = setting.pinMemory ? link.pinnedBytesPerSecond : link.pageableBytesPerSecond;
    if (score.batchesPerSecond * batch.bytes >= fullLinkShare * linkRate) return "link";
  }
  // As under this very setting, because the training process with its own threads may be faster than a worker.
  const known = (tried?.trials ?? []).flatMap(
    (trial) => (setting.numWorkers === 0 ? makeNsInProcess(trial) : trial.makeNsPerBatch) ?? [],
  );
  const makeNs = known.length === 0 ? null : median(known);
  // Without a timed worker: it is no faster than the training process, and may well be slower.
  const leastMakeNs = makeNs ?? trials.makeNsPerBatch;
  if (leastMakeNs === null) return "unknown";
  const batchNs = 1e9 / score.batchesPerSecond;
  if (setting.numWorkers === 0) {
    // Without a device only making takes time, and in a running job the loop waits for nothing else.
    const isMaking =
      device === null || kind === "live" || leastMakeNs >= mostOfTheTime * (batchNs - (stepNs ?? 0));
    return isMaking ? "process" : "hand-over";
  }
  if (leastMakeNs >= busyShare * setting.numWorkers * batchNs) return "workers";
  return makeNs === null ? "unknown" : "hand-over";
}

/** The data's share of the time between batches: added to the step, or waited for; null without a step. */
function dataShare(trials: Trials, { setting, score }: Pick<Measured, "setting" | "score">): number | null {
  const { kind, stepNs } = trials.probe.facts;
  if (stepNs !== null) return Math.max(0, 1 - (stepNs * score.batchesPerSecond) / 1e9);
  const tried = kind === "live" ? trials.find(setting) : null;
  return tried === null ? null : waitingShare(tried);
}

/** Pinned against pageable, at the number of workers nearest to `workers` with both measured. */
function pinningAt({ measured, rule }: Trials, workers: number): Recommendation["pinning"] {
  const known = measured.map((one) => {
    const meanNs = 1e9 / one.score.batchesPerSecond;
    return { ...one.setting, meanNs, halfNs: meanNs * uncertainty(one.score, one.trials, rule.spread) };
  });
  const pairs = known.flatMap((pinned) => {
    const twin = known.find(
      (one) =>
        !one.pinMemory &&
        one.numWorkers === pinned.numWorkers &&
        one.persistentWorkers === pinned.persistentWorkers &&
        one.prefetchFactor === pinned.prefetchFactor,
    );
    return pinned.pinMemory && twin !== undefined ? [{ pinned, twin }] : [];
  });
  const distance = ({ pinned }: { pinned: LoaderSetting }) => Math.abs(pinned.numWorkers - workers);
  const nearest = pairs.sort((a, b) => distance(a) - distance(b))[0];
  if (nearest === undefined) return null;
  const { pinned, twin } = nearest;
  const savedNsPerBatch = twin.meanNs - pinned.meanNs;
  const halfNs = Math.hypot(twin.halfNs, pinned.halfNs);
  const isClosed = Number.isFinite(halfNs);
  return {
    numWorkers: pinned.numWorkers,
    savedNsPerBatch,
    savedNsLow: isClosed ? savedNsPerBatch - halfNs : null,
    savedNsHigh: isClosed ? savedNsPerBatch + halfNs : null,
  };
}

/** GB/s (1e9 bytes) that arrive from the loader. */
export function loaderGBps(score: Score, batchBytes: number): number {
  return (score.batchesPerSecond * batchBytes) / 1e9;
}
