import { counted } from "../../draw/words.js";
import { torchQuestion } from "../question.js";
import { figureText, isAtLeast, ratioFigure } from "../run-figures.js";

/** Smallest ratio of batch times that counts as slower. */
const slower = 1.03;

export const tooManyWorkers = torchQuestion({
  name: "too-many-workers",
  title: "do too many workers make a DataLoader slower?",
  claim:
    "As many workers as there are CPU cores is a rule of thumb; with too many they compete, and loading becomes slower: measure.",
  times: {
    none: "a batch without workers",
    half: "with half as many workers as CPUs",
    each: "with a worker for each CPU",
    twice: "with two for each CPU",
  },
  conclude({ none, half, each, twice }, _, { cpus }) {
    const best = [none, half, each].reduce((a, b) => (b.value < a.value ? b : a));
    const loss = ratioFigure("two for each CPU over the best with fewer", twice, best);
    return {
      holds: isAtLeast(loss, slower),
      summary: `On ${counted(Number(cpus), "CPU")} a batch takes ${figureText(twice)} with two workers for each, ${figureText(each)} with one, ${figureText(half)} with half as many, ${figureText(none)} without. For your data, ask pinbench tune.`,
      figures: [none, half, each, twice, loss],
    };
  },
});
