import type { Backend } from "../native/backend.js";
import type { DeviceFacts } from "../native/device-contract.js";
import type { CellResult } from "../results/cell-schema.js";
import type { ResultDocument } from "../results/schema.js";
import type { QuestionName } from "../settings/choices.js";
import type { Requested } from "../settings/setting.js";
import type { runSettings } from "../settings/table.js";
import type { MeasuredFigure } from "./explanation.js";
import { type CellFields, cellOf, type Known, medianFigure } from "./run-figures.js";
import type { Torch } from "./torch.js";

/** What an experiment measures: the settings of `pinbench run`, without the backend, which all questions share. */
export type RunRequest = Omit<Requested<typeof runSettings>, "backend">;

/** Tools for measuring. All calls end early if `signal` is aborted. */
export interface Tools {
  /** Ends the experiment, after an interruption or at the end of the question's time. */
  signal: AbortSignal;
  backend: Backend;
  /** The chosen devices; experiments on one device take the first. */
  devices: DeviceFacts[];
  /** The user's torch, which starts on first use. */
  torch: Torch;
  /** Describes the current activity. */
  onActivity: (text: string) => void;
  /**
   * Measures like `pinbench run`, in this process, by default on the first device. Rejects with a PinbenchError if it
   * cannot be planned, the run fails or is cut short, or data came back wrong.
   */
  run(request: RunRequest): Promise<ResultDocument>;
  /** The same in a process of its own, with a new context. */
  runInFreshProcess(request: RunRequest): Promise<ResultDocument>;
}

/** Whether the claim holds, the figures behind that, and these in one line. */
export interface Answer {
  holds: Known;
  summary: string;
  figures: MeasuredFigure[];
}

/** One of the experiments that articles make, or should make. */
export interface Question {
  name: QuestionName;
  /** The question in one line, for a list. */
  title: string;
  /** The claim of articles. */
  claim: string;
  /** What it needs: a device, several, or the user's Python with torch. */
  needs: "device" | "devices" | "torch";
  /** Rejects with any failure; with a PinbenchError "unavailable" if the machine lacks something. */
  answer(tools: Tools): Promise<Answer>;
}

type QuestionFacts = Omit<Question, "answer" | "needs">;

/** A question that the cells of one run answer. */
export function cellQuestion({
  request,
  conclude,
  ...question
}: QuestionFacts & {
  request: RunRequest;
  conclude: (cell: (fields: CellFields) => CellResult) => Answer;
}): Question {
  return {
    ...question,
    needs: "device",
    async answer(tools) {
      const document = await tools.run(request);
      return conclude((fields) => cellOf(document, fields));
    },
  };
}

/**
 * A question that a program of the user's torch answers: program/pinbench_explain/NAME.py. `times` names what it times;
 * `conclude` gets the medians, the times of the rounds, and what else the program found.
 */
export function torchQuestion<Timed extends string>({
  times,
  conclude,
  ...question
}: QuestionFacts & {
  times: Readonly<Record<Timed, string>>;
  conclude: (
    medians: Record<Timed, MeasuredFigure>,
    rounds: Record<Timed, readonly number[]>,
    facts: Record<string, number | boolean>,
  ) => Answer;
}): Question {
  return {
    ...question,
    needs: "torch",
    async answer({ torch, signal, onActivity }) {
      onActivity("torch measures");
      const measured = await torch.measure(question.name, signal);
      const rounds = measured.times as Record<Timed, number[]>;
      const medians = Object.fromEntries(
        Object.entries<string>(times).map(([key, name]) => [
          key,
          medianFigure(name, "ns", rounds[key as Timed]),
        ]),
      ) as Record<Timed, MeasuredFigure>;
      const { summary, ...answer } = conclude(medians, rounds, measured.facts);
      return { ...answer, summary: `${summary} (${measured.torch})` };
    },
  };
}
