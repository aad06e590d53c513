import { torchQuestion } from "../question.js";
import { figureText, isAtLeast, ratioFigure } from "../run-figures.js";

/** Smallest ratio that counts as faster. */
const faster = 1.05;

export const pinningInTheLoop = torchQuestion({
  name: "pinning-in-the-loop",
  title: "does pin_memory() in the training loop make copies faster?",
  claim: "Calling pin_memory() on each batch before its copy makes the loop faster.",
  times: {
    pageable: "batch.to(device)",
    eachTime: "batch.pin_memory().to(device)",
    kept: "pinned.copy_(batch).to(device)",
    before: "pinned.to(device)",
  },
  conclude({ pageable, eachTime, kept, before }) {
    const gain = ratioFigure("pin_memory() in the loop is faster", pageable, eachTime);
    return {
      holds: isAtLeast(gain, faster),
      summary: `A batch of 64 MiB takes ${figureText(eachTime)} with pin_memory() and ${figureText(pageable)} without, ${figureText(kept)} through a kept pinned buffer, ${figureText(before)} if it was pinned before.`,
      figures: [pageable, eachTime, kept, before, gain],
    };
  },
});
