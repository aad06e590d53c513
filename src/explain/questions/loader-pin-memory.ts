import type { MeasuredFigure } from "../explanation.js";
import type { Conclusion, Question } from "../question.js";
import { durationText, figureText, isAtLeast, type Known, medianFigure, verdictOf } from "../run-figures.js";
import type { TorchExperiments } from "../torch/program-messages.js";
import { answerWithTorch, gpuHint, noGpu } from "../torch/torch-answer.js";

const options = { rows: 10_000, columns: 256, batch: 128, rounds: 25 };

/** An epoch that is shorter by this share counts as faster. */
const worthwhile = 0.02;

/**
 * The verdict from epochs of the loader, with and without pinning in turns; `gpuMissing` says why no batch was copied,
 * null if they were.
 */
export function concludeLoaderPinMemory(
  { batches, pinned, unpinned, uncopied }: TorchExperiments["loader"]["figures"],
  gpuMissing: string | null,
): Conclusion {
  const making = medianFigure("an epoch without copying", "ns", uncopied);
  if (gpuMissing !== null || pinned.length === 0) {
    return {
      verdict: "inconclusive",
      figures: [making],
      sentences: [
        `Making the ${batches} batches of an epoch takes ${figureText(making)}, ${durationText(making.value / batches)} each, without copying any.`,
        noGpu(gpuMissing ?? "no batch was copied"),
        gpuHint,
      ],
    };
  }
  const withPinning = medianFigure("an epoch with pin_memory", "ns", pinned);
  const without = medianFigure("an epoch without pin_memory", "ns", unpinned);
  // Differences within each round, whose epochs ran one after the other.
  const savedNs = unpinned.map((ns, round) => (ns - pinned[round]!) / batches);
  const saved = medianFigure("saved by pinning, a batch", "ns", savedNs);
  const gain = medianFigure(
    "saved by pinning, of an epoch",
    "share",
    unpinned.map((ns, round) => (ns - pinned[round]!) / ns),
  );
  const copying = medianFigure(
    "copying, of an epoch without pin_memory",
    "share",
    unpinned.map((ns, round) => (ns - uncopied[round]!) / ns),
  );
  const isGain = isAtLeast(gain, worthwhile);
  const { rows, columns, batch } = options;
  const kibibytes = (batch * columns * 4) / 1024;
  return {
    verdict: verdictOf(isGain),
    figures: [withPinning, without, making, saved, gain, copying],
    sentences: [
      `An epoch over ${grouped(rows)} rows of ${columns} floats, in ${batches} batches of ${kibibytes} KiB, takes ${figureText(withPinning)} with pin_memory and ${figureText(without)} without.`,
      savedText(saved, isGain),
      isAtLeast(copying, 0) === true
        ? `Copying is ${figureText(copying)} of an epoch without pin_memory; the rest is the making of batches in Python, which pinning cannot shorten.`
        : "Copying takes no measurable part of an epoch without pin_memory: the time goes into making batches in Python, which pinning cannot shorten.",
    ],
  };
}

/** The effect of pinning on a batch, as far as the intervals show it. */
function savedText(saved: MeasuredFigure, isGain: Known): string {
  const each = durationText(Math.abs(saved.value));
  const isSaved = isAtLeast(saved, 0);
  const bound = `${worthwhile * 100} %`;
  if (isGain === true) return `That saves ${each} a batch: pinning pays off even for batches this small.`;
  if (isGain === null) {
    return isSaved === true
      ? `That saves ${each} a batch; the interval leaves open whether it is ${bound} of it.`
      : "The interval leaves open whether that saves or costs anything.";
  }
  const change =
    isSaved === null
      ? `The difference is too small to measure, and less than ${bound}`
      : isSaved
        ? `That saves ${each} a batch, less than ${bound} of it`
        : `That costs ${each} a batch`;
  return `${change}: batches this small gain nothing.`;
}

/** "10 000". */
function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, " ");
}

/** Whether a DataLoader's pin_memory makes a loop over small batches faster. */
export const loaderPinMemory: Question = {
  name: "loader-pin-memory",
  title: "does pin_memory make a DataLoader of small batches faster?",
  claim:
    "A DataLoader is faster with pin_memory=True: measured over 10 000 rows of 256 floats, in batches of 128.",
  needs: "torch",
  mostMs: 30_000,
  answer: (tools) =>
    answerWithTorch("loader-pin-memory", tools, async () => {
      const { gpuMissing } = await tools.torch.facts(tools.signal);
      return concludeLoaderPinMemory(await tools.torch.measure("loader", options, tools.signal), gpuMissing);
    }),
};
