import { fileURLToPath } from "node:url";
import { counted } from "../../draw/words.js";
import { describeSetting } from "../../results/loader-setting.js";
import type { Probe } from "../../tune/loader-probe.js";
import { cpusPerRank, type MachineLimits, machineLimits } from "../../tune/machine-limits.js";
import { usualStopping } from "../../tune/search/stopping.js";
import { openTorchProbe } from "../../tune/torch/torch-probe.js";
import { neverRuledOut, Trials } from "../../tune/trials.js";
import type { MeasuredFigure } from "../explanation.js";
import type { Conclusion, Question } from "../question.js";
import { figureText, isAtLeast, type Known, not, ratioFigure, verdictOf } from "../run-figures.js";
import { answerWithTorch } from "../torch/torch-answer.js";

/** A number of workers is slower if it is below this share of the best rate. */
const asFast = 0.97;

/** The verdict from the rates by number of workers: true if the largest number is slower than the best. */
export function concludeTooManyWorkers({ cpus, rates, without }: WorkerTrials): Conclusion {
  const figures = rates.map(figureOf);
  const most = rates.at(-1);
  if (rates.length < 2 || most === undefined) {
    return {
      verdict: "inconclusive",
      figures,
      sentences: ["There are no two numbers of workers to compare.", ...without],
    };
  }
  const best = fastest(rates);
  const bestOfFewer = fastest(rates.slice(0, -1));
  const share = ratioFigure(
    `${most.numWorkers} workers over ${bestOfFewer.numWorkers}`,
    figureOf(most),
    figureOf(bestOfFewer),
  );
  const isSlower = most.numWorkers > cpus ? not(isAtLeast(share, asFast)) : null;
  const rule = rates.find(({ numWorkers }) => numWorkers === cpus);
  return {
    verdict: verdictOf(isSlower),
    figures: [...figures, share],
    sentences: [
      `A DataLoader whose samples take some milliseconds of CPU each delivered most with ${counted(best.numWorkers, "worker")}: ${figureText(figureOf(best))}.`,
      mostSentence(most, cpus, share, isSlower),
      ...(rule === undefined || rule === best
        ? rule === undefined
          ? []
          : ["The best number of workers is the number of CPUs, as in the rule of thumb."]
        : [
            `As many workers as CPUs, ${cpus}, reach ${figureText({ value: rule.batchesPerSecond / best.batchesPerSecond, unit: "share" })} of that.`,
          ]),
      ...without,
      "For other data other numbers are best: `pinbench tune --torch FILE:NAME` finds them.",
    ],
  };
}

function mostSentence(most: WorkersRate, cpus: number, share: MeasuredFigure, isSlower: Known): string {
  const workers = counted(most.numWorkers, "worker");
  if (most.numWorkers <= cpus) {
    return `No more than ${workers} were tried, as many as there are CPUs: the effect of too many is not known.`;
  }
  const on = `With ${workers} on ${counted(cpus, "CPU")} the rate is ${figureText(share)} that of the best with fewer`;
  if (isSlower === null)
    return `${on}, and the intervals leave open whether that is slower by ${Math.round((1 - asFast) * 100)} % or more.`;
  return isSlower ? `${on}: they compete.` : `${on}: no sign of workers that slow each other down.`;
}

function fastest(rates: readonly WorkersRate[]): WorkersRate {
  return rates.reduce((best, one) => (one.batchesPerSecond > best.batchesPerSecond ? one : best));
}

function figureOf({ numWorkers, batchesPerSecond, low, high, batches }: WorkersRate): MeasuredFigure {
  const isKnown = low > 0 && Number.isFinite(high);
  return {
    name: counted(numWorkers, "worker"),
    value: batchesPerSecond,
    unit: "batches/s",
    interval: isKnown ? { low, high } : null,
    samples: batches,
  };
}

/** Whether more workers than CPUs make a DataLoader slower. */
export const tooManyWorkers: Question = {
  name: "too-many-workers",
  title: "do too many workers make a DataLoader slower?",
  claim:
    "As many workers as there are CPU cores is a rule of thumb; with too many they compete, and loading becomes slower: measure.",
  needs: "torch",
  mostMs: 30_000,
  answer: (tools) =>
    answerWithTorch("too-many-workers", tools, async () => {
      const { python } = tools.torch;
      return concludeTooManyWorkers(
        await tryWorkers(python, (count) => tools.onActivity(`${counted(count, "worker")}`), tools.signal),
      );
    }),
};

