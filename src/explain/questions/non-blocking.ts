import { formatSize, MiB } from "../../settings/units.js";
import type { MeasuredFigure } from "../explanation.js";
import type { Conclusion, Question } from "../question.js";
import { figureText, isAtLeast, type Known, medianFigure, not, verdictOf } from "../run-figures.js";
import type { TorchExperiments } from "../torch/program-messages.js";
import { answerOnGpu } from "../torch/torch-answer.js";

const options = { bytes: 64 * MiB, rounds: 15 };

/** A copy overlaps with the computation if at least this share of it is hidden. */
const overlapping = 0.5;
/** If less than this share is hidden, one runs after the other. */
const inTurn = 0.2;
/** A call that takes at least this share of its copy's time waits for the copy. */
const waiting = 0.5;

/** The verdict from the times of copies, of a computation, and of both together. */
export function concludeNonBlocking(overlap: TorchExperiments["overlap"]["figures"]): Conclusion {
  const { compute, pinnedCopy, pageableCopy } = overlap;
  const time = (name: string, timesNs: readonly number[]) => medianFigure(name, "ns", timesNs);
  // Shares within each round, whose parts ran one after the other.
  const share = (name: string, shareOf: (round: number) => number) =>
    medianFigure(
      name,
      "share",
      compute.map((_, round) => shareOf(round)),
    );
  const hidden = (name: string, copyNs: readonly number[], bothNs: readonly number[]) =>
    share(
      `${name}: hidden of the shorter`,
      (i) => (compute[i]! + copyNs[i]! - bothNs[i]!) / Math.min(compute[i]!, copyNs[i]!),
    );
  const pinned = copied("pinned", pinnedCopy, overlap.pinnedCall);
  const pageable = copied("pageable", pageableCopy, overlap.pageableCall);
  const computing = time("the computation alone", compute);
  const ways = {
    pinnedOne: way("pinned, one stream", pinnedCopy, overlap.pinnedOneStream),
    pinnedOwn: way("pinned, own stream", pinnedCopy, overlap.pinnedOwnStream),
    pageableOne: way("pageable, one stream", pageableCopy, overlap.pageableOneStream),
    pageableOwn: way("pageable, own stream", pageableCopy, overlap.pageableOwnStream),
  };
  const { pinnedOne, pinnedOwn, pageableOne, pageableOwn } = ways;
  return {
    verdict: verdictOf(pinnedOne.overlaps),
    parts: Object.values(ways).map(({ name, overlaps }) => ({ name, verdict: verdictOf(overlaps) })),
    figures: [
      ...[computing, pinned.whole, pinned.call, pageable.whole, pageable.call],
      ...Object.values(ways).flatMap(({ both, hiding }) => [both, hiding]),
    ],
    sentences: [
      `${callSentence(`.to(device, non_blocking=True) for ${formatSize(overlap.bytes)} of pinned memory`, pinned)}; ${callSentence("for pageable memory it", pageable)}.`,
      `In torch's one stream, as a training loop has it, a computation of ${figureText(computing)} and then a pinned copy take ${figureText(pinnedOne.both)}: ${howItRuns(pinnedOne)}.`,
      `In a stream of its own (torch.cuda.stream()) both take ${figureText(pinnedOwn.both)}: ${howItRuns(pinnedOwn)}.`,
      `From pageable memory both take ${figureText(pageableOne.both)} in one stream (${howItRuns(pageableOne)}) and ${figureText(pageableOwn.both)} in two (${howItRuns(pageableOwn)}).`,
      adviceOf(pinnedOne.overlaps, pinnedOwn.overlaps, pageableOwn.overlaps, {
        pinned: pinned.returnsEarly,
        pageable: pageable.returnsEarly,
      }),
    ],
  };

  function copied(name: string, copyNs: readonly number[], callNs: readonly number[]) {
    const part = share(`${name}: the call over its copy`, (i) => callNs[i]! / copyNs[i]!);
    return {
      whole: time(`${name}: a copy alone`, copyNs),
      call: time(`${name}: until its call returns`, callNs),
      returnsEarly: not(isAtLeast(part, waiting)),
    };
  }

  function way(name: string, copyNs: readonly number[], bothNs: readonly number[]): CopyWay {
    const hiding = hidden(name, copyNs, bothNs);
    return { name, both: time(`${name}: both`, bothNs), hiding, overlaps: isAtLeast(hiding, overlapping) };
  }
}

/** A copy and a computation together. */
interface CopyWay {
  name: string;
  both: MeasuredFigure;
  hiding: MeasuredFigure;
  overlaps: Known;
}

function callSentence(
  subject: string,
  { whole, call, returnsEarly }: { whole: MeasuredFigure; call: MeasuredFigure; returnsEarly: Known },
): string {
  const times = `${figureText(call)} of a copy that takes ${figureText(whole)}`;
  if (returnsEarly === null) return `${subject} returns after ${times}`;
  return returnsEarly
    ? `${subject} returns after ${times}, and does not wait`
    : `${subject} returns after ${times}: it waits for most of the copy`;
}

function howItRuns({ overlaps, hiding }: CopyWay): string {
  if (overlaps === null) return "the intervals leave open whether they overlap";
  const hidden = `with ${figureText(hiding)} of the shorter one hidden`;
  if (overlaps) return `they overlap, ${hidden}`;
  return isAtLeast(hiding, inTurn) === false ? "one runs after the other" : `they hardly overlap, ${hidden}`;
}

function adviceOf(
  pinnedOne: Known,
  pinnedOwn: Known,
  pageableOwn: Known,
  freesTheCpu: { pinned: Known; pageable: Known },
): string {
  if (pinnedOne === true) return "So non_blocking=True with pinned memory is enough for the two to overlap.";
  if (pinnedOne === null || pinnedOwn === null) return "So it is open whether they overlap here.";
  if (pinnedOwn === false) return "So no pinned copy overlaps with this computation here.";
  const stream = "So a copy needs a stream of its own to overlap";
  if (pageableOwn === null) return `${stream}; the intervals leave open whether it also needs pinned memory.`;
  return pageableOwn
    ? `${stream}, pinned or not${freesTheCpu.pageable === false ? "; but from pageable memory the call keeps the CPU for most of the copy" : ""}.`
    : `So a copy needs both to overlap: pinned memory and a stream of its own.${freesTheCpu.pinned === true ? " In one stream non_blocking=True only lets the CPU go on." : ""}`;
}

/** Whether non_blocking=True lets a copy overlap with a computation, for a torch user. */
export const nonBlocking: Question = {
  name: "non-blocking",
  title: "does non_blocking=True let a copy overlap with computing?",
  claim:
    "With non_blocking=True the next batch is copied to the GPU while the current one is being computed.",
  needs: "torch",
  mostMs: 30_000,
  answer: (tools) => answerOnGpu("non-blocking", tools, "overlap", options, concludeNonBlocking),
};
