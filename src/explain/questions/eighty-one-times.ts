import type { Question, RunRequest } from "../question.js";
import { cellOf, figureText, isAtLeast, medianFigure, timeFigure } from "../run-figures.js";

/** The speed-up that an article claims. */
const claimedTimes = 81;

const request = {
  sizesBytes: [40e6],
  memory: ["pageable", "pinned"],
  directions: ["h2d"],
  workers: [1],
  samplesPerCell: 6,
} as const satisfies RunRequest;

/** Minimum number of samples for an interval of the median. */
const processes = 6;

export const eightyOneTimes: Question = {
  name: "81-times",
  title: "is pinned memory 81 times as fast?",
  claim:
    "In two processes, a pageable tensor of 40 MB takes 1.05 s to the GPU and a pinned one 0.013 s: 81 times as fast.",
  needs: "device",
  async answer(tools) {
    const startsNs: number[] = [];
    const copiesNs = { pageable: [] as number[], pinned: [] as number[] };
    for (let process = 0; process < processes; ++process) {
      tools.onActivity(`fresh process ${process + 1} of ${processes}`);
      const document = await tools.runInFreshProcess(request);
      const [start] = document.coldStart;
      if (start === undefined) throw new RangeError("a fresh process did not report its start time");
      startsNs.push(start.initNs + start.contextNs);
      for (const memory of request.memory) {
        copiesNs[memory].push(timeFigure("", cellOf(document, { memory })).value);
      }
    }
    const { pageable, pinned } = copiesNs;
    const ratio = (name: string, of: (process: number) => number) =>
      medianFigure(
        name,
        "ratio",
        pinned.map((ns, process) => of(process) / ns),
      );
    const start = medianFigure("starting CUDA: driver and context", "ns", startsNs);
    const gain = ratio("pinned copies are faster", (i) => pageable[i]!);
    const asTimed = ratio(
      "the same with the start counted to the pageable copy",
      (i) => startsNs[i]! + pageable[i]!,
    );
    return {
      holds: isAtLeast(gain, claimedTimes),
      summary: `Pinned copies are ${figureText(gain)} as fast; with the start of CUDA (${figureText(start)}) counted to the pageable copy they look ${figureText(asTimed)} as fast.`,
      figures: [
        start,
        medianFigure("then a pageable copy of 40 MB", "ns", pageable),
        medianFigure("then a pinned copy of 40 MB", "ns", pinned),
        ...[gain, asTimed],
      ],
    };
  },
};
