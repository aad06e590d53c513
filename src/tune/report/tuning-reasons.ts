import { formatBandwidth, formatWholeShare, roundUp } from "../../draw/numbers.js";
import { capital, counted } from "../../draw/words.js";
import { settingKey } from "../../results/loader-setting.js";
import type { Recommendation, Tuning } from "../../results/tuning.js";
import { median } from "../../stats/order-statistics.js";
import { readsStorage } from "../score.js";
import { overlapAssumption, perfectLoader, tuningGain } from "./tuning-gain.js";

/**
 * Reasons for the recommendation with figures: two sentences, and a third on its assumptions or, in a running job, on
 * the largest possible gain.
 */
export function tuningReasons(tuning: Tuning): string[] {
  const { recommendation } = tuning;
  if (recommendation === null) return [];
  const limit = capital(bottleneck(tuning, recommendation));
  const assumption = overlapAssumption(tuning, recommendation) ?? bestOfLoaders(tuning);
  return [
    tuningGain(tuning, recommendation),
    `${limit}${pinning(tuning, recommendation)}.`,
    ...workerTime(tuning, recommendation),
    ...spareTime(recommendation),
    ...(assumption === null ? [] : [assumption]),
    ...slowRank(tuning, recommendation),
    ...storageLimit(tuning, recommendation),
  ];
}

/** The largest possible gain of a running job over its own settings. */
function bestOfLoaders({ probe, tried }: Tuning): string | null {
  const own = probe.startingPoint;
  if (probe.kind !== "live" || own === null) return null;
  const start = tried.find(({ setting }) => settingKey(setting) === settingKey(own));
  const most = start === undefined ? null : perfectLoader(start);
  return most === null ? null : `With the script's own settings, ${most}.`;
}

/** Share of the storage rate from which storage is the limit. */
const fullStorageShare = 0.85;

/** "Storage gives at most 1.9 GB/s, the loader takes 1.7 GB/s: more workers gain nothing." */
function storageLimit(
  { storage, tried, probe, machine }: Tuning,
  { setting, score }: Recommendation,
): string[] {
  const chosen = tried.find((one) => settingKey(one.setting) === settingKey(setting));
  const taken = (chosen?.trials ?? []).flatMap((trial) => {
    // Workers were still reading at the end: these bytes have no batch yet.
    const batches = trial.arrivalsNs.length + setting.numWorkers;
    // A second epoch comes from the page cache.
    const isOneEpoch = probe.epochBatches === null || batches <= probe.epochBatches;
    return isOneEpoch && readsStorage(trial, probe) ? [trial.storageReadBytes! / batches] : [];
  });
  if (storage === undefined || taken.length === 0) return [];
  const takes = median(taken) * score.batchesPerSecond * machine.ranks;
  const verdict = takes < fullStorageShare * storage.bytesPerSecond ? "" : ": more workers gain nothing";
  return [
    `Storage gives at most ${formatBandwidth(storage.bytesPerSecond / 1e9)} (${counted(storage.threads, "thread")} that only read), the loader takes ${formatBandwidth(takes / 1e9)}${verdict}.`,
  ];
}

/** Mean times of a batch in a worker, in ns; `collate` is null if the data set makes whole batches. */
interface WorkerTime {
  numWorkers: number;
  make: number;
  collate: number | null;
  handOver: number;
}

/** The times of the recommended setting, or of the nearest number of workers; null if no worker was timed. */
function workerTimeOf({ tried }: Tuning, { setting }: Recommendation): WorkerTime | null {
  const known = tried.flatMap(({ setting: { numWorkers }, trials }) => {
    const timed = trials.filter(
      (trial) => trial.makeNsPerBatch !== null && trial.handOverNsPerBatch !== undefined,
    );
    if (numWorkers === 0 || timed.length === 0) return [];
    const middle = (of: "makeNsPerBatch" | "collateNsPerBatch" | "handOverNsPerBatch") => {
      const figures = timed.flatMap((trial) => trial[of] ?? []);
      return figures.length === 0 ? null : median(figures);
    };
    const [make, handOver] = [middle("makeNsPerBatch")!, middle("handOverNsPerBatch")!];
    return [{ numWorkers, make, collate: middle("collateNsPerBatch"), handOver }];
  });
  const distance = ({ numWorkers }: WorkerTime) => Math.abs(numWorkers - setting.numWorkers);
  return known.sort((a, b) => distance(a) - distance(b))[0] ?? null;
}

/** "With 4 workers, a batch takes a worker 120 ms: 95 ms samples, 20 ms collate, 5 ms hand-over." */
function workerTime(tuning: Tuning, recommendation: Recommendation): string[] {
  const time = workerTimeOf(tuning, recommendation);
  if (time === null) return [];
  const { numWorkers, make, collate, handOver } = time;
  const ms = (ns: number) => formatMs(Math.max(0, ns) / 1e6);
  const made =
    collate === null
      ? `${ms(make)} samples and collate together`
      : `${ms(make - collate)} samples, ${ms(collate)} collate`;
  const worker = numWorkers === 1 ? "the worker" : "a worker";
  return [
    `With ${counted(numWorkers, "worker")}, a batch takes ${worker} ${ms(make + handOver)}: ${made}, ${ms(handOver)} hand-over.`,
  ];
}

