import { MiB } from "../../settings/units.js";
import { cellQuestion } from "../question.js";
import {
  allOf,
  differenceFigure,
  figureText,
  isAtLeast,
  not,
  shareFigure,
  timeFigure,
} from "../run-figures.js";

const chunks = 8;

/** Copies overlap if at least the first share of the possible time is hidden, and do not below the second. */
const hiddenShare = { overlaps: 0.5, doesNot: 0.25 };

export const overlap = cellQuestion({
  name: "overlap",
  title: "do asynchronous copies run at the same time as kernels?",
  claim:
    "An asynchronous copy from pinned memory runs during the computation on the batch before it; one from pageable memory does not.",
  request: {
    sizesBytes: [64 * MiB],
    memory: ["pageable", "pinned"],
    directions: ["h2d"],
    workers: [1],
    pipelineChunks: [1, chunks],
    budgetNs: 3e9,
  },
  conclude(cell) {
    const batchFrom = (memory: "pinned" | "pageable") => {
      // In one piece, kernels follow the copy; in chunks, each chunk's kernels follow its copy, in another stream.
      const inTurn = timeFigure(`${memory}: copy and kernels in turn`, cell({ memory, chunks: 1 }));
      const pipeline = cell({ memory, chunks });
      const inChunks = timeFigure(`${memory}: in ${chunks} chunks`, pipeline);
      // The first chunk's copy and the last chunk's kernels cannot overlap.
      const copyNs = timeFigure("", cell({ memory })).value;
      const hideableNs = Math.min(copyNs, pipeline.computeNs!) * (1 - 1 / chunks);
      const saved = differenceFigure("", inTurn, inChunks);
      const hidden = shareFigure(`${memory}: hidden share of what could be hidden`, saved, hideableNs);
      return { hidden, figures: [inTurn, inChunks, hidden] };
    };
    const [pinned, pageable] = [batchFrom("pinned"), batchFrom("pageable")];
    return {
      holds: allOf(
        isAtLeast(pinned.hidden, hiddenShare.overlaps),
        not(isAtLeast(pageable.hidden, hiddenShare.doesNot)),
      ),
      summary: `Of what could be hidden behind kernels, pinned copies hide ${figureText(pinned.hidden)}, pageable ones ${figureText(pageable.hidden)}.`,
      figures: [...pinned.figures, ...pageable.figures],
    };
  },
});
