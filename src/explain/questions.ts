import { parseChoices } from "../settings/kinds.js";
import type { Question } from "./question.js";
import { convertingCopy } from "./questions/converting-copy.js";
import { eightyOneTimes } from "./questions/eighty-one-times.js";
import { forgottenPageable } from "./questions/forgotten-pageable.js";
import { loaderPinMemory } from "./questions/loader-pin-memory.js";
import { lowLatency } from "./questions/low-latency.js";
import { mappedWeights } from "./questions/mapped-weights.js";
import { nonBlocking } from "./questions/non-blocking.js";
import { overlap } from "./questions/overlap.js";
import { pinnedInAClass } from "./questions/pinned-in-a-class.js";
import { pinningInTheLoop } from "./questions/pinning-in-the-loop.js";
import { severalGpus } from "./questions/several-gpus.js";
import { tooManyWorkers } from "./questions/too-many-workers.js";
import { tooMuchPinned } from "./questions/too-much-pinned.js";
import { tooSmall } from "./questions/too-small.js";
import { whyPinned } from "./questions/why-pinned.js";

/** All questions, in the report's order. */
export const questions: readonly Question[] = [
  whyPinned,
  eightyOneTimes,
  pinnedInAClass,
  tooSmall,
  loaderPinMemory,
  pinningInTheLoop,
  convertingCopy,
  lowLatency,
  overlap,
  nonBlocking,
  forgottenPageable,
  severalGpus,
  tooManyWorkers,
  tooMuchPinned,
  mappedWeights,
];

/** The named questions, or all, in the report's order. Throws a usage error for an unknown name. */
export function questionsNamed(names: readonly string[] | "all"): readonly Question[] {
  if (names === "all") return questions;
  const known: readonly string[] = questions.map(({ name }) => name);
  const requested = parseChoices([...names], "question", known);
  return questions.filter(({ name }) => requested.includes(name));
}
