import { questionNames } from "../settings/choices.js";
import { parseChoices } from "../settings/kinds.js";
import type { Question } from "./question.js";
import { eightyOneTimes } from "./questions/eighty-one-times.js";
import { loaderPinMemory } from "./questions/loader-pin-memory.js";
import { lowLatency } from "./questions/low-latency.js";
import { nonBlocking } from "./questions/non-blocking.js";
import { overlap } from "./questions/overlap.js";
import { paysOff } from "./questions/pays-off.js";
import { pinnedInAClass } from "./questions/pinned-in-a-class.js";
import { severalGpus } from "./questions/several-gpus.js";
import { tooManyWorkers } from "./questions/too-many-workers.js";
import { tooMuchPinned } from "./questions/too-much-pinned.js";
import { tooSmall } from "./questions/too-small.js";
import { torchRoundsUp } from "./questions/torch-rounds-up.js";
import { whyPinned } from "./questions/why-pinned.js";

const known: readonly Question[] = [
  whyPinned,
  paysOff,
  eightyOneTimes,
  tooSmall,
  lowLatency,
  overlap,
  severalGpus,
  tooMuchPinned,
  pinnedInAClass,
  loaderPinMemory,
  nonBlocking,
  tooManyWorkers,
  torchRoundsUp,
];

/** All questions, in the report's order. */
export const questions: readonly Question[] = questionNames.flatMap((name) =>
  known.filter((question) => question.name === name),
);

/** The questions of these names in the report's order, or all. Throws a usage error for an unknown name. */
export function questionsNamed(names: readonly string[] | "all"): readonly Question[] {
  if (names === "all") return questions;
  const known: readonly string[] = questions.map(({ name }) => name);
  const asked = parseChoices([...names], "question", known);
  return questions.filter(({ name }) => asked.includes(name));
}
