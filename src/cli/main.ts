import { ExitCode } from "../errors.js";
import { packageCommit, packageVersion } from "../package-facts.js";
import { reportError, surviveClosedTerminal, surviveStreamErrors, writeStdout } from "./output/terminal.js";

export async function main(argv: string[]): Promise<void> {
  surviveStreamErrors();
  surviveClosedTerminal();
  try {
    if (argv[0] === "--version" || argv[0] === "-V") {
      // Answered before loading anything else, because scripts call it often.
      if (argv.length === 1) {
        const { commit, commitDate } = packageCommit();
        const built = commit === null ? "commit unknown" : `commit ${commit}, ${commitDate}`;
        return await writeStdout(`${packageVersion()} (${built})\n`);
      }
      if (argv.length === 2 && argv[1] === "--json") {
        const { versionReport } = await import("./output/version-report.js");
        const { jsonReport } = await import("../draw/json.js");
        return await writeStdout(jsonReport(versionReport(packageVersion())));
      }
    }
    const { createProgram } = await import("./commands.js");
    const { spelledOut } = await import("./command-flags.js");
    process.exitCode = ExitCode.ok;
    const setExitCode = (code: ExitCode) => {
      process.exitCode = code;
    };
    // Words after "--" belong to another command.
    const [brief, end] = [argv.indexOf("-h"), argv.indexOf("--")];
    const isHelpBrief = brief >= 0 && (end < 0 || brief < end);
    await createProgram({ setExitCode, isHelpBrief }).parseAsync(spelledOut(argv), {
      from: "user",
    });
  } catch (error) {
    process.exitCode = reportError(error, await commandOf(argv));
  }
}

async function commandOf([first = "", second = ""]: readonly string[]): Promise<{ command?: string }> {
  const { commandSettings } = await import("../settings/command-settings.js");
  const command = [`${first} ${second}`, first].find((name) => Object.hasOwn(commandSettings, name));
  return command === undefined ? {} : { command };
}
