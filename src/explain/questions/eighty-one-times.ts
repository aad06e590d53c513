import type { ResultDocument } from "../../results/schema.js";
import { median } from "../../stats/order-statistics.js";
import type { MeasuredFigure } from "../explanation.js";
import type { Conclusion, Question, RunRequest } from "../question.js";
import { cellOf, digits, figureText, isAtLeast, medianFigure, verdictOf } from "../run-figures.js";

/** The article's number. */
const claimedTimes = 81;
const sizeBytes = 40e6;

const request = {
  sizesBytes: [sizeBytes],
  memory: ["pageable", "pinned"],
  directions: ["h2d"],
  workers: [1],
  samplesPerCell: 6,
} as const satisfies RunRequest;

/** The smallest number with an interval of the median. */
const processes = 6;

/** A fresh process: the time before its first copy, and the times of its copies, in nanoseconds. */
interface FreshProcess {
  initNs: number;
  contextNs: number;
  pageableNs: number;
  pinnedNs: number;
}

/** The verdict on the claim. */
export function concludeEightyOne(all: readonly FreshProcess[]): Conclusion {
  const figure = (name: string, unit: MeasuredFigure["unit"], of: (one: FreshProcess) => number) =>
    medianFigure(name, unit, all.map(of));
  const start = figure("starting CUDA: driver and context", "ns", (one) => one.initNs + one.contextNs);
  const pageable = figure("then a pageable copy of 40 MB", "ns", (one) => one.pageableNs);
  const pinned = figure("then a pinned copy of 40 MB", "ns", (one) => one.pinnedNs);
  const gain = figure("pinned copies are faster", "ratio", (one) => one.pageableNs / one.pinnedNs);
  const asTimed = figure(
    "the same with the start counted to the pageable copy",
    "ratio",
    (one) => (one.initNs + one.contextNs + one.pageableNs) / one.pinnedNs,
  );
  const holds = isAtLeast(gain, claimedTimes);
  const startShare = median(
    all.map((one) => (one.initNs + one.contextNs) / (one.initNs + one.contextNs + one.pageableNs)),
  );
  return {
    verdict: verdictOf(holds),
    figures: [start, pageable, pinned, gain, asTimed],
    sentences: [
      `Once a process has its context, a pageable copy of 40 MB takes ${figureText(pageable)} and a pinned one ${figureText(pinned)}: ${figureText(gain)} as fast${
        holds === false
          ? `, and not ${claimedTimes}`
          : holds === null
            ? `; the interval leaves open whether that is ${claimedTimes} or more`
            : ""
      }.`,
      `The first use of CUDA takes ${figureText(start)}, whatever is copied then.`,
      `If this start is timed with the pageable copy but not with the pinned one, pinned memory looks ${figureText(asTimed)} as fast: ${digits(startShare * 100)} % of that time is the start.`,
      holds === true
        ? "The difference comes from the copies."
        : "To compare two kinds of memory, copy once before the clock starts, in each process.",
    ],
  };
}

/** The origin of an article's factor of 81. */
export const eightyOneTimes: Question = {
  name: "81-times",
  title: "is pinned memory 81 times as fast?",
  claim:
    "In two processes, a pageable tensor of 40 MB takes 1.05 s to the GPU and a pinned one 0.013 s: 81 times as fast.",
  needs: "device",
  mostMs: 25_000,
  async answer(tools) {
    const all: FreshProcess[] = [];
    for (let process = 0; process < processes; ++process) {
      tools.onActivity(`fresh process ${process + 1} of ${processes}`);
      all.push(freshProcess(await tools.runInFreshProcess(request)));
    }
    return { ...concludeEightyOne(all), command: `${tools.commandFor(request)} --runs ${processes}` };
  },
};

function freshProcess(document: ResultDocument): FreshProcess {
  const [start] = document.coldStart;
  if (start === undefined) throw new RangeError("a fresh process did not report its start time");
  const copyNs = (memory: "pageable" | "pinned") =>
    sizeBytes / cellOf(document, { memory, sizeBytes }).stats[0]!.bandwidthGBps.median;
  return {
    initNs: start.initNs,
    contextNs: start.contextNs,
    pageableNs: copyNs("pageable"),
    pinnedNs: copyNs("pinned"),
  };
}
