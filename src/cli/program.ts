import { Command } from "commander";
import { addBaselineCommand } from "./baseline-command.js";
import { addBuildCommand } from "./build-command.js";
import { addCheckCommand } from "./check-command.js";
import { addCompareCommand } from "./compare-command.js";
import { addCompletionCommand } from "./completion-command.js";
import { addDevicesCommand } from "./devices-command.js";
import { addImportCommand } from "./import-command.js";
import { addRunCommand } from "./run-command.js";
import { addTuneCommand } from "./tune-command.js";

/** The command line. Commands load what they need when they run, so that help and errors are quick. */
export function createProgram(version: string, setExitCode: (code: number) => void): Command {
  const program = new Command("pinbench")
    .description("How fast data moves between host memory and a GPU, from pageable and from pinned memory.")
    .version(version, "-V, --version", "print the version; with --json also how it was built")
    .helpOption("-h, --help", "show help")
    .exitOverride()
    // Errors are thrown to main(), which prints them in our own words.
    .configureOutput({ outputError: () => undefined })
    .addHelpText(
      "after",
      `
Examples:
  pinbench run                        the default sweep, as a table
  pinbench run --help                 its flags, and more examples
  pinbench --version --json           what this is, for a report of a fault

Exit codes:
  0 done · 1 something got slower · 2 wrong usage or configuration · 3 no such backend or device · 4 a measurement
  failed or data came back wrong · 5 not comparable · 6 inconclusive, under --strict · 130 interrupted · 143 terminated`,
    );
  addRunCommand(program, version, setExitCode);
  addCheckCommand(program, version, setExitCode);
  addBaselineCommand(program, setExitCode);
  addCompareCommand(program, version, setExitCode);
  addTuneCommand(program, version, setExitCode);
  addDevicesCommand(program, version);
  addImportCommand(program, version);
  addBuildCommand(program);
  addCompletionCommand(program);
  return program;
}
