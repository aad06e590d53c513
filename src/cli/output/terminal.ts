import { isatty, type WriteStream } from "node:tty";
import type { CommanderError } from "commander";
import { asciiText, printableText } from "../../draw/printable-text.js";
import { ExitCode, errorCode, PinbenchError } from "../../errors.js";
import { shortageOf } from "../../machine-shortage.js";
import { cannotWrite, writeToStream } from "../../results/files/output-stream.js";

/*
 * The terminal: data go to stdout, everything else to stderr. Nothing outside src/cli writes to either.
 */

/**
 * Keeps Node from ending the process with a stack trace if a stream cannot be written. A reader that closes the pipe
 * early (`pinbench run | head -1`) has all it wants; writeStdout reports other errors of stdout.
 */
export function surviveStreamErrors(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
}

const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));

/**
 * If its terminal has gone when it ends, Node aborts with a core dump, because it cannot restore the terminal's modes.
 * After this call such a process ends by SIGHUP instead, once everything is written.
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
 * Writes data to stdout and waits until it is written. Rejects with an "output" PinbenchError. Bypasses process.stdout,
 * which treats a write that a full disk has cut short as complete.
 */
export async function writeStdout(text: string): Promise<void> {
  // At the start: a terminal that has closed is no terminal any more.
  const isTerminal = process.stdout.isTTY === true;
  try {
    await writeToStream("/dev/stdout", text);
  } catch (cause) {
    // A closed terminal is like a reader that has gone.
    if (isTerminal && errorCode(cause) === "EIO") return;
    throw new PinbenchError("output", cannotWrite("stdout", cause).message, {
      hint: "Redirect it to another place.",
      cause,
    });
  }
}

/**
 * Whether the locale in these variables can show more than ASCII. As in systemd, an unset one counts as that of a
 * container or a job, whose readers use UTF-8; "C" and "POSIX" mean ASCII.
 */
export function showsUnicode({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG || "";
  return locale === "" || /utf-?8/i.test(locale);
}

/** Fewest columns of the layout; a narrower terminal breaks lines itself. */
const fewestColumns = 40;

/** Width of a stream: its terminal's; otherwise COLUMNS, as in a shell; otherwise the usual one. */
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

/** Writes sentences to stderr; lines that are too long for its terminal continue below, indented. */
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
 * Reports an error on stderr: one sentence, and a hint what to do. An error without a sentence is a bug, and its stack
 * follows. Returns the exit code.
 */
export function reportError(error: unknown, options: { command?: string } = {}): number {
  if (isCommanderError(error)) {
    // Help and version are "errors" of commander with exit code 0, and have been printed already.
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

/** Messages of commander, and our wording: flags without short forms and values. */
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

/** Recognised by its code, so that commands that parse nothing need not load commander. */
function isCommanderError(error: unknown): error is CommanderError {
  return error instanceof Error && "code" in error && String(error.code).startsWith("commander.");
}

function ourFault(error: unknown): PinbenchError {
  const message = error instanceof Error ? error.message : String(error);
  return new PinbenchError("measurement", message, { hint: "This is a bug in pinbench:" });
}

/** One line, unless there are details: then these and the hint have lines of their own. */
function writeError({ kind, message, sentence, details, hint }: PinbenchError): void {
  // For a program that runs pinbench, as the wheel's Python does.
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
