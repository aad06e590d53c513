import type { Command } from "commander";
import type { CheckFlags } from "./check.js";
import { addComparisonOptions } from "./comparison-options.js";
import { parseRuns, parseWait } from "./option-values.js";
import { addMeasuringOptions, withGivenSettings } from "./run-options.js";

export function addCheckCommand(
  program: Command,
  version: string,
  setExitCode: (code: number) => void,
): void {
  const command = program
    .command("check")
    .description("measure a baseline's cells again, and exit with 1 where the machine got slower")
    .option("--baseline <path>", "what `pinbench baseline` made, or a result of `pinbench run --output`")
    .option("--runs <count>", "fresh processes to measure with (5), and as many to confirm", parseRuns)
    .option("--confirm-after <time>", "wait before confirming, on a shared machine (0s)", parseWait)
    .option("--update", "write a new baseline, unless a regression stands")
    .option("--accept", "with --update: write it although a regression stands")
    .option("--keep <folder>", "keep the runs in a new folder")
    .addHelpText(
      "after",
      `
What is measured, and how, is the baseline's own; the measuring flags override it.

Examples:
  pinbench baseline baseline --preset quick              once: the machine as it should be
  pinbench check --baseline baseline                     in CI: exit code 1 where it got slower
  pinbench check --baseline baseline --format github     with annotations, on GitHub Actions
  pinbench check --baseline baseline --runs 10 --update  a new baseline, if nothing is slower`,
    );
  addComparisonOptions(addMeasuringOptions(command)).action(async (flags: CheckFlags) => {
    const { check } = await import("./check.js");
    setExitCode(await check(flags, (settings) => withGivenSettings(command, settings), version));
  });
}
