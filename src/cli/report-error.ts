import { CommanderError } from "commander";
import { ExitCode, PinbenchError } from "../errors.js";

/** Says on stderr what went wrong, in one sentence and what to do about it; returns the exit code. */
export function reportError(error: unknown, options: { debug: boolean }): number {
  if (error instanceof CommanderError) {
    // Help and version are "errors" of commander's with exit code 0; they have been printed already.
    if (error.exitCode === 0) return ExitCode.ok;
    if (error.code !== "commander.help") {
      const message = error.message.replace(/^error: /, "").replace(/\s*\n\s*/g, " ");
      write(`${message}${/[.?)]$/.test(message) ? "" : "."}`, "See pinbench --help.");
    }
    return ExitCode.usage;
  }
  const isOurs = error instanceof PinbenchError;
  write(
    error instanceof Error ? error.message : String(error),
    isOurs ? error.hint : "This is a fault in pinbench; --debug shows where.",
  );
  if (options.debug) process.stderr.write(`${describeStack(error)}\n`);
  return isOurs ? error.exitCode : ExitCode.measurement;
}

function write(message: string, hint: string | null): void {
  // What takes several lines has its hint on lines of its own.
  const separator = message.includes("\n") ? "\n" : " ";
  process.stderr.write(`pinbench: ${message}${hint === null ? "" : `${separator}${hint}`}\n`);
}

function describeStack(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `\ncaused by: ${describeStack(error.cause)}`;
  const location = "location" in error ? ` at ${String(error.location)}` : "";
  return `${error.stack ?? error.message}${location}${cause}`;
}
