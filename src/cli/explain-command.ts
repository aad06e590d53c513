import { ExitCode, PinbenchError } from "../errors.js";
import { openDevices } from "../explain/experiment-tools.js";
import { explainMachine } from "../explain/explain-machine.js";
import { renderQuestions } from "../explain/explanation-report.js";
import type { Question } from "../explain/question.js";
import { questions, questionsNamed } from "../explain/questions.js";
import { shareDevices } from "../measure/prepare.js";
import { describeFailed } from "../native/load-failure.js";
import { progressLine } from "../report/progress.js";
import { checkWritable } from "../results/store.js";
import type { CommandSettings } from "../settings/command-settings.js";
import { documentFormats } from "../settings/document-formats.js";
import { chosenFormat, type Invocation } from "./asked-settings.js";
import { deliver } from "./delivery.js";
import { beginOnDevices } from "./device-turn.js";
import { documentDrawer, outputFiles } from "./document-output.js";
import { Interruption, killAfterPatience, sayNothingMeasured } from "./interruption.js";
import { ProgressLine } from "./progress-line.js";
import { stdoutScreen } from "./screens.js";
import { noter, writeStdout } from "./terminal.js";

/** `pinbench explain`: returns the exit code; throws PinbenchError. */
export async function explainCommand(
  flags: CommandSettings<"explain">,
  { operands, call }: Invocation,
): Promise<ExitCode> {
  const format = chosenFormat(flags);
  const asked = askedQuestions(operands, flags.all);
  if (asked === null) {
    if (flags.output.length > 0) throw nothingToWrite(flags.output);
    await writeStdout(renderQuestions(questions, format, stdoutScreen(flags)));
    return ExitCode.ok;
  }
  const files = outputFiles(documentFormats.explanation, flags);
  for (const { path } of files) await checkWritable(path);
  const interruption = new Interruption();
  const { signal } = interruption;
  const ended = () => {
    killAfterPatience();
    sayNothingMeasured(flags.output);
    return interruption.exitCode ?? ExitCode.interrupted;
  };
  let sharing: ReturnType<typeof shareDevices> = null;
  const line = new ProgressLine(flags);
  try {
    const prepared = await interruption.unlessAborted(openDevices(flags));
    if (prepared === null) return ended();
    const { fallbackReason } = prepared.backend;
    const note = noter(flags);
    for (const one of prepared.passedOver) note(`not used: ${describeFailed(one)}.`);
    if (fallbackReason !== null) note(`${fallbackReason}: measuring the emulated device instead.`);
    sharing = shareDevices(prepared, { command: "explain", ownerPid: null });
    if (!(await beginOnDevices(sharing, flags, signal))) return ended();
    const explaining = explainMachine({
      ...{ questions: asked, prepared, sharing, settings: flags, signal },
      startedAt: call.startedAt,
      startedMs: call.startedMs,
      onActivity: (text) =>
        line.update((columns) =>
          progressLine({ leftNs: null, done: { text }, now: null, best: null }, columns),
        ),
    });
    const explanation = await explaining;
    line.clear();
    await sharing?.release();
    // What was answered before an interruption is kept.
    if (signal.aborted && explanation.answers.length === 0) return ended();
    const draw = await documentDrawer({ kind: "explanation", document: explanation }, flags);
    await deliver(draw, { format, files }, flags);
    const hasFailed = explanation.answers.some(({ failure }) => failure !== null);
    // A driver's call that does not return would hold the process.
    if (hasFailed || signal.aborted) killAfterPatience();
    return interruption.exitCode ?? (hasFailed ? ExitCode.measurement : ExitCode.ok);
  } finally {
    line.clear();
    await sharing?.release();
    interruption.dispose();
  }
}

function nothingToWrite(paths: readonly string[]): PinbenchError {
  return new PinbenchError(
    "usage",
    `There is nothing to write to ${paths.join(", ")}: no question was asked.`,
    {
      hint: "Name questions, or ask all of them with --all.",
    },
  );
}

/** The questions that were named, in their own order; null where none was asked. Throws a usage error. */
function askedQuestions(operands: readonly string[], isAll: boolean): readonly Question[] | null {
  if (isAll && operands.length > 0) {
    throw new PinbenchError("usage", "--all asks all questions, and none needs to be named beside it.", {
      hint: "Leave one of them out.",
    });
  }
  if (isAll) return questionsNamed("all");
  return operands.length === 0 ? null : questionsNamed(operands);
}
