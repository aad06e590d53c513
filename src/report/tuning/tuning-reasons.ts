import { describeSetting, settingKey } from "../../results/loader-setting.js";
import type { Recommendation, Tuning } from "../../results/tuning.js";
import { formatGBps, formatRatio, formatSetting, roundDown, roundUp } from "../format-number.js";
import { capital, counted } from "../wording.js";

/** Why the recommendation is what it is, in two sentences with numbers. */
export function tuningReasons(tuning: Tuning): string[] {
  const { recommendation } = tuning;
  if (recommendation === null) return [];
  const limit = capital(bottleneck(tuning, recommendation));
  return [gain(tuning, recommendation), `${limit}${pinning(tuning, recommendation)}.`];
}

/** What the recommended setting brings, against what the user has now. */
function gain({ probe, startingScore, method }: Tuning, { setting, score }: Recommendation): string {
  const rate = formatRate(score.batchesPerSecond);
  const own = probe.startingPoint;
  const isDefault = setting.numWorkers === 0 && !setting.pinMemory;
  if (own === null ? isDefault : settingKey(own) === settingKey(setting)) {
    const whose = own === null ? "DataLoader's defaults" : "Your DataLoader's own settings";
    return `${whose} (${describeSetting(setting)}) give ${rate} batches/s, and nothing else that was tried is worth a change.`;
  }
  const given = `${describeSetting(setting)}: ${rate} batches/s`;
  if (startingScore === null) return `${given}.`;
  const start = own ?? { ...setting, numWorkers: 0, pinMemory: false, prefetchFactor: null };
  const whose = own === null ? "with DataLoader's defaults" : "with your DataLoader's own settings";
  const ratio = score.batchesPerSecond / startingScore.batchesPerSecond;
  const saved = start.numWorkers - setting.numWorkers;
  const fewer = saved > 0 ? `, with ${counted(saved, "worker")} fewer` : "";
  const compared =
    Math.abs(ratio - 1) <= method.tolerance
      ? `as fast within ${formatSetting(method.tolerance)}${fewer}`
      : formatRatio(ratio);
  return `${given}, against ${formatRate(startingScore.batchesPerSecond)} ${whose} (${describeSetting(start)}): ${compared}.`;
}

function bottleneck(tuning: Tuning, recommendation: Recommendation): string {
  const { probe } = tuning;
  const step = besideStep(probe.stepNs, recommendation.score.batchesPerSecond);
  if (recommendation.limit === "step") return `${step}: the loader is not the limit`;
  const gives = `the loader gives ${formatGBps(recommendation.loaderGBps)} GB/s`;
  const takes =
    probe.link === null ? "" : `, the link takes ${formatGBps(probe.link.pinnedBytesPerSecond / 1e9)}`;
  return `${gives}${takes}: ${culprit(tuning, recommendation)}${step === "" ? "" : `; ${step}`}`;
}

/** "the data add 1.2 ms to a 70 ms step"; empty without a step. */
function besideStep(stepNs: number | null, batchesPerSecond: number): string {
  if (stepNs === null) return "";
  const step = `a ${formatMs(stepNs / 1e6)} step`;
  const addedNs = 1e9 / batchesPerSecond - stepNs;
  // Less than this is the step's own unevenness.
  return addedNs < 0.001 * stepNs
    ? `the data hide behind ${step}`
    : `the data add ${formatMs(addedNs / 1e6)} to ${step}`;
}

/** What keeps the loader from being faster, where that is not the step. */
function culprit(tuning: Tuning, { limit, setting, score }: Recommendation): string {
  const { numWorkers } = setting;
  /** ", and more of them bring less"; empty where no such number of workers was measured. */
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
      return "the transfer itself is the limit";
    case "workers":
      return `making samples is the limit; ${busyWorkers(tuning, numWorkers)}${others("more of them", numWorkers + 1)}`;
    case "process": {
      const every = formatMs(1e3 / score.batchesPerSecond);
      return `the training process makes the batches itself, one every ${every}${others("workers", 1)}`;
    }
    case "unknown":
      return "what the limit is cannot be told, as no batch was timed without workers";
    default:
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
 * "; with 16 workers pin_memory saves 0.4 ms a batch (a step takes 70 ms): it does not matter here". Nothing where it
 * was not measured.
 */
function pinning({ probe, method }: Tuning, { pinning, score, limit, setting }: Recommendation): string {
  if (probe.pinningOff !== null) return `; pinning was not tried: ${probe.pinningOff}`;
  if (pinning === null) return "";
  const { savedNsPerBatch, numWorkers } = pinning;
  const wholeMs = probe.stepNs === null ? 1e3 / score.batchesPerSecond : probe.stepNs / 1e6;
  const savedMs = Math.abs(savedNsPerBatch) / 1e6;
  const whole = `${probe.stepNs === null ? "one" : "a step"} takes ${formatMs(wholeMs)}`;
  const verb = savedNsPerBatch >= 0 ? "saves" : "costs";
  const isHidden = limit === "step" && !setting.pinMemory;
  const verdict = isHidden || savedMs < method.tolerance * wholeMs ? ": it does not matter here" : "";
  return `; with ${counted(numWorkers, "worker")} pin_memory ${verb} ${formatMs(savedMs)} a batch (${whole})${verdict}`;
}

/** Batches a second with three digits or so, rounded down. */
export function formatRate(batchesPerSecond: number): string {
  return roundDown(batchesPerSecond, batchesPerSecond >= 100 ? 0 : batchesPerSecond >= 10 ? 1 : 2);
}

/** "70 ms", "0.4 ms", "0.05 ms". */
function formatMs(ms: number): string {
  return `${Number(roundUp(ms, ms >= 10 ? 0 : ms >= 0.1 ? 1 : 3))} ms`;
}
