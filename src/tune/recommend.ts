import type { Recommendation, TuningScore } from "../results/tuning.js";
import { cheapestWithin, type Measured } from "./choice.js";
import type { Score } from "./score.js";
import type { Trials, TriedSetting } from "./trials.js";

/** The cheapest of the fastest settings, and what its figures say about the machine; null where none was measured. */
export function recommend(trials: Trials): Recommendation | null {
  const chosen = cheapestWithin(trials.measured, trials.options.stopping.tolerance);
  if (chosen === null) return null;
  const { facts } = trials.probe;
  const { setting, score } = chosen;
  return {
    setting,
    score: toDocument(score),
    limit: limitOf(trials, chosen),
    loaderGBps: loaderGBps(score, facts.batch.bytes),
    dataShareOfStep: facts.stepNs === null ? null : dataShare(facts.stepNs, score),
    pinning: pinningAt(trials.tried, setting.numWorkers),
  };
}

/** The score as the document has it: an open end of its interval is null, as JSON has no infinity. */
export function toDocument({ batchesPerSecond, low, high, isSettled }: Score): TuningScore {
  const end = (value: number) => (Number.isFinite(value) && value > 0 ? value : null);
  return { batchesPerSecond, low: end(low), high: end(high), isSettled };
}

/** A step that takes this much of the time hides the data. */
const hiddenShare = 0.95;
/** A link with so little left to give is the limit. */
const fullLinkShare = 0.8;
/** Workers that bring so much of what they could make are at work all the time. */
const busyShare = 0.7;
/** Making batches is the limit where it takes this share of the time that the data take, or more. */
const mostOfTheTime = 0.5;

function limitOf(trials: Trials, { setting, score }: Measured): Recommendation["limit"] {
  const { stepNs, link, batch, device } = trials.probe.facts;
  if (stepNs !== null && 1 - dataShare(stepNs, score) >= hiddenShare) return "step";
  const bytesPerSecond = score.batchesPerSecond * batch.bytes;
  if (link !== null && bytesPerSecond >= fullLinkShare * link.pinnedBytesPerSecond) return "link";
  const makeNs = trials.makeNsPerBatch;
  if (makeNs === null) return "unknown";
  const batchNs = 1e9 / score.batchesPerSecond;
  if (setting.numWorkers === 0) {
    // Without a device there is nothing but making.
    const isMaking = device === null || makeNs >= mostOfTheTime * (batchNs - (stepNs ?? 0));
    return isMaking ? "process" : "hand-over";
  }
  return makeNs >= busyShare * setting.numWorkers * batchNs ? "workers" : "hand-over";
}

/** Of the time from one batch to the next, what the step alone would not take. */
function dataShare(stepNs: number, { batchesPerSecond }: Score): number {
  return Math.max(0, 1 - (stepNs * batchesPerSecond) / 1e9);
}

/** Pinned against not pinned with the count of workers nearest to `workers` for which both were measured. */
function pinningAt(tried: readonly TriedSetting[], workers: number): Recommendation["pinning"] {
  const pairs = tried.flatMap((pinned) => {
    if (!pinned.setting.pinMemory || pinned.score === null) return [];
    const { numWorkers, prefetchFactor } = pinned.setting;
    const twin = tried.find(
      ({ setting }) =>
        !setting.pinMemory && setting.numWorkers === numWorkers && setting.prefetchFactor === prefetchFactor,
    );
    if (!twin?.score) return [];
    const savedNsPerBatch = 1e9 / twin.score.batchesPerSecond - 1e9 / pinned.score.batchesPerSecond;
    return [{ numWorkers, savedNsPerBatch }];
  });
  const distance = (pair: { numWorkers: number }) => Math.abs(pair.numWorkers - workers);
  return pairs.sort((a, b) => distance(a) - distance(b))[0] ?? null;
}

/** GB/s (1e9 bytes) that arrive from the loader. */
export function loaderGBps(score: Score, batchBytes: number): number {
  return (score.batchesPerSecond * batchBytes) / 1e9;
}
