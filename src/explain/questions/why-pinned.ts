import { MiB } from "../../settings/units.js";
import type { MeasuredFigure } from "../explanation.js";
import type { Conclusion, Question, RunRequest } from "../question.js";
import {
  allOf,
  cellOf,
  figureText,
  isAtLeast,
  not,
  rateFigure,
  ratioFigure,
  verdictOf,
} from "../run-figures.js";

const request = {
  sizesBytes: [64 * MiB],
  memory: ["pageable", "staged", "pinned"],
  directions: ["h2d"],
  workers: [1],
  budgetNs: 1e9,
} as const satisfies RunRequest;

/** Rates of one thread to the device, in GB/s. */
interface StagingFigures {
  pageable: MeasuredFigure;
  /** Rate of the CPU's copies from pageable memory into pinned slots. */
  byCpu: MeasuredFigure;
  /** Rate through the same slots to the device. */
  staged: MeasuredFigure;
  pinned: MeasuredFigure;
}

/**
 * Within these factors a pageable copy is about as fast as the CPU's own; the driver has other slots and another way of
 * copying.
 */
const sameSpeed = { least: 0.5, most: 1.25 };
/** Smallest ratio at which a pinned copy counts as faster. */
const faster = 1.1;

/** The verdict on the claim. */
export function concludeWhyPinned(figures: StagingFigures): Conclusion {
  const { pageable, byCpu, staged, pinned } = figures;
  const toCpu = ratioFigure("pageable over the CPU's own copy", pageable, byCpu);
  const gain = ratioFigure("pinned over pageable", pinned, pageable);
  const isLikeCpu = allOf(isAtLeast(toCpu, sameSpeed.least), not(isAtLeast(toCpu, sameSpeed.most)));
  const isFaster = isAtLeast(gain, faster);
  return {
    verdict: verdictOf(allOf(isLikeCpu, isFaster)),
    figures: [pageable, byCpu, staged, pinned, toCpu, gain],
    sentences: [
      `A pageable copy reaches ${figureText(pageable)}; the CPU by itself copies into pinned memory at ${figureText(byCpu)}.`,
      isLikeCpu === true
        ? `This fits staging${isFaster === true ? ": the CPU's copy is the slow part, and the link waits for it" : ""}.`
        : isLikeCpu === false
          ? "The CPU copy is not the bottleneck here."
          : "The intervals leave open whether the CPU copy is the bottleneck.",
      `Staged by pinbench, through pinned slots of its own, it reaches ${figureText(staged)}.`,
      isFaster === false
        ? `A pinned copy needs no staging, and yet is hardly faster, if at all: ${figureText(pinned)}, ${figureText(gain)} the rate of a pageable one.`
        : isFaster === true
          ? `A pinned copy needs no staging: ${figureText(pinned)}, ${figureText(gain)} the rate of a pageable one.`
          : `A pinned copy reaches ${figureText(pinned)}, and the intervals leave open whether that is ${faster} times as fast as a pageable one.`,
    ],
  };
}

/** Why pinned memory is faster: makes the staging visible. */
export const whyPinned: Question = {
  name: "why-pinned",
  title: "why is a copy from pinned memory faster?",
  claim:
    "The driver stages a pageable copy: the CPU copies it into a pinned buffer, from which it goes to the GPU. Pinned memory spares that.",
  needs: "device",
  mostMs: 15_000,
  async answer(tools) {
    const document = await tools.run(request);
    const [sizeBytes] = request.sizesBytes;
    const rate = (name: string, memory: "pageable" | "host" | "staged" | "pinned") =>
      rateFigure(name, cellOf(document, { memory, sizeBytes }));
    const conclusion = concludeWhyPinned({
      pageable: rate("pageable to the device", "pageable"),
      byCpu: rate("pageable into pinned slots, by the CPU", "host"),
      staged: rate("pageable to the device, staged by pinbench", "staged"),
      pinned: rate("pinned to the device", "pinned"),
    });
    return { ...conclusion, command: tools.commandFor(request) };
  },
};
