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

/** Settings of `pinbench run` for an experiment. All questions share the backend. */
export type RunRequest = Omit<Requested<typeof runSettings>, "backend">;

/** Tools for measuring; all calls end early if `signal` is aborted. */
export interface Tools {
  /** Ends the experiment after an interruption or the question's time limit. */
  signal: AbortSignal;
  backend: Backend;
  /** Chosen devices; experiments on one device use the first. */
  devices: DeviceFacts[];
  /** The user's torch, started on first use. */
  torch: Torch;
  onActivity: (text: string) => void;
  /**
   * Measures like `pinbench run` in this process, by default on the first device. Rejects with a PinbenchError if
   * planning or the run fails, the run is cut short, or data came back wrong.
   */
  run(request: RunRequest): Promise<ResultDocument>;
  /** The same in a new process with its own context. */
  runInFreshProcess(request: RunRequest): Promise<ResultDocument>;
}

/** Whether the claim holds, with the figures and a line that sums them up. */
export interface Answer {
  holds: Known;
  summary: string;
  figures: MeasuredFigure[];
}

export interface Question {
  name: QuestionName;
  title: string;
  /** The claim, as articles make it. */
  claim: string;
  /** What it needs: one device, several, or the user's Python with torch. */
  needs: "device" | "devices" | "torch";
  /** Rejects if it fails; with a PinbenchError "unavailable" if the machine lacks something. */
  answer(tools: Tools): Promise<Answer>;
}

type QuestionFacts = Omit<Question, "answer" | "needs">;

/** A question answered by the cells of one run. */
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
 * A question answered by a torch program, program/pinbench_explain/NAME.py. `times`: names of what it times. `conclude`
 * gets the medians, the times of the rounds, and other facts.
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
