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
 * Keeps Node from ending the process with a stack when a stream cannot be written. A reader that closes the pipe early
 * (`pinbench run | head -1`) has what it wants; what else is wrong with stdout, writeStdout reports.
 */
export function surviveStreamErrors(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
}

/** Of stdin, stdout and stderr, those that were a terminal at first. */
const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));

/**
 * Node aborts, with a core dump, where a terminal that it was started at is gone when it ends, as it cannot restore its
 * modes. From this call on, such a process ends by SIGHUP instead, which says what has happened; only then, when all is
 * written.
 */
export function surviveClosedTerminal(): void {
  process.off("exit", endWithTerminal);
  process.on("exit", endWithTerminal);
}

function endWithTerminal(): void {
  if (terminals.every((descriptor) => isatty(descriptor))) return;
  // Without a listener it is the system that acts on it, at once.
  process.removeAllListeners("SIGHUP");
  process.kill(process.pid, "SIGHUP");
}

/**
 * Writes data to stdout and waits until it is handed over. Rejects with an "output" PinbenchError. Goes past
 * process.stdout, which takes a write that a full disk has cut short for a whole one.
 */
export async function writeStdout(text: string): Promise<void> {
  // As it was at first: one that has closed is no terminal any more.
  const isTerminal = process.stdout.isTTY === true;
  try {
    await writeToStream("/dev/stdout", text);
  } catch (cause) {
    // A terminal that has closed is a reader that is gone.
    if (isTerminal && errorCode(cause) === "EIO") return;
    throw new PinbenchError("output", cannotWrite("stdout", cause).message, {
      hint: "Redirect it to another place.",
      cause,
    });
  }
}

/**
 * Whether a locale of these variables can show more than ASCII. As systemd does, one that nobody has set is taken to be a
 * container's or a job's, whose readers know UTF-8; "C" and "POSIX" are taken at their word.
 */
export function showsUnicode({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG || "";
  return locale === "" || /utf-?8/i.test(locale);
}

/** Fewest columns that texts are laid out for; a narrower terminal breaks lines itself. */
const fewestColumns = 40;

/** How wide a stream is: as its terminal is; else as COLUMNS says, as it does in a shell; else as usual. */
export function columnsOf({ isTTY, columns }: Pick<WriteStream, "isTTY" | "columns">, usual: number): number {
  const ofTerminal = isTTY ? columns : 0;
  const said = /^\d{1,5}$/.test(process.env.COLUMNS ?? "") ? Number(process.env.COLUMNS) : 0;
  // A terminal may say that it has none.
  return Math.max(fewestColumns, ofTerminal || said || usual);
}

/** What help and all that goes to stderr is put through: in ASCII alone where that was asked for, or nothing else can be shown. */
let shown = (text: string): string => text;

/** Says once, before anything is written, whether --ascii was given. */
export function beginTerminal({ ascii }: { ascii: boolean }): void {
  shown = ascii || !showsUnicode(process.env) ? asciiText : (text) => text;
}

/** The text as stderr can show it: in ASCII alone where that is all it can. */
export function shownText(text: string): string {
  return shown(text);
}

/** Writes to stderr, in ASCII where that is all it can show. */
function writeStderr(text: string): void {
  process.stderr.write(shown(text));
}

/** Writes sentences to stderr; lines that its terminal has no room for go on below, indented. */
function writeMessage(text: string): void {
  const columns = process.stderr.isTTY === true ? columnsOf(process.stderr, 80) : Number.POSITIVE_INFINITY;
  const lines = shown(text)
    .split("\n")
    .flatMap((line) => brokenAtBlanks(line, columns));
  process.stderr.write(`${lines.join("\n")}\n`);
}

/** Without what tables are drawn with, which a short message need not load. */
function brokenAtBlanks(text: string, columns: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > columns) {
    const indent = rest.search(/\S/);
    const end = rest.lastIndexOf(" ", columns);
    const at = end > indent ? end : rest.indexOf(" ", columns);
    if (at < 0) break;
    lines.push(rest.slice(0, at));
    rest = `  ${rest.slice(at + 1)}`;
  }
  return [...lines, rest];
}

/** Writes a command's help to stdout. */
export function writeHelp(text: string): void {
  process.stdout.write(shown(text));
}

/** Writes lines to stderr that are no errors; none at all with --quiet. */
export function noter({ quiet }: { quiet: boolean }): (text: string) => void {
  return (text) => {
    if (!quiet) writeMessage(`pinbench: ${printableText(text)}`);
  };
}

/** Says on stderr what went wrong, in one sentence and what to do about it; returns the exit code. */
export function reportError(error: unknown, options: { debug: boolean; command?: string }): number {
  if (isCommanderError(error)) {
    // Help and version are "errors" of commander's with exit code 0; they have been printed already.
    if (error.exitCode === 0) return ExitCode.ok;
    if (error.code !== "commander.help") {
      const lines = error.message.replace(/^error: /, "").split("\n");
      const message = inOurWords(lines.map((line) => line.trim()).join(" "));
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
  if (options.debug) writeStderr(`${describeStack(error).split("\n").map(printableText).join("\n")}\n`);
  return known?.exitCode ?? ExitCode.measurement;
}

/** What commander says, and how it reads here: flags without their short forms and values. */
const ourWords: readonly (readonly [RegExp, string])[] = [
  [/ \(Did you mean (.*)\?\)$/s, ". Did you mean $1?"],
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

function inOurWords(message: string): string {
  return ourWords.reduce((text, [theirs, ours]) => text.replace(theirs, ours), message);
}

/** By its code, so that commands that parse nothing need not load commander. */
function isCommanderError(error: unknown): error is CommanderError {
  return error instanceof Error && "code" in error && String(error.code).startsWith("commander.");
}

/** What is printed of an error that nobody has foreseen. */
function ourFault(error: unknown): PinbenchError {
  const message = error instanceof Error ? error.message : String(error);
  const hint = "This is a fault in pinbench; --debug shows where.";
  return new PinbenchError("measurement", message, { hint });
}

/** One line, unless there are details: these are lines of their own, and the hint is too. */
function writeError({ sentence, details, hint }: PinbenchError): void {
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