/** Why fewer workers that were as fast are not recommended. */
function spareTime({ fewerBusy }: Recommendation): string[] {
  if (fewerBusy === undefined) return [];
  const share = formatWholeShare(fewerBusy.busyShare);
  return [
    `${counted(fewerBusy.numWorkers, "worker")} were nearly as fast, but busy for ${share} of the time: whenever the machine is slower, the loop would wait for them.`,
  ];
}

/** Share of a worker's time from which a part is named as the limit. */
const dominantShare = 0.5;

/** "collate takes 60 % of a worker's time"; samples unless another part takes most of it. */
function dominantPart(tuning: Tuning, recommendation: Recommendation): string {
  const time = workerTimeOf(tuning, recommendation);
  const wholeNs = time === null ? 0 : time.make + time.handOver;
  const parts = { collate: time?.collate ?? 0, "the hand-over": time?.handOver ?? 0 };
  const [name, ns] = Object.entries(parts).find(([, ns]) => ns > dominantShare * wholeNs) ?? [];
  return name === undefined || ns === undefined
    ? "making samples is the limit"
    : `${name} takes ${Math.round((100 * ns) / wholeNs)} % of a worker's time`;
}

/** How many times the median rank's wait makes a rank delay all others. */
const longerByFactor = 2;
/** Smallest share of the time for a batch that delays others. */
const notableWaiting = 0.05;

function slowRank({ tried }: Tuning, { setting, score }: Recommendation): string[] {
  const chosen = tried.find((one) => settingKey(one.setting) === settingKey(setting));
  const waits = chosen?.trials.findLast(({ rankWaits }) => rankWaits !== undefined)?.rankWaits ?? [];
  if (waits.length < 2) return [];
  const share = (waitNs: number) => (waitNs * score.batchesPerSecond) / 1e9;
  const longest = waits.reduce((most, one) => (one.waitNs > most.waitNs ? one : most));
  const others = median(waits.filter((one) => one !== longest).map(({ waitNs }) => waitNs));
  if (share(longest.waitNs) < notableWaiting || longest.waitNs < longerByFactor * others) return [];
  const percent = (of: number) => `${roundUp(100 * share(of), 0)} %`;
  return [
    `Rank ${longest.rank} delays the others: it waits ${percent(longest.waitNs)} of the time for its data, the others ${percent(others)}.`,
  ];
}

function bottleneck(tuning: Tuning, recommendation: Recommendation): string {
  const { probe } = tuning;
  const step = besideStep(probe.stepNs, recommendation.score.batchesPerSecond);
  if (recommendation.limit === "step") {
    return probe.kind === "live"
      ? "the training step itself is the limit, not the loader"
      : `${step}: the loader is not the limit`;
  }
  const { epochs } = recommendation;
  if (recommendation.limit === "epochs" && epochs !== null) return betweenEpochs(epochs, recommendation);
  const gives = `the loader gives ${formatBandwidth(recommendation.loaderGBps)}`;
  const takes =
    probe.link === null
      ? ""
      : `, the link takes ${formatBandwidth(linkRate(probe.link, recommendation) / 1e9)}`;
  return `${gives}${takes}: ${culprit(tuning, recommendation)}${step === "" ? "" : `; ${step}`}`;
}

/** Bytes a second of the link, for copies of the recommended kind. */
const linkRate = (link: NonNullable<Tuning["probe"]["link"]>, { setting, limit }: Recommendation) =>
  setting.pinMemory || limit !== "link" ? link.pinnedBytesPerSecond : link.pageableBytesPerSecond;

/** "each epoch of 80 batches loses 0.25 s at its start: 20 % of this job's time". */
function betweenEpochs(epochs: NonNullable<Recommendation["epochs"]>, { score }: Recommendation): string {
  const { batches, betweenNs, firstBatchNs, isMeasured, share } = epochs;
  const seconds = (ns: number) => `${roundUp(ns / 1e9, 2)} s`;
  const lostNs = (share * batches * 1e9) / score.batchesPerSecond;
  const parts = `its first batch takes ${seconds(firstBatchNs)}${isMeasured ? "" : " (computed, not measured)"}`;
  const own = `and the script ${seconds(betweenNs)} between two epochs`;
  return `each epoch of ${counted(batches, "batch", "batches")} loses ${seconds(lostNs)} at its start: ${roundUp(100 * share, 0)} % of this job's time (${parts}, ${own})`;
}

