import type { Command } from "commander";
import type { BaselineFlags } from "./baseline.js";
import { parseRuns } from "./option-values.js";
import { addCellOptions, addMeasuringOptions, withConfigured } from "./run-options.js";

export function addBaselineCommand(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command("baseline")
    .description("measure in several fresh processes and keep the runs, to check against")
    .argument("<folder>", "a new folder for the runs")
    .option("--runs <count>", "fresh processes to measure with (10)", parseRuns);
  addMeasuringOptions(addCellOptions(command))
    .option("--config <file>", "read this configuration instead of the nearest pinbench.config.json")
    .option("--no-config", "read no configuration")
    .option("--quiet", "no progress and no notes on stderr")
    .option("--no-color", "no colours")
    .option("--debug", "show where an error came from")
    .addHelpText(
      "after",
      `
Examples:
  pinbench baseline baseline                     the default sweep, ten times
  pinbench baseline baseline --memory pinned --sizes 1MiB,64MiB --runs 5`,
    )
    .action(async (folder: string, given: BaselineFlags) => {
      const { loadConfig } = await import("./config.js");
      const { makeBaseline } = await import("./baseline.js");
      const config = await loadConfig(given);
      const flags = { ...withConfigured(command, config.plan), runs: given.runs };
      setExitCode(await makeBaseline(folder, flags, config));
    });
}
