import { isatty, type WriteStream } from "node:tty";
import type { CommanderError } from "commander";
import { asciiText, printableText } from "../../draw/printable-text.js";
import { ExitCode, errorCode, PinbenchError } from "../../errors.js";
import { shortageOf } from "../../machine-shortage.js";
import { cannotWrite, writeToStream } from "../../results/files/output-stream.js";

/*
 * The terminal: data go to stdout, all else to stderr. Outside src/cli, only output-stream.ts writes to them.
 */

/**
 * Keeps Node from exiting with a stack trace if a stream cannot be written. A reader that closes the pipe early
 * (`pinbench run | head -1`) has what it wants; writeStdout() reports other errors.
 */
export function surviveStreamErrors(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
}

const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));

/**
 * Makes this process end by SIGHUP, with everything written, if its terminal has gone by then. Otherwise Node would
 * abort with a core dump, because it cannot restore the terminal's modes.
 */
export function surviveClosedTerminal(): void {
  process.off("exit", endWithTerminal);
  process.on("exit", endWithTerminal);
}

function endWithTerminal(): void {
  if (terminals.every((descriptor) => isatty(descriptor))) return;
  // Without a listener, the signal ends the process at once.
  process.removeAllListeners("SIGHUP");
  process.kill(process.pid, "SIGHUP");
}

/**
 * Writes to stdout and waits for completion. Rejects with an "output" PinbenchError. A file is not written
 * through process.stdout, which reports success if a full disk cuts a write short.
 */
export async function writeStdout(text: string): Promise<void> {
  // Read before writing: a closed terminal no longer counts as one.
  const isTerminal = process.stdout.isTTY === true;
  try {
    await writeToStream("/dev/stdout", text);
  } catch (cause) {
    // A closed terminal is like a closed pipe.
    if (isTerminal && errorCode(cause) === "EIO") return;
    throw new PinbenchError("output", cannotWrite("stdout", cause).message, {
      hint: "Redirect it to another place.",
      cause,
    });
  }
}

/**
 * Whether the locale in these variables has more characters than ASCII. As in systemd, an unset locale counts as UTF-8,
 * because it occurs in containers and jobs; "C" and "POSIX" mean ASCII.
 */
