import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { ExitCode, PinbenchError } from "../errors.js";
import { packageCommit, packageVersion } from "../package-facts.js";
import { listenEarly, stopListeningEarly } from "./early-signal.js";
import { reportError, surviveClosedTerminal, surviveStreamErrors, writeStdout } from "./output/terminal.js";

/** Parses the arguments, runs the command, and sets the exit code. Catches all errors. */
export async function main(argv: string[]): Promise<void> {
  surviveStreamErrors();
  surviveClosedTerminal();
  try {
    refuseUnreadable(argv);
    if (argv[0] === "--version" || argv[0] === "-V") {
      // Before anything else is loaded, because scripts ask for it often.
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
    listenEarly(argv, endEarly);
    const { createProgram } = await import("./commands.js");
    const { spelledOut } = await import("./command-flags.js");
    process.exitCode = ExitCode.ok;
    const setExitCode = (code: ExitCode) => {
      process.exitCode = code;
    };
    // Words after "--" belong to another command.
    const [brief, end] = [argv.indexOf("-h"), argv.indexOf("--")];
    const isHelpBrief = brief >= 0 && (end < 0 || brief < end);
    await createProgram({ setExitCode, isHelpBrief }).parseAsync(spelledOut(helpLast(argv)), {
      from: "user",
    });
  } catch (error) {
    process.exitCode = reportError(error, await commandOf(argv));
  } finally {
    stopListeningEarly();
  }
}

async function endEarly(files: readonly string[]): Promise<void> {
  const { sayNothingMeasured } = await import("./interruption.js");
  sayNothingMeasured(files);
  process.exit(ExitCode.interrupted);
}

/** `--help run` as `run --help`. */
function helpLast(argv: readonly string[]): readonly string[] {
  const [first, ...rest] = argv;
  return first === "--help" && rest.length > 0 ? [...rest, first] : argv;
}

/** The command named by the arguments, if any. */
async function commandOf([first = "", second = ""]: readonly string[]): Promise<{ command?: string }> {
  const { commandSettings } = await import("../settings/command-settings.js");
  const command = [`${first} ${second}`, first].find((name) => Object.hasOwn(commandSettings, name));
  return command === undefined ? {} : { command };
}

/**
 * Throws a usage error for an argument that is not UTF-8: Node replaces its bytes, so a path would be that of another
 * file.
 */
function refuseUnreadable(argv: readonly string[]): void {
  const odd = argv.find((word) => word.includes("\ufffd"));
  if (odd === undefined || isUtf8(readFileSync("/proc/self/cmdline"))) return;
  throw new PinbenchError("usage", `the argument "${odd}" is not UTF-8, and its bytes are lost.`, {
    hint: "Rename the file, or give it to pinbench by another path.",
  });
}