/** "the data add 1.2 ms to a 70 ms step"; empty without a step. */
function besideStep(stepNs: number | null, batchesPerSecond: number): string {
  if (stepNs === null) return "";
  const step = `a ${formatMs(stepNs / 1e6)} step`;
  const addedNs = 1e9 / batchesPerSecond - stepNs;
  // A smaller addition is the step's own variation.
  return addedNs < 0.001 * stepNs
    ? `the data hide behind ${step}`
    : `the data add ${formatMs(addedNs / 1e6)} to ${step}`;
}

/** The loader's limit, if it is not the step. */
function culprit(tuning: Tuning, recommendation: Recommendation): string {
  const { limit, setting, score } = recommendation;
  const { numWorkers } = setting;
  /** ", and more of them bring less"; "" if no such number of workers was measured. */
  const others = (who: string, from: number) => {
    const rates = tuning.tried.flatMap((one) =>
      one.setting.numWorkers >= from && one.score !== null ? [one.score.batchesPerSecond] : [],
    );
    if (rates.length === 0) return "";
    const isLess = Math.max(...rates) < (1 - tuning.method.tolerance) * score.batchesPerSecond;
    return `, and ${who} bring ${isLess ? "less" : "hardly more"}`;
  };
  switch (limit) {
    case "link":
      return setting.pinMemory || tuning.probe.pinningOff !== null
        ? "the transfer itself is the limit"
        : "the transfer of batches that are not pinned is the limit";
    case "workers":
      return `${dominantPart(tuning, recommendation)}; ${busyWorkers(tuning, numWorkers)}${others("more of them", numWorkers + 1)}`;
    case "process": {
      const every = formatMs(1e3 / score.batchesPerSecond);
      return `the training process makes the batches itself, one every ${every}${others("workers", 1)}`;
    }
    case "unknown":
      return "the limit is not known, because making a batch was not timed there";
    default:
      // A running job's copies count as time of its loop.
      if (tuning.probe.kind === "live") {
        return "the loop waits for the hand-over of batches, not for the making of samples";
      }
      return numWorkers === 0
        ? "the training process takes longer to copy a batch than to make it"
        : "the hand-over of batches is the limit, not the transfer";
  }
}

/** "all 8 workers that 8 CPUs allow are busy". */
function busyWorkers({ machine, method }: Tuning, workers: number): string {
  const allowed = workers === method.maxWorkers ? ` that ${allowing(machine, workers)}` : "";
  return workers === 1 ? `the one worker${allowed} is busy` : `all ${workers} workers${allowed} are busy`;
}

function allowing({ usableCpus, ranks }: Tuning["machine"], workers: number): string {
  if (workers !== Math.max(1, Math.floor(usableCpus / ranks))) return "--max-workers allows";
  const cpus = `${counted(usableCpus, "CPU")} ${usableCpus === 1 ? "allows" : "allow"}`;
  return ranks === 1 ? cpus : `${cpus} each of ${ranks} ranks`;
}

/**
 * "; with 16 workers pin_memory saves 0.4 to 0.6 ms a batch (a step takes 70 ms): it does not matter here", as far as
 * its interval allows; "" if not measured.
 */
function pinning({ probe, method }: Tuning, { pinning, score, limit, setting }: Recommendation): string {
  if (probe.pinningOff !== null) return `; pinning was not tried: ${probe.pinningOff}`;
  if (pinning === null) return "";
  const { savedNsLow, savedNsHigh, numWorkers } = pinning;
  const wholeMs = probe.stepNs === null ? 1e3 / score.batchesPerSecond : probe.stepNs / 1e6;
  const whole = `${probe.stepNs === null ? "a batch" : "a step"} takes ${formatMs(wholeMs)}`;
  const workers = counted(numWorkers, "worker");
  const isHidden = limit === "step" && !setting.pinMemory;
  if (savedNsLow === null || savedNsHigh === null) {
    return `; too few batches arrived to show what pin_memory does with ${workers}`;
  }
  const ends = [savedNsLow / 1e6, savedNsHigh / 1e6] as const;
  const mostMs = Math.max(...ends.map(Math.abs));
  const verdict = isHidden || mostMs < method.tolerance * wholeMs ? ": it does not matter here" : "";
  if (savedNsLow < 0 && savedNsHigh > 0) {
    // If a running job's loop waited with fewer workers, that does not apply to the recommended number.
    if (probe.kind === "live" && numWorkers !== setting.numWorkers) return "";
    return `; with ${workers} pin_memory saves or costs less than ${formatMs(mostMs)} a batch (${whole})${verdict}`;
  }
  const [least, most] = ends
    .map((end) => formatMs(Math.abs(end)))
    .sort((a, b) => parseFloat(a) - parseFloat(b));
  const range = least === most ? most : `${least!.replace(" ms", "")} to ${most}`;
  const verb = savedNsLow >= 0 ? "saves" : "costs";
  return `; with ${workers} pin_memory ${verb} ${range} a batch (${whole})${verdict}`;
}

/** "70 ms", "0.4 ms", "0.05 ms". */
function formatMs(ms: number): string {
  return `${Number(roundUp(ms, ms >= 10 ? 0 : ms >= 0.1 ? 1 : 3))} ms`;
}
