import type { Command } from "commander";
import { addComparisonOptions, type ComparisonFlags } from "./comparison-options.js";

export function addCompareCommand(
  program: Command,
  version: string,
  setExitCode: (code: number) => void,
): void {
  const command = program
    .command("compare")
    .description("compare two results cell by cell, and exit with 1 where the second one is slower")
    .argument("<baseline>", "a result of `pinbench run --output`, or a folder of several runs")
    .argument("<candidate>", "the same, of now")
    .addHelpText(
      "after",
      `
Examples:
  pinbench compare before.json after.json              one run each: large changes only
  pinbench compare before/ after/                      folders of several runs: the spread between them counts
  pinbench compare before/ after/ --threshold 3% --threshold pageable=10%
  pinbench compare before/ after/ --output report.md --output junit.xml`,
    );
  addComparisonOptions(command).action(
    async (baseline: string, candidate: string, flags: ComparisonFlags) => {
      const { compareFiles } = await import("./compare.js");
      setExitCode(await compareFiles(baseline, candidate, flags, version));
    },
  );
}
