import type { MeasuredFigure } from "../explanation.js";
import { torchQuestion } from "../question.js";
import { allOf, figureText, isAtLeast, type Known, medianFigure, ratioFigure } from "../run-figures.js";

/** Smallest ratio that counts as faster. */
const faster = 1.1;

/** A speed-up is lost if at most this share of it remains. */
const leftOfLost = 0.2;

/** Whether a speed-up is lost; null if the intervals do not decide. */
function isSpeedUpLost(was: MeasuredFigure, is: MeasuredFigure): Known {
  if (was.interval === null || is.interval === null || was.interval.low <= 1) return null;
  const left = (now: number, before: number) => (now - 1) / (before - 1);
  if (left(is.interval.high, was.interval.low) <= leftOfLost) return true;
  return left(is.interval.low, was.interval.high) > leftOfLost ? false : null;
}

export const pinnedInAClass = torchQuestion({
  name: "pinned-in-a-class",
  title: "does a pinned tensor lose its speed in another process?",
  claim:
    "With the tensors inside a class that is handed to a process, pinned memory is only 1.01 times as fast as pageable memory, for an unknown cause.",
  times: {
    senderPinned: "sender: a pinned copy",
    senderPageable: "sender: a pageable copy",
    receiverPinned: "receiver: a pinned copy",
    receiverPageable: "receiver: a pageable copy",
  },
  conclude({ senderPinned, senderPageable, receiverPinned, receiverPageable }, rounds, facts) {
    const gain = ratioFigure("sender: pinned is faster", senderPageable, senderPinned);
    const gainThere = ratioFigure("receiver: pinned is faster", receiverPageable, receiverPinned);
    // Absent if CUDA refused to register the memory.
    const { registered: registeredNs } = rounds as { registered?: readonly number[] };
    const registered = registeredNs && medianFigure("receiver: a registered copy", "ns", registeredNs);
    const registering = registered
      ? `cudaHostRegister there brings a copy from ${figureText(receiverPinned)} to ${figureText(registered)}`
      : `cudaHostRegister is refused there (error ${facts.registerRefused})`;
    return {
      holds: allOf(isAtLeast(gain, faster), isSpeedUpLost(gain, gainThere)),
      summary: `A pinned copy is ${figureText(gain)} as fast in the sender and ${figureText(gainThere)} in the receiver, where is_pinned() is ${facts.isPinned ? "True" : "False"}; ${registering}.`,
      figures: [
        ...[senderPinned, senderPageable, gain, receiverPinned, receiverPageable, gainThere],
        ...(registered ? [registered] : []),
      ],
    };
  },
});
