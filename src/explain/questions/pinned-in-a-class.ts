import { formatSize, MiB } from "../../settings/units.js";
import type { MeasuredFigure } from "../explanation.js";
import type { Conclusion, Question } from "../question.js";
import {
  allOf,
  figureText,
  isAtLeast,
  type Known,
  medianFigure,
  ratioFigure,
  verdictOf,
} from "../run-figures.js";
import type { TorchExperiments } from "../torch/program-messages.js";
import { answerOnGpu } from "../torch/torch-answer.js";

/** In another process, single pageable copies vary by a half, so many rounds are needed. */
const options = { bytes: 64 * MiB, rounds: 61 };

/** Smallest ratio that counts as faster. */
const faster = 1.1;

/** A speed-up is lost if at most this share of it is left. */
const leftOfLost = 0.2;

/** Whether a speed-up is lost; null if the intervals before and after do not show it. */
function isSpeedUpLost(was: MeasuredFigure, is: MeasuredFigure): Known {
  if (was.interval === null || is.interval === null) return null;
  const left = (now: number, before: number) => (now - 1) / (before - 1);
  if (was.interval.low <= 1) return null;
  if (left(is.interval.high, was.interval.low) <= leftOfLost) return true;
  return left(is.interval.low, was.interval.high) > leftOfLost ? false : null;
}

/** The verdict from the times of copies before and after a tensor was sent to another process. */
export function concludePinnedInAClass(sent: TorchExperiments["sent"]["figures"]): Conclusion {
  const rates = (name: string, timesNs: readonly number[]) =>
    medianFigure(
      name,
      "GB/s",
      timesNs.map((ns) => sent.bytes / ns),
    );
  const pinned = rates("sender: pinned", sent.parentPinned);
  const pageable = rates("sender: pageable", sent.parentPageable);
  const alone = rates("receiver: pinned", sent.childPinned);
  const inObject = rates("receiver: pinned, in an object", sent.childInObject);
  const sentPageable = rates("receiver: pageable, in an object", sent.childPageable);
  const gain = ratioFigure("sender: pinned over pageable", pinned, pageable);
  const gainThere = ratioFigure("receiver: pinned over pageable, in objects", inObject, sentPageable);
  const registered =
    sent.registerRefused === null ? rates("receiver: registered", sent.childRegistered) : null;
  const rise = registered && ratioFigure("receiver: registered over unregistered", registered, inObject);
  const isGained = isAtLeast(gain, faster);
  const isLost = isSpeedUpLost(gain, gainThere);
  return {
    verdict: verdictOf(allOf(isGained, isLost)),
    figures: [
      ...[pinned, pageable, gain, alone, inObject, sentPageable, gainThere],
      ...(registered === null ? [] : [registered, rise!]),
    ],
    sentences: [
      `In the process that pinned it, a tensor of ${formatSize(sent.bytes)} is copied to the GPU at ${figureText(pinned)}, ${figureText(gain)} the rate of a pageable one${
        isGained === false ? ": pinning gains nothing here, so nothing can be lost" : ""
      }.`,
      `In a receiving process, inside an object, it is copied at ${figureText(inObject)}, ${figureText(gainThere)} the rate of a pageable one: ${
        isLost === null
          ? "the intervals leave open whether the speed-up is lost"
          : isLost
            ? "the speed-up is lost"
            : `${figureText({ value: (gainThere.value - 1) / (gain.value - 1), unit: "share" })} of the speed-up is left`
      }.`,
      causeOf(sent, isLost, rise && isAtLeast(rise, faster)),
      registering(sent, registered, rise),
    ],
  };
}

/** The cause according to is_pinned(): certain if registering the memory restores the speed-up. */
function causeOf(sent: TorchExperiments["sent"]["figures"], isLost: Known, isBroughtBack: Known): string {
  const { isPinnedInChild, isPinnedInObject, isPinnedBefore, isPinnedAfter } = sent;
  if (!isPinnedBefore) return "is_pinned() is False even before it is sent: pinning it had no effect.";
  if (isPinnedInChild && isPinnedInObject) {
    return isLost === true
      ? "is_pinned() is True there, so this is not the cause."
      : "is_pinned() is True there: it has arrived pinned.";
  }
  const which =
    isPinnedInChild === isPinnedInObject
      ? "is_pinned() is False there, with an object around the tensor and without one"
      : `is_pinned() is False there only for the tensor ${isPinnedInObject ? "by itself" : "inside the object"}`;
  const sender = isPinnedAfter
    ? "in the sender it stays pinned"
    : "in the sender, too, is_pinned() is False from then on";
  const known = isBroughtBack === true ? "The cause: " : "The likely cause: ";
  return `${isLost === true ? known : isLost === false ? "And yet " : ""}${which}. torch sends a tensor by moving it into shared memory, which is not pinned; ${sender}.`;
}

function registering(
  { registerRefused, isPinnedRegistered }: TorchExperiments["sent"]["figures"],
  registered: MeasuredFigure | null,
  rise: MeasuredFigure | null,
): string {
  const call = "torch.cuda.cudart().cudaHostRegister()";
  if (registered === null || rise === null) {
    return `CUDA refuses to register that memory there (error ${registerRefused} of ${call}).`;
  }
  const isHelp = isAtLeast(rise, faster);
  const outcome =
    isHelp === true
      ? `brings it to ${figureText(registered)}, ${figureText(rise)} the rate`
      : isHelp === false
        ? `hardly makes it faster, if at all: ${figureText(registered)}`
        : `brings it to ${figureText(registered)}, and the intervals leave open whether that is ${faster} times the rate`;
  const pinned = isPinnedRegistered ? "is_pinned() is True again" : "is_pinned() stays False";
  return `Registering that memory in the process that received it, with ${call}, ${outcome}; ${pinned}.`;
}

/** Why a pinned tensor is no faster in another process, and how to restore it. */
export const pinnedInAClass: Question = {
  name: "pinned-in-a-class",
  title: "why is a pinned tensor no faster in another process?",
  claim:
    "With the tensors inside a class that is handed to a process, pinned memory is only 1.01 times as fast as pageable memory, for an unknown cause.",
  needs: "torch",
  mostMs: 30_000,
  answer: (tools) => answerOnGpu("pinned-in-a-class", tools, "sent", options, concludePinnedInAClass),
};
