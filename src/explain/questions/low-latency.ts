import { cellQuestion } from "../question.js";
import { figureText, isAtLeast, p99Figure, ratioFigure, timeFigure } from "../run-figures.js";

/** 3 x 224 x 224 floats of 4 bytes. */
const imageBytes = 3 * 224 * 224 * 4;

/** Smallest ratio that counts as faster. */
const faster = 1.05;

export const lowLatency = cellQuestion({
  name: "low-latency",
  title: "does one image arrive sooner if it is copied into pinned memory?",
  claim: "For inference at low latency, pin the image, then copy it: it reaches the GPU sooner.",
  request: {
    sizesBytes: [imageBytes],
    memory: ["pageable", "staged", "pinned"],
    directions: ["h2d"],
    workers: [1],
    modes: ["latency"],
    samplesPerCell: 500,
  },
  conclude(cell) {
    const names = {
      pageable: "from pageable memory",
      staged: "copied into a pinned buffer, then sent",
      pinned: "from pinned memory",
    } as const;
    const time = (memory: keyof typeof names) => timeFigure(names[memory], cell({ memory }));
    const [pageable, copiedFirst, pinned] = [time("pageable"), time("staged"), time("pinned")];
    const gain = ratioFigure("copying into pinned memory first is faster", pageable, copiedFirst);
    return {
      holds: isAtLeast(gain, faster),
      summary: `From pageable memory it arrives after ${figureText(pageable)}, copied into a pinned buffer first after ${figureText(copiedFirst)}, decoded into pinned memory after ${figureText(pinned)}.`,
      figures: [
        ...[pageable, copiedFirst, pinned],
        ...Object.entries(names).map(([memory, name]) =>
          p99Figure(`${name}: 99 of 100 within`, cell({ memory: memory as keyof typeof names })),
        ),
        gain,
      ],
    };
  },
});
