import type { MeasuredFigure } from "../explanation.js";
import { figureText } from "../figure-text.js";
import type { Conclusion, Question } from "../question.js";
import { isAtLeast, type Known, not, ratioFigure, verdictOf } from "../run-figures.js";
import { answerWithTorch } from "../torch/torch-answer.js";
import { tryWorkers, type WorkersRate, type WorkerTrials } from "../torch/worker-trials.js";

/** Below this share of the best rate, a number of workers is slower. */
const asFast = 0.97;

/** What the rates of numbers of workers make of the claim: true where the most of them are slower than the best. */
export function concludeTooManyWorkers({ cpus, rates, without }: WorkerTrials): Conclusion {
  const figures = rates.map(figureOf);
  const most = rates.at(-1);
  if (rates.length < 2 || most === undefined) {
    return {
      verdict: "cannot be told",
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
          : ["The best is as many workers as there are CPUs, as the rule of thumb has it."]
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

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
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
