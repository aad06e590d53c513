import type { Command } from "commander";
import { ExitCode, PinbenchError } from "../../errors.js";
import { termsText } from "../../report/terms.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { exitCodesText, outputText } from "../help-layout.js";
import { stdoutScreen } from "../output/screens.js";
import { writeStdout } from "../output/terminal.js";
import type { Invocation } from "../requested-settings.js";

export async function helpCommand(
  _: CommandSettings<"help">,
  { operands: [topic, ...words] }: Invocation,
  program: Command,
): Promise<ExitCode> {
  if (topic === "terms") {
    await writeStdout(termsText(words, stdoutScreen()));
    return ExitCode.ok;
  }
  if (topic === "exit-codes" || topic === "output") {
    await writeStdout(topic === "output" ? outputText() : exitCodesText);
    return ExitCode.ok;
  }
  let command = program;
  for (const name of topic === undefined ? [] : [topic, ...words]) {
    const below = command.commands.find((one) => one.name() === name);
    if (below === undefined) {
      throw new PinbenchError("usage", `there is no help on "${[topic, ...words].join(" ")}".`, {
        hint: `There is help on each command (${namesOf(program)}), on terms, output and exit-codes.`,
      });
    }
    command = below;
  }
  command.outputHelp();
  return ExitCode.ok;
}

function namesOf(program: Command): string {
  return program
    .createHelp()
    .visibleCommands(program)
    .map((one) => one.name())
    .filter((name) => name !== "help")
    .join(", ");
}
