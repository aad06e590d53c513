import { dirname } from "node:path";
import type { TrialFailure } from "../../../src/results/tuning.js";
import type { ProbeFacts } from "../../../src/tune/loader-probe.js";
import { spokenProbe } from "../../../src/tune/torch/torch-messages.js";
import { type Changes, options, printedBy, target, workers } from "./support.js";

/*
 * What the Python program makes of the data sets of a test file, all in one process: importing torch takes a second each
 * time.
 */

/** What came of opening a data set, and of the trials with it. */
export interface Answer {
  refusal: [kind: string, message: string] | null;
  hint: string | null;
  facts: ProbeFacts | null;
  trials: { batches: number; failure: TrialFailure | null }[];
}

const asked: object[] = [];
let answers: Answer[] | null = null;

/** Has a data set opened, and trials of it run with a number of workers, until a number of batches have come. */
export function given(
  name: string,
  changes: Changes = {},
  ...trials: [numWorkers: number, batches: number][]
): () => Answer {
  const wanted = trials.map(([numWorkers, batches]) => ({ setting: workers(numWorkers), batches }));
  const index = asked.push({ ...options(name, changes), trials: wanted }) - 1;
  return () => {
    answers ??= answerAll();
    return answers[index]!;
  };
}

function answerAll(): Answer[] {
  const args = ["-B", target("opened.py"), dirname(spokenProbe.path)];
  const said = printedBy(args, JSON.stringify(asked));
  return said
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Answer);
}
