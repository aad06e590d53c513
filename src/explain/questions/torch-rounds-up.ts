import { againstRounding } from "../../pin/neighbour-report.js";
import { formatSizeRounded, MiB } from "../../settings/units.js";
import type { Conclusion, Question } from "../question.js";
import { figureText, isAtLeast, medianFigure, ratioFigure, verdictOf } from "../run-figures.js";
import type { TorchExperiments } from "../torch/program-messages.js";
import { answerOnGpu } from "../torch/torch-answer.js";

/** Sizes that no other experiment pins: torch would reuse the memory. All rounds together pin 288 MiB. */
const options = { bytes: 17 * MiB, evenBytes: 16 * MiB, rounds: 6 };

/** Rounding 17 MiB up to a power of two gives 1.88 times as much. */
const leastRatio = 1.5;

/** The verdict from what torch pinned for tensors above a power of two, and from the times of both sizes. */
export function concludeTorchRoundsUp(rounded: TorchExperiments["rounded"]["figures"]): Conclusion {
  const { bytes, evenBytes, pinned, hasStatistics } = rounded;
  const [size, evenSize] = [formatSizeRounded(bytes), formatSizeRounded(evenBytes)];
  const taken = medianFigure(
    `pinned for ${size}, over that size`,
    "ratio",
    pinned.map((held) => held / bytes),
  );
  const uneven = medianFigure(`torch.empty() of ${size}, pinned`, "ns", rounded.uneven);
  const even = medianFigure(`torch.empty() of ${evenSize}, pinned`, "ns", rounded.even);
  const longer = ratioFigure(`time of ${size} over that of ${evenSize}`, uneven, even);
  const isRounded = isAtLeast(taken, leastRatio);
  const amount = formatSizeRounded(Math.round(taken.value * bytes));
  return {
    verdict: verdictOf(isRounded),
    figures: [taken, uneven, even, longer],
    sentences: [
      `For a tensor of ${size} torch pins ${amount}, ${figureText(taken)} as much: ${
        isRounded === true
          ? `it rounds sizes up to a power of two. ${againstRounding}`
          : isRounded === false
            ? "it does not round up."
            : "the interval leaves open whether it rounds up."
      }`,
      `The tensor is there after ${figureText(uneven)}, one of ${evenSize} after ${figureText(even)}.`,
      hasStatistics
        ? "The amounts are those of torch.cuda.host_memory_stats()."
        : "This torch has no statistics of pinned memory: the amounts are the growth of the process' resident memory.",
    ],
  };
}

/** Whether torch pins more memory than a tensor has. */
export const torchRoundsUp: Question = {
  name: "torch-rounds-up",
  title: "does torch pin more memory than it is asked for?",
  claim: "The size of a pinned tensor is rounded up to a power of two by torch: 17 MiB take 32 MiB.",
  needs: "torch",
  mostMs: 20_000,
  answer: (tools) => answerOnGpu("torch-rounds-up", tools, "rounded", options, concludeTorchRoundsUp),
};
