import { PinbenchError } from "../errors.js";
import { explainMachine, openDevices } from "../explain/explain-machine.js";
import type { Explanation } from "../explain/explanation.js";
import { questionsNamed } from "../explain/questions.js";
import { announced } from "../measure/prepare.js";
import type { QuestionName } from "../settings/choices.js";
import { commandSettings } from "../settings/command-settings.js";
import type { Options } from "../settings/setting.js";
import { callNow, defaultsOf, readOptions } from "../settings/settings.js";
import { forCallers, gpuAlone } from "./for-callers.js";

const { backend, devices, python } = commandSettings.explain;
const explainSettings = { backend, devices, python } as const;

export interface ExplainOptions extends Options<typeof explainSettings> {
  questions: readonly QuestionName[] | "all";
  /** Ends it early, with the answers so far. */
  signal?: AbortSignal;
}

/**
 * Answers questions by experiments as `pinbench explain` does, and returns the document of its --json. A question that
 * fails does not reject: see its answer's `failure`. Wrong options reject as a PinbenchError.
 */
export const explain = forCallers(
  async ({
    questions,
    signal = new AbortController().signal,
    ...options
  }: ExplainOptions): Promise<Explanation> => {
    const call = callNow();
    const names: unknown = questions;
    const areNames = Array.isArray(names) && names.every((name) => typeof name === "string");
    if (names !== "all" && !areNames) {
      throw new PinbenchError("usage", 'The option questions must be "all" or a list of names.');
    }
    const settings = {
      ...defaultsOf(explainSettings),
      ...gpuAlone,
      ...readOptions(explainSettings, options),
    };
    const requested = questionsNamed(questions);
    const prepared = await openDevices(settings);
    return announced(prepared, (sharing) =>
      explainMachine({
        ...{ questions: requested, prepared, sharing, settings, signal },
        ...call,
        onActivity: () => undefined,
      }),
    );
  },
);
