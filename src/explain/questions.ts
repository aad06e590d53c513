import { questionNames } from "../settings/choices.js";
import type { Question } from "./question.js";
import { loaderPinMemory } from "./questions/loader-pin-memory.js";
import { nonBlocking } from "./questions/non-blocking.js";
import { pinnedInAClass } from "./questions/pinned-in-a-class.js";
import { tooManyWorkers } from "./questions/too-many-workers.js";
import { whyPinned } from "./questions/why-pinned.js";

const known: readonly Question[] = [whyPinned, pinnedInAClass, loaderPinMemory, nonBlocking, tooManyWorkers];

/** All questions, in the order in which they are told. */
export const questions: readonly Question[] = questionNames.flatMap((name) =>
  known.filter((question) => question.name === name),
);
