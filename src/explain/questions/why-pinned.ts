import { MiB } from "../../settings/units.js";
import { cellQuestion } from "../question.js";
import { allOf, figureText, isAtLeast, not, rateFigure, ratioFigure } from "../run-figures.js";

/** A pageable copy counts as fast as the CPU's own within these factors: the driver's slots and method differ. */
const sameSpeed = { least: 0.5, most: 1.25 };
/** Smallest ratio that counts as faster. */
const faster = 1.1;

export const whyPinned = cellQuestion({
  name: "why-pinned",
  title: "does pinned memory spare the CPU a copy?",
  claim:
    "The driver stages a pageable copy: the CPU copies it into a pinned buffer, from which it goes to the GPU. Pinned memory spares that.",
  request: {
    sizesBytes: [64 * MiB],
    memory: ["pageable", "staged", "pinned"],
    directions: ["h2d"],
    workers: [1],
    budgetNs: 1e9,
  },
  conclude(cell) {
    const pageable = rateFigure("pageable to the device", cell({ memory: "pageable" }));
    const byCpu = rateFigure("pageable into pinned slots, by the CPU", cell({ memory: "host" }));
    const staged = rateFigure("pageable to the device, staged by pinbench", cell({ memory: "staged" }));
    const pinned = rateFigure("pinned to the device", cell({ memory: "pinned" }));
    const toCpu = ratioFigure("pageable over the CPU's own copy", pageable, byCpu);
    const gain = ratioFigure("pinned over pageable", pinned, pageable);
    return {
      holds: allOf(
        isAtLeast(toCpu, sameSpeed.least),
        not(isAtLeast(toCpu, sameSpeed.most)),
        isAtLeast(gain, faster),
      ),
      summary: `The CPU fills pinned slots at ${figureText(byCpu)}, a pageable copy reaches ${figureText(pageable)}, a pinned one ${figureText(pinned)}.`,
      figures: [pageable, byCpu, staged, pinned, toCpu, gain],
    };
  },
});
