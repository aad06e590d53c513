import type { Command } from "commander";
import { ExitCode } from "../../errors.js";
import type { Invocation } from "../asked-settings.js";
import { completionScript, type Shell } from "../completion/script.js";
import { writeStdout } from "../output/terminal.js";

/** `pinbench completion`: prints what a shell is to read. */
export async function completionCommand(
  _: object,
  { operands: [shell] }: Invocation,
  program: Command,
): Promise<ExitCode> {
  await writeStdout(completionScript(shell as Shell, program));
  return ExitCode.ok;
}
