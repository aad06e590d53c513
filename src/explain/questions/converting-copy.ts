import { torchQuestion } from "../question.js";
import { figureText, isAtLeast, ratioFigure } from "../run-figures.js";

/** Smallest ratio that counts as slower. */
const slower = 1.5;

export const convertingCopy = torchQuestion({
  name: "converting-copy",
  title: "is a copy that converts the dtype slower?",
  claim:
    "A copy that also converts the dtype loses the fast path: the CPU converts into pageable memory first. Copy, then convert on the GPU.",
  times: {
    plain: ".to(device)",
    converting: ".to(device, float32)",
    nonBlocking: ".to(device, float32, non_blocking=True)",
    after: ".to(device).to(float32)",
  },
  conclude({ plain, converting, nonBlocking, after }) {
    const loss = ratioFigure("converting in the copy over converting after it", converting, after);
    return {
      holds: isAtLeast(loss, slower),
      summary: `For 64 MiB of pinned float64 .to(device, float32) takes ${figureText(converting)}, .to(device).to(float32) ${figureText(after)}.`,
      figures: [plain, converting, nonBlocking, after, loss],
    };
  },
});
