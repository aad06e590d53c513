import { MiB } from "../../settings/units.js";
import type { MeasuredFigure } from "../explanation.js";
import type { Conclusion, Question, RunRequest } from "../question.js";
import {
  allOf,
  cellOf,
  differenceFigure,
  figureText,
  isAtLeast,
  type Known,
  not,
  timeFigure,
  verdictOf,
} from "../run-figures.js";

const sizeBytes = 64 * MiB;
const chunks = 8;

const request = {
  sizesBytes: [sizeBytes],
  memory: ["pageable", "pinned"],
  directions: ["h2d"],
  workers: [1],
  pipelineChunks: [1, chunks],
  budgetNs: 3e9,
} as const satisfies RunRequest;

/** A batch from one kind of memory: the time of its copy, and of copy and kernels together. */
interface PipelineFigures {
  copy: MeasuredFigure;
  /** The batch in one piece: one after the other. */
  inTurn: MeasuredFigure;
  /** In chunks, each followed by its kernel in another stream. */
  inChunks: MeasuredFigure;
  /** Nominal time of all kernels together, in nanoseconds. */
  computeNs: number;
}

/**
 * Copies overlap if they hide at least the first share of what can be hidden, and do not if they hide less than the
 * second.
 */
const hiddenShare = { overlaps: 0.5, doesNot: 0.25 };

/** The verdict on the claim. */
export function concludeOverlap(figures: { pinned: PipelineFigures; pageable: PipelineFigures }): Conclusion {
  const pinned = tellKind("pinned", figures.pinned);
  const pageable = tellKind("pageable", figures.pageable);
  const parts = [
    { name: "pinned copies overlap", verdict: verdictOf(pinned.overlaps) },
    { name: "pageable copies overlap", verdict: verdictOf(pageable.overlaps) },
  ];
  return {
    verdict: verdictOf(allOf(pinned.overlaps, not(pageable.overlaps))),
    parts,
    figures: [...pinned.figures, ...pageable.figures],
    sentences: [
      pinned.sentence,
      pageable.sentence,
      ...(pinned.overlaps === true && pageable.overlaps === true
        ? ["So pageable copies overlap here too."]
        : []),
    ],
  };
}

function tellKind(memory: "pinned" | "pageable", { copy, inTurn, inChunks, computeNs }: PipelineFigures) {
  const saved = differenceFigure("", inTurn, inChunks);
  // The first chunk's copy and the last one's kernel cannot overlap with anything.
  const hideableNs = Math.min(copy.value, computeNs) * (1 - 1 / chunks);
  const shareOf = (ns: number) => ns / hideableNs;
  const hidden: MeasuredFigure = {
    name: `${memory}: hidden share of what could be hidden`,
    value: shareOf(saved.value),
    unit: "share",
    interval: saved.interval && { low: shareOf(saved.interval.low), high: shareOf(saved.interval.high) },
    samples: 0,
  };
  const overlaps: Known =
    isAtLeast(hidden, hiddenShare.overlaps) === true
      ? true
      : isAtLeast(hidden, hiddenShare.doesNot) === false
        ? false
        : null;
  const times = `${figureText(inTurn)} one after the other, ${figureText(inChunks)} in ${chunks} chunks`;
  const sentence =
    overlaps === true
      ? `From ${memory} memory, copies run at the same time as kernels: a batch takes ${times}.`
      : overlaps === false
        ? `From ${memory} memory, copies and kernels wait for each other: a batch takes ${times}.`
        : `The intervals leave open whether copies from ${memory} memory run at the same time as kernels: a batch takes ${times}.`;
  return { overlaps, figures: [copy, inTurn, inChunks, hidden], sentence };
}

/** Whether copies overlap with kernels. */
export const overlap: Question = {
  name: "overlap",
  title: "do asynchronous copies run at the same time as kernels?",
  claim:
    "An asynchronous copy from pinned memory runs during the computation on the batch before it; one from pageable memory does not.",
  needs: "device",
  mostMs: 20_000,
  async answer(tools) {
    const document = await tools.run(request);
    const figuresOf = (memory: "pinned" | "pageable"): PipelineFigures => {
      const cell = (count?: number) =>
        cellOf(document, { memory, sizeBytes, ...(count === undefined ? {} : { chunks: count }) });
      return {
        copy: timeFigure(`${memory}: the copy alone`, cell()),
        inTurn: timeFigure(`${memory}: copy and kernels in turn`, cell(1)),
        inChunks: timeFigure(`${memory}: in ${chunks} chunks`, cell(chunks)),
        computeNs: cell(chunks).computeNs!,
      };
    };
    const conclusion = concludeOverlap({ pinned: figuresOf("pinned"), pageable: figuresOf("pageable") });
    return { ...conclusion, command: tools.commandFor(request) };
  },
};
