import { ExitCode, exitCodeOf, PinbenchError } from "../../errors.js";
import { explainMachine, openDevices } from "../../explain/explain-machine.js";
import { renderQuestions } from "../../explain/explanation-report.js";
import type { Question } from "../../explain/question.js";
import { questions, questionsNamed } from "../../explain/questions.js";
import { backendNotes } from "../../report/plan-report.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { killAfterPatience } from "../kill-after-patience.js";
import { runMeasuringCommand } from "../measuring-command.js";
import { chosenFormat, destinationsOf } from "../output/document-output.js";
import { stdoutScreen } from "../output/screens.js";
import { writeStdout } from "../output/terminal.js";
import { backendFor, type Invocation } from "../requested-settings.js";

export async function explainCommand(
  flags: CommandSettings<"explain">,
  invocation: Invocation,
): Promise<ExitCode> {
  const chosen = requestedQuestions(invocation.operands, flags.all);
  if (chosen === null) {
    if (flags.output.length > 0) throw nothingToWrite(flags.output);
    await writeStdout(renderQuestions(questions, chosenFormat(flags), stdoutScreen()));
    return ExitCode.ok;
  }
  const destinations = await destinationsOf("explanation", flags);
  const backend = backendFor(flags, invocation);
  const request = { destinations, turn: flags, call: invocation.call };
  return runMeasuringCommand(request, {
    kind: "explanation",
    name: "explain",
    prepare: () => openDevices({ ...flags, backend }),
    notes: (prepared) => backendNotes(prepared),
    async measure({ countedFromMs, ...turn }) {
      const document = await explainMachine({ ...turn, questions: chosen, settings: flags });
      const hasFailed = document.answers.some(({ failure }) => failure !== null);
      // A driver call that hangs would keep the process alive.
      const finish = () => {
        if (hasFailed || turn.signal.aborted) killAfterPatience();
      };
      if (turn.signal.aborted && document.answers.length === 0) {
        finish();
        return null;
      }
      return { document, saysSomething: true, finish };
    },
    exitCode: ({ answers }) =>
      exitCodeOf(
        answers.some(({ hasWrongData }) => hasWrongData) ? ExitCode.wrongData : null,
        answers.some(({ failure }) => failure !== null) ? ExitCode.measurement : null,
      ),
  });
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

/** The named questions, in their own order; null if none was named. Throws a usage error. */
function requestedQuestions(operands: readonly string[], isAll: boolean): readonly Question[] | null {
  if (isAll && operands.length > 0) {
    throw new PinbenchError("usage", "--all already asks all questions.", {
      hint: "Leave one of them out.",
    });
  }
  if (isAll) return questionsNamed("all");
  return operands.length === 0 ? null : questionsNamed(operands);
}
