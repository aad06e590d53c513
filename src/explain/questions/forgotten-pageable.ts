import { torchQuestion } from "../question.js";
import { allOf, figureText, isAtLeast, not, ratioFigure } from "../run-figures.js";

/** A call waits for the kernels if it takes at least the first share of their time, and does not below the second. */
const waitsShare = 0.5;
const returnsShare = 0.1;

export const forgottenPageable = torchQuestion({
  name: "forgotten-pageable",
  title: "does one forgotten pageable copy wait for all queued kernels?",
  claim:
    "A copy from pageable memory returns only after all kernels queued before it, even with non_blocking=True: the CPU cannot run ahead.",
  times: {
    queue: "the queued kernels",
    pinned: "until a copy's call returns: 4 MiB pinned",
    pageable: "4 MiB pageable",
    labels: "2 KiB pageable",
  },
  conclude({ queue, pinned, pageable, labels }) {
    const pageableShare = ratioFigure("4 MiB pageable, over the kernels", pageable, queue, "share");
    const pinnedShare = ratioFigure("4 MiB pinned, over the kernels", pinned, queue, "share");
    return {
      holds: allOf(isAtLeast(pageableShare, waitsShare), not(isAtLeast(pinnedShare, returnsShare))),
      summary: `Behind kernels of ${figureText(queue)} the call of a copy returns after ${figureText(pageable)} from pageable memory (2 KiB: ${figureText(labels)}), and after ${figureText(pinned)} from pinned memory.`,
      figures: [queue, pinned, pageable, labels, pageableShare, pinnedShare],
    };
  },
});
