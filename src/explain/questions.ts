import { questionNames } from "../settings/choices.js";
import type { Question } from "./question.js";
import { whyPinned } from "./questions/why-pinned.js";

const known: readonly Question[] = [whyPinned];

/** All questions, in the order in which they are told. */
export const questions: readonly Question[] = questionNames.flatMap((name) =>
  known.filter((question) => question.name === name),
);