/** Samples that take a worker some milliseconds each; the path is the same in src/ and in dist/. */
export const workerSamples = `${fileURLToPath(new URL("../torch/program/worker_samples.py", import.meta.url))}:samples`;

/** The rate of a number of workers; the ends of the interval are 0 and infinity if unknown. */
export interface WorkersRate {
  numWorkers: number;
  batchesPerSecond: number;
  low: number;
  high: number;
  batches: number;
}

/** The trials of a DataLoader, by ascending number of workers. */
export interface WorkerTrials {
  /** CPUs that this process may use. */
  cpus: number;
  rates: WorkersRate[];
  /** Why other settings have no rate: "32 workers, not pinned: batches in flight need ...". */
  without: string[];
}

/** More take seconds to start on any machine. */
const mostWorkers = 128;
const batchSize = 8;
/** Longest time without progress: while torch and the samples are loaded, and before a batch comes. */
const openMostNs = 30e9;
const batchMostNs = 10e9;
const stopping = {
  ...usualStopping,
  mostTimedNs: 0.6e9,
  tolerance: neverRuledOut,
  mostNs: 6e9,
};
/** Settings take turns, so that a drift affects all alike, and a second trial can contradict the first. */
const passes = 2;

/** No workers, half as many as CPUs, as many, and twice as many. */
export function workersToTry(cpus: number): number[] {
  const counts = [0, Math.floor(cpus / 2), cpus, 2 * cpus].map((count) => Math.min(count, mostWorkers));
  return [...new Set(counts)];
}

/**
 * Has torch's DataLoader, in the user's Python, load samples with several numbers of workers, like `pinbench tune`.
 * Rejects with a PinbenchError, or with the signal's reason; no process is left then.
 */
async function tryWorkers(
  python: string,
  onTrial: (numWorkers: number) => void,
  signal: AbortSignal,
): Promise<WorkerTrials> {
  const probe = await openTorchProbe({
    ...{ torch: workerSamples, python, batchSize, timeoutNs: openMostNs, signal },
    ...{ step: null, rank: null, coldFolder: null },
    // pinbench may be installed in a folder that it cannot or must not write.
    environment: { PYTHONDONTWRITEBYTECODE: "1" },
  });
  try {
    return await runWorkerTrials(probe, machineLimits(1), onTrial, signal);
  } finally {
    await probe.close();
  }
}

/** The trials of an open loader. */
export async function runWorkerTrials(
  probe: Probe,
  limits: MachineLimits,
  onTrial: (numWorkers: number) => void,
  signal: AbortSignal,
): Promise<WorkerTrials> {
  const cpus = cpusPerRank(limits);
  const counts = workersToTry(cpus);
  const trials = new Trials(probe, {
    ...{ limits, stopping, timeoutNs: batchMostNs, signal },
    maxWorkers: counts.at(-1)!,
    onTrial: ({ numWorkers }) => onTrial(numWorkers),
  });
  for (let pass = 0; pass < passes; ++pass) {
    for (const count of pass % 2 === 0 ? counts : counts.toReversed()) {
      if (!trials.isOver) await trials.run(trials.settingOf(count, false));
    }
  }
  signal.throwIfAborted();
  const failed = trials.tried.flatMap(({ setting, trials: run }) => {
    const message = run.find(({ failure }) => failure !== null)?.failure?.message;
    return message === undefined ? [] : [`${describeSetting(setting)}: ${message}`];
  });
  const skipped = trials.skipped.map(({ setting, reason }) => `${describeSetting(setting)}: ${reason}.`);
  const rates = trials.measured.map(({ setting, score }) => {
    const { batchesPerSecond, low, high } = score;
    const record = trials.find(setting)!.trials;
    const batches = record.reduce((sum, { arrivalsNs }) => sum + arrivalsNs.length, 0);
    return { numWorkers: setting.numWorkers, batchesPerSecond, low, high, batches };
  });
  rates.sort((a, b) => a.numWorkers - b.numWorkers);
  return { cpus, rates, without: [...failed, ...skipped] };
}
