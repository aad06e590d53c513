import { ExitCode } from "../errors.js";
import { packageVersion } from "../package-facts.js";
import {
  beginTerminal,
  reportError,
  surviveClosedTerminal,
  surviveStreamErrors,
  writeStdout,
} from "./terminal.js";

/** Parses the arguments, runs the command, catches once and sets the exit code. */
export async function main(argv: string[]): Promise<void> {
  surviveStreamErrors();
  surviveClosedTerminal();
  beginTerminal({ ascii: ownWords(argv).includes("--ascii") });
  try {
    if (argv[0] === "--version" || argv[0] === "-V") {
      // Before anything else is loaded: scripts ask this often.
      if (argv.length === 1) return await writeStdout(`${packageVersion()}\n`);
      if (argv.length === 2 && argv[1] === "--json") {
        const { versionReport } = await import("./version-report.js");
        const { jsonReport } = await import("../report/json.js");
        return await writeStdout(jsonReport(versionReport(packageVersion())));
      }
    }
    const { createProgram } = await import("./commands.js");
    const { spelledOut } = await import("./command-flags.js");
    process.exitCode = ExitCode.ok;
    await createProgram((code) => {
      process.exitCode = code;
    }).parseAsync(spelledOut(argv), { from: "user" });
  } catch (error) {
    process.exitCode = reportError(error, { debug: ownWords(argv).includes("--debug") });
  }
}

/** Without those of a command that pinbench is to start, which stands after `--`. */
function ownWords(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf("--");
  return end < 0 ? argv : argv.slice(0, end);
}