export function showsUnicode({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG || "";
  return locale === "" || /utf-?8/i.test(locale);
}

/** The layout never gets narrower; a narrower terminal wraps lines itself. */
const fewestColumns = 40;

/** Width of a stream: of its terminal, else COLUMNS, else `usual`. */
export function columnsOf({ isTTY, columns }: Pick<WriteStream, "isTTY" | "columns">, usual: number): number {
  const ofTerminal = isTTY ? columns : 0;
  const ofVariable = /^\d{1,5}$/.test(process.env.COLUMNS ?? "") ? Number(process.env.COLUMNS) : 0;
  // A terminal may report 0 columns.
  return Math.max(fewestColumns, ofTerminal || ofVariable || usual);
}

export function shownText(text: string): string {
  return showsUnicode(process.env) ? text : asciiText(text);
}

function writeStderr(text: string): void {
  process.stderr.write(shownText(text));
}

/** Writes sentences to stderr. On a terminal, wraps long lines with an indentation. */
function writeMessage(text: string): void {
  const most = columnsOf(process.stderr, 80) - 2;
  const tooLong = new RegExp(`(?=.{${most + 1}})(.{1,${most}}) `, "g");
  writeStderr(`${process.stderr.isTTY ? text.replace(tooLong, "$1\n  ") : text}\n`);
}

export function writeHelp(text: string): void {
  process.stdout.write(shownText(text));
}

export function noter({ quiet }: { quiet: boolean }): (text: string) => void {
  return (text) => {
    if (!quiet) writeMessage(`pinbench: ${printableText(text)}`);
  };
}

/**
 * Prints an error to stderr: one sentence and a hint. An error without a sentence is a bug, so its stack follows.
 * Returns the exit code.
 */
export function reportError(error: unknown, options: { command?: string } = {}): number {
  if (isCommanderError(error)) {
    // Commander "throws" help and version with exit code 0, after printing them.
    if (error.exitCode === 0) return ExitCode.ok;
    if (error.code !== "commander.help") {
      const lines = error.message.replace(/^error: /, "").split("\n");
      const message = ourWords.reduce(
        (text, [theirs, ours]) => text.replace(theirs, ours),
        lines.map((line) => line.trim()).join(" "),
      );
      const sentence = `${message}${/[.?)]$/.test(message) ? "" : "."}`;
      writeError(
        new PinbenchError("usage", sentence, {
          hint: `See pinbench ${options.command === undefined ? "" : `${options.command} `}--help.`,
        }),
      );
    }
    return ExitCode.usage;
  }
  const known = error instanceof PinbenchError ? error : shortageOf(error);
  writeError(known ?? ourFault(error));
  if (known !== null) return known.exitCode;
  writeStderr(`${describeStack(error).split("\n").map(printableText).join("\n")}\n`);
  return ExitCode.measurement;
}

/** Our wording for commander's messages, without short flags and values. */
const ourWords: readonly (readonly [RegExp, string])[] = [
  [/ \(Did you mean (.*)\?\)$/s, ". Did you mean $1?"],
  [/^unknown option '-v'$/, 'there is no flag "-v": it is --version, or --all after a command'],
  [/^unknown command 'version'$/, 'there is no command "version": it is --version'],
  [/^unknown option '(.*?)'(?=\. Did you mean|$)/s, 'there is no flag "$1"'],
  [/^unknown command '(.*?)'(?=\. Did you mean|$)/s, 'there is no command "$1"'],
  [/^missing required argument '(.*)'$/s, 'the argument "$1" is missing'],
  [/^option '(?:-\w, )?(--[\w-]+).*' argument missing$/s, "$1 needs a value"],
  [
    /^option '(?:-\w, )?(--[\w-]+)[^']*' cannot be used with option '(?:-\w, )?(--[\w-]+).*$/s,
    "$1 and $2 exclude each other",
  ],
  [
    /^option '(?:-\w, )?(--[\w-]+)[^']*' argument '(.*)' is invalid\. Allowed choices are (.*)\.$/s,
    '$1 cannot be "$2". Choose from $3.',
  ],
  [
    /^command-argument value '(.*)' is invalid for argument '(.*)'\. Allowed choices are (.*)\.$/s,
    'the argument "$2" cannot be "$1". Choose from $3.',
  ],
];

/** Checks the code instead of the class, so that commander is loaded only for parsing. */
function isCommanderError(error: unknown): error is CommanderError {
  return error instanceof Error && "code" in error && String(error.code).startsWith("commander.");
}

function ourFault(error: unknown): PinbenchError {
  const message = error instanceof Error ? error.message : String(error);
  return new PinbenchError("measurement", message, { hint: "This is a bug in pinbench:" });
}

/** Prints one line, or with details several. */
function writeError({ kind, message, sentence, details, hint }: PinbenchError): void {
  // Set by programs that run pinbench, such as the wheel's Python.
  if (process.env.PINBENCH_ERRORS === "json") {
    writeStderr(`${JSON.stringify({ kind, message, hint })}\n`);
    return;
  }
  const shown = printableText(sentence);
  const hints = hint === null ? [] : details.length === 0 ? [hint] : hint.split("\n");
  const lines =
    details.length === 0
      ? [[shown, ...hints.map(printableText)].join(" ")]
      : [shown, ...details.map((detail) => `  ${printableText(detail)}`), ...hints.map(printableText)];
  writeMessage(`pinbench: ${lines.join("\n")}`);
}

function describeStack(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `\ncaused by: ${describeStack(error.cause)}`;
  const location = "location" in error ? ` at ${String(error.location)}` : "";
  return `${error.stack ?? error.message}${location}${cause}`;
}
