import type { CellResult } from "../../results/cell-schema.js";
import type { PinningCost } from "../../settings/schema-parts.js";
import type { MeasuredFigure } from "../explanation.js";
import type { Conclusion, Question, RunRequest } from "../question.js";
import { cellOf, figureText, isAtLeast, ratioFigure, timeFigure, verdictOf } from "../run-figures.js";

/** 3 x 224 x 224 floats of 4 bytes. */
const imageBytes = 3 * 224 * 224 * 4;

const request = {
  sizesBytes: [imageBytes],
  memory: ["pageable", "staged", "pinned"],
  directions: ["h2d"],
  workers: [1],
  modes: ["latency"],
  samplesPerCell: 500,
} as const satisfies RunRequest;

/** The time of a copy: the median, and the time that 99 of 100 do not exceed. */
interface ImageTimes {
  typical: MeasuredFigure;
  p99: MeasuredFigure;
}

/** An image in pageable memory, one in pinned memory, and one that is first copied into pinned memory. */
interface LatencyFigures {
  pageable: ImageTimes;
  pinned: ImageTimes;
  copiedFirst: ImageTimes;
  /** Obtaining and freeing a new pinned buffer; null if unknown. */
  newBuffer: MeasuredFigure | null;
}

/** Smallest ratio that counts as faster. */
const sooner = 1.05;
const leastGain = `${Math.round((sooner - 1) * 100)} %`;

/** The verdict on the claim. */
export function concludeLowLatency({ pageable, pinned, copiedFirst, newBuffer }: LatencyFigures): Conclusion {
  const direct = ratioFigure("pinned memory is faster", pageable.typical, pinned.typical);
  const first = ratioFigure(
    "copying into pinned memory first is faster",
    pageable.typical,
    copiedFirst.typical,
  );
  const isDirectSooner = isAtLeast(direct, sooner);
  const isFirstSooner = isAtLeast(first, sooner);
  return {
    verdict: verdictOf(isFirstSooner),
    parts: [
      { name: "an image that is in pinned memory already", verdict: verdictOf(isDirectSooner) },
      { name: "one that is copied there first", verdict: verdictOf(isFirstSooner) },
    ],
    figures: [
      ...[pageable, pinned, copiedFirst].flatMap(({ typical, p99 }) => [typical, p99]),
      direct,
      first,
      ...(newBuffer === null ? [] : [newBuffer]),
    ],
    sentences: [
      `An image from pageable memory arrives after ${figureText(pageable.typical)} (99 of 100 within ${figureText(pageable.p99)}).`,
      `From pinned memory it takes ${figureText(pinned.typical)} (${figureText(pinned.p99)}): ${
        isDirectSooner === true
          ? "decoding directly into pinned memory gains."
          : isDirectSooner === false
            ? `less than ${leastGain} is gained.`
            : `the intervals leave open whether that is sooner by ${leastGain}.`
      }`,
      `Copied into a pinned buffer first and sent from there, it takes ${figureText(copiedFirst.typical)} (${figureText(copiedFirst.p99)}): ${
        isFirstSooner === true
          ? "sooner than with the driver's own copy."
          : isFirstSooner === false
            ? `the copy is made anyway, and less than ${leastGain} is gained.`
            : `the intervals leave open whether that is sooner by ${leastGain}.`
      }`,
      ...(newBuffer === null
        ? []
        : [
            `That is with a buffer kept for it: a new one for each image takes ${figureText(newBuffer)} more.`,
          ]),
    ],
  };
}

/** Whether one image arrives sooner when it is pinned. */
export const lowLatency: Question = {
  name: "low-latency",
  title: "does one image arrive sooner when it is pinned first?",
  claim: "For inference at low latency, pin the image, then copy it: it reaches the GPU sooner.",
  needs: "device",
  mostMs: 15_000,
  async answer(tools) {
    const document = await tools.run(request);
    const times = (name: string, memory: "pageable" | "pinned" | "staged"): ImageTimes => {
      const cell = cellOf(document, { memory, sizeBytes: imageBytes });
      return { typical: timeFigure(name, cell), p99: slowestOf(`${name}: 99 of 100 within`, cell) };
    };
    const costs = document.coldStart[0]?.pinning.find(({ sizeBytes }) => sizeBytes === imageBytes);
    return {
      ...concludeLowLatency({
        pageable: times("from pageable memory", "pageable"),
        pinned: times("from pinned memory", "pinned"),
        copiedFirst: times("copied into a pinned buffer, then sent", "staged"),
        newBuffer: costs?.pinned == null ? null : newBufferFigure(costs.pinned, costs.repetitions),
      }),
      command: tools.commandFor(request),
    };
  },
};

function newBufferFigure(
  { allocateNs, freeNs }: PinningCost,
  repetitions: number | null | undefined,
): MeasuredFigure {
  const value = allocateNs + freeNs;
  const name = "a new pinned buffer: obtained and given back";
  return { name, value, unit: "ns", interval: null, samples: repetitions ?? 1 };
}

function slowestOf(name: string, { stats: [stats] }: CellResult): MeasuredFigure {
  const { samples, latencyUs } = stats!;
  return { name, value: latencyUs!.p99 * 1e3, unit: "ns", interval: null, samples };
}
