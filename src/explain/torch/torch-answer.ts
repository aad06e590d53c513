import { PinbenchError } from "../../errors.js";
import type { QuestionName } from "../../settings/choices.js";
import { type Answer, type Conclusion, explainCommand, type Tools } from "../question.js";
import type { ExperimentName, TorchExperiments } from "./program-messages.js";

/** The conclusion from `conclude`; without a suitable torch it is inconclusive, with the reason. */
export async function answerWithTorch(
  name: QuestionName,
  tools: Tools,
  conclude: () => Promise<Conclusion>,
): Promise<Answer> {
  const command = explainCommand({ name, needs: "torch" }, tools);
  try {
    tools.onActivity("torch is being imported");
    const { torch, python, deviceName } = await tools.torch.facts(tools.signal);
    tools.onActivity("torch measures");
    const conclusion = await conclude();
    return {
      ...conclusion,
      sentences: [
        ...conclusion.sentences,
        `Measured with torch ${torch} of ${python}${deviceName === null ? "" : `, on ${deviceName}`}.`,
      ],
      command,
    };
  } catch (error) {
    if (!(error instanceof PinbenchError) || error.kind !== "unavailable") throw error;
    return { ...untold([error.message, ...(error.hint === null ? [] : [error.hint])]), command };
  }
}

/** The answer of a question that is an experiment on a GPU. */
export function answerOnGpu<Name extends ExperimentName>(
  name: QuestionName,
  tools: Tools,
  experiment: Name,
  options: TorchExperiments[Name]["options"],
  conclude: (figures: TorchExperiments[Name]["figures"]) => Conclusion,
): Promise<Answer> {
  return answerWithTorch(name, tools, async () => {
    const { gpuMissing } = await tools.torch.facts(tools.signal);
    if (gpuMissing !== null) throw new PinbenchError("unavailable", noGpu(gpuMissing), { hint: gpuHint });
    return conclude(await tools.torch.measure(experiment, options, tools.signal));
  });
}

export const gpuHint = "Name a Python whose torch has CUDA with --python.";

/** A sentence on torch without a GPU. */
export function noGpu(reason: string): string {
  return `This needs a GPU, and ${reason}.`;
}

/** An inconclusive answer with its reason. */
function untold(sentences: string[]): Conclusion {
  return { verdict: "inconclusive", figures: [], sentences };
}
