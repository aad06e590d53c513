import { formatSize, KiB, MiB } from "../../settings/units.js";
import type { MeasuredFigure } from "../explanation.js";
import type { Conclusion, Question, RunRequest } from "../question.js";
import {
  cellOf,
  differenceFigure,
  durationText,
  figureText,
  isAtLeast,
  not,
  timeFigure,
  verdictOf,
} from "../run-figures.js";

/** 128 samples of 256 floats of 4 bytes. */
const articleBytes = 128 * KiB;

const request = {
  sizesBytes: [articleBytes, MiB, 4 * MiB, 16 * MiB],
  memory: ["pageable", "pinned"],
  directions: ["h2d"],
  workers: [1],
  modes: ["latency"],
  samplesPerCell: 100,
} as const satisfies RunRequest;

/** A short step: in a longer one a copy matters less. */
const stepNs = 1e6;
/** A smaller share of a step is not noticeable. */
const noticedShare = 0.05;

/** The time to copy one batch. */
export interface BatchOfSize {
  sizeBytes: number;
  pageable: MeasuredFigure;
  pinned: MeasuredFigure;
}

/** The verdict on the claim: the first batch is that of the article, the others are larger, ascending. */
export function concludeTooSmall(batches: readonly [BatchOfSize, ...BatchOfSize[]]): Conclusion {
  const told = batches.map(({ sizeBytes, pageable, pinned }) => {
    const saving = differenceFigure(`${formatSize(sizeBytes)}: pinned saves a batch`, pageable, pinned);
    return { sizeBytes, pageable, pinned, saving, matters: isAtLeast(saving, noticedShare * stepNs) };
  });
  const [article] = told;
  const { saving, matters, pageable, pinned } = article!;
  // All sizes from there on matter.
  const least = told[told.findLastIndex((one) => one.matters !== true) + 1];
  const bound = `${noticedShare * 100} % of a step of ${durationText(stepNs)}`;
  return {
    verdict: verdictOf(not(matters)),
    figures: [pageable, pinned, ...told.map((one) => one.saving)],
    sentences: [
      `A batch of ${formatSize(article!.sizeBytes)} takes ${figureText(pageable)} from pageable memory and ${figureText(pinned)} from pinned memory${
        isAtLeast(saving, 0) === true
          ? `: ${figureText(saving)} less`
          : isAtLeast(saving, 0) === false
            ? ": no less"
            : "; these intervals show no difference"
      }.`,
      matters === true
        ? `That is more than ${bound}: even such a small batch gains.`
        : matters === false
          ? `That is below ${bound}, and less of a longer step: such a batch is too small to matter.`
          : `The interval leaves open whether that is ${bound}.`,
      least === undefined
        ? `Even a batch of ${formatSize(told.at(-1)!.sizeBytes)} does not save that much for certain.`
        : `From ${formatSize(least.sizeBytes)} on it is more for certain: ${figureText(least.saving)} a batch${least === told.at(-1) ? "" : ` there, ${figureText(told.at(-1)!.saving)} of ${formatSize(told.at(-1)!.sizeBytes)}`}.`,
    ],
  };
}

/** Whether batches can be too small for pinned memory to matter. */
export const tooSmall: Question = {
  name: "too-small",
  title: "are batches too small to gain from pinned memory?",
  claim:
    "Small data gain nothing: a batch of 128 samples of 256 floats (128 KiB) is as good from pageable memory.",
  needs: "device",
  mostMs: 15_000,
  async answer(tools) {
    const document = await tools.run(request);
    const batchOf = (sizeBytes: number): BatchOfSize => {
      const time = (memory: "pageable" | "pinned") => {
        const name = `${formatSize(sizeBytes)}: a ${memory} copy`;
        return timeFigure(name, cellOf(document, { memory, sizeBytes, mode: "latency" }));
      };
      return { sizeBytes, pageable: time("pageable"), pinned: time("pinned") };
    };
    const [first, ...larger] = request.sizesBytes;
    return {
      ...concludeTooSmall([batchOf(first), ...larger.map(batchOf)]),
      command: tools.commandFor(request),
    };
  },
};
