import { MiB } from "../../settings/units.js";
import { cellQuestion } from "../question.js";
import { figureText, isAtLeast, not, rateFigure, ratioFigure } from "../run-figures.js";

/** Smallest ratio that is worth changing a program for. */
const worthwhileRatio = 1.1;

export const mappedWeights = cellQuestion({
  name: "mapped-weights",
  title: "are weights best copied straight out of the mapped file?",
  claim: "Weights load fastest straight out of their mapped file, as safetensors copies them.",
  request: {
    sizesBytes: [16 * MiB],
    memory: ["pageable", "pinned", "file", "file-registered"],
    directions: ["h2d"],
    workers: [1],
    samplesPerCell: 30,
  },
  conclude(cell) {
    const mapped = rateFigure("from a mapped file", cell({ memory: "file" }));
    const registered = rateFigure("from a registered mapping", cell({ memory: "file-registered" }));
    const pageable = rateFigure("from pageable memory", cell({ memory: "pageable" }));
    const pinned = rateFigure("from pinned memory", cell({ memory: "pinned" }));
    const gain = ratioFigure("registered against mapped", registered, mapped);
    return {
      holds: not(isAtLeast(gain, worthwhileRatio)),
      summary: `Out of a mapped file copies reach ${figureText(mapped)}, registered read-only ${figureText(registered)}. \`pinbench load\` prints the code.`,
      figures: [mapped, registered, pageable, pinned, gain],
    };
  },
});
