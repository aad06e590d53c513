import { describeSetting, settingKey } from "../../results/loader-setting.js";
import type { Recommendation, Tuning } from "../../results/tuning.js";
import { formatGBps, formatRatio, formatShare, roundDown, roundUp } from "../format-number.js";

/** Why the recommendation is what it is, in two sentences with numbers; one where there is no more to say. */
export function tuningReasons(tuning: Tuning): string[] {
  const { recommendation } = tuning;
  if (recommendation === null) return [];
  return [gain(tuning, recommendation), limit(tuning, recommendation)];
}

/** What it brings, against what the user has now. */
function gain({ probe, startingScore }: Tuning, { setting, score }: Recommendation): string {
  const rate = `${describeSetting(setting)}: ${formatRate(score.batchesPerSecond)} batches/s`;
  const own = probe.startingPoint;
  if (startingScore === null) return `${rate}.`;
  const start = own ?? { ...setting, numWorkers: 0, pinMemory: false, prefetchFactor: null };
  const what = own === null ? "with DataLoader's defaults" : "with your DataLoader's own settings";
  const isStart = own === null ? isDefault(setting) : settingKey(own) === settingKey(setting);
  if (isStart)
    return `${rate}, which is ${own === null ? "DataLoader's default" : "what your DataLoader has"}: nothing that was tried is worth a change.`;
  const ratio = score.batchesPerSecond / startingScore.batchesPerSecond;
  return `${rate}, against ${formatRate(startingScore.batchesPerSecond)} ${what} (${describeSetting(start)}): ${formatRatio(ratio)}.`;
}

function isDefault({ numWorkers, pinMemory }: Recommendation["setting"]): boolean {
  return numWorkers === 0 && !pinMemory;
}

function limit(tuning: Tuning, recommendation: Recommendation): string {
  return `${bottleneck(tuning, recommendation)}${pinning(tuning, recommendation)}.`;
}

function bottleneck({ probe, machine, method }: Tuning, recommendation: Recommendation): string {
  const { limit, loaderGBps, setting, score, dataShareOfStep } = recommendation;
  const batchMs = 1e3 / score.batchesPerSecond;
  const loader = `the loader gives ${formatGBps(loaderGBps)} GB/s`;
  const linked =
    probe.link === null
      ? loader
      : `${loader}, the link takes ${formatGBps(probe.link.pinnedBytesPerSecond / 1e9)}`;
  const step =
    probe.stepNs === null || dataShareOfStep === null
      ? ""
      : `The data add ${formatShare(dataShareOfStep)} to the time of a ${formatMs(probe.stepNs / 1e6)} step`;
  switch (limit) {
    case "step":
      return `${step}: the loader is not the limit`;
    case "link":
      return capital(`${linked}: the transfer itself is the limit`);
    case "workers":
      return capital(
        `${linked}: making samples is the limit, and ${setting.numWorkers === method.maxWorkers ? `all ${setting.numWorkers} workers that ${cpus(machine)} allow are` : "more workers would not help, as those are"} busy`,
      );
    case "process":
      return capital(
        `${linked}: the training process takes ${formatMs(batchMs)} to make and copy a batch, and handing over those of workers takes longer`,
      );
    case "hand-over":
      return capital(`${linked}: the hand-over of batches is the limit, not the transfer`);
  }
}

function cpus({ usableCpus, ranks }: Tuning["machine"]): string {
  return ranks === 1 ? `${usableCpus} CPUs` : `${usableCpus} CPUs for ${ranks} ranks`;
}

/** Of a step, or of the time for a batch; less than this matters to nobody. */
const matters = 0.01;

/** "; pin_memory saves 0.4 ms of a 70 ms step: it does not matter here". Nothing where it was not measured. */
function pinning({ probe, tried }: Tuning, { pinning, score, limit }: Recommendation): string {
  if (probe.pinningOff !== null) return `; pinning was not tried: ${probe.pinningOff}`;
  if (pinning === null || !tried.some(({ setting }) => setting.pinMemory)) return "";
  const { savedNsPerBatch, numWorkers } = pinning;
  const wholeMs = probe.stepNs === null ? 1e3 / score.batchesPerSecond : probe.stepNs / 1e6;
  const savedMs = Math.abs(savedNsPerBatch) / 1e6;
  const what =
    probe.stepNs === null ? `of ${formatMs(wholeMs)} for a batch` : `of a ${formatMs(wholeMs)} step`;
  const verb = savedNsPerBatch >= 0 ? "saves" : "costs";
  const verdict = savedMs < matters * wholeMs || limit === "step" ? ": it does not matter here" : "";
  return `; with ${numWorkers} worker${numWorkers === 1 ? "" : "s"} pin_memory ${verb} ${formatMs(savedMs)} ${what}${verdict}`;
}

export function formatRate(batchesPerSecond: number): string {
  return roundDown(batchesPerSecond, batchesPerSecond >= 100 ? 0 : batchesPerSecond >= 10 ? 1 : 2);
}

/** "70 ms", "0.4 ms", "0.05 ms". */
function formatMs(ms: number): string {
  return `${Number(roundUp(ms, ms >= 10 ? 0 : ms >= 0.1 ? 1 : 3))} ms`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
