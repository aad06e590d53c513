import { formatSize, KiB, MiB } from "../../settings/units.js";
import type { MeasuredFigure } from "../explanation.js";
import { cellQuestion } from "../question.js";
import { differenceFigure, figureText, isAtLeast, not, ratioFigure, timeFigure } from "../run-figures.js";

/** The first is an article's batch: 128 samples of 256 floats of 4 bytes. */
const sizesBytes = [128 * KiB, MiB, 4 * MiB, 16 * MiB];

/** Smallest noticeable saving in ns: 5 % of a short step of 1 ms. */
const noticedNs = 0.05 * 1e6;

export const tooSmall = cellQuestion({
  name: "too-small",
  title: "is a small batch too small to gain from pinned memory?",
  claim: "Small data need no pinned memory: a batch of 128 samples of 256 floats (128 KiB) gains too little.",
  request: {
    sizesBytes,
    memory: ["pageable", "pinned"],
    directions: ["h2d"],
    workers: [1],
    modes: ["latency"],
    samplesPerCell: 100,
  },
  conclude(cell) {
    const batches = sizesBytes.map((sizeBytes) => {
      const size = formatSize(sizeBytes);
      const pageable = timeFigure(`${size}: a pageable copy`, cell({ memory: "pageable", sizeBytes }));
      const pinned = timeFigure(`${size}: a pinned copy`, cell({ memory: "pinned", sizeBytes }));
      return { size, pageable, pinned, saving: differenceFigure(`${size}: pinned saves`, pageable, pinned) };
    });
    const matters = (saving: MeasuredFigure) => isAtLeast(saving, noticedNs);
    const { pageable, pinned, saving } = batches[0]!;
    const standing = { true: "above", false: "below", null: "about" }[`${matters(saving)}`];
    // Smallest size from which on all sizes matter.
    const least = batches[batches.findLastIndex((one) => matters(one.saving) !== true) + 1];
    return {
      holds: not(matters(saving)),
      summary: `${figureText(ratioFigure("", pageable, pinned))}, ${figureText(saving)} a batch: ${standing} 5 % of a 1 ms step. ${
        least === undefined ? "No larger batch surely saves more" : `From ${least.size} on it is more`
      }.`,
      figures: [pageable, pinned, ...batches.map((one) => one.saving)],
    };
  },
});
