/** Exit codes of every command, as `pinbench help exit-codes` lists them. */
export const ExitCode = {
  ok: 0,
  regression: 1,
  usage: 2,
  unavailable: 3,
  measurement: 4,
  notComparable: 5,
  undecided: 6,
  wrongData: 7,
  hungUp: 129,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/**
 * The signals that end a command with its results so far, and their exit codes: 128 plus the signal's number, as in a
 * shell.
 */
export const signalExitCodes = {
  SIGHUP: ExitCode.hungUp,
  SIGINT: ExitCode.interrupted,
  SIGTERM: ExitCode.terminated,
} as const;

export const endingSignals = Object.keys(signalExitCodes) as (keyof typeof signalExitCodes)[];

/** If several exit codes apply, the first one counts. Only wrong data demands that the node is drained. */
const byPrecedence: readonly ExitCode[] = [
  ...Object.values(signalExitCodes),
  ExitCode.wrongData,
  ExitCode.notComparable,
  ExitCode.measurement,
  ExitCode.regression,
  ExitCode.undecided,
  ExitCode.unavailable,
  ExitCode.usage,
];

/** The exit code of a command to which all of these apply; null is ignored. */
export function exitCodeOf(...codes: readonly (ExitCode | null)[]): ExitCode {
  return byPrecedence.find((code) => codes.includes(code)) ?? ExitCode.ok;
}

/** Failures that a user can act on, with their exit codes. */
const exitCodes = {
  usage: ExitCode.usage,
  output: ExitCode.usage,
  limit: ExitCode.usage,
  unavailable: ExitCode.unavailable,
  unsupported: ExitCode.unavailable,
  measurement: ExitCode.measurement,
  notComparable: ExitCode.notComparable,
  wrongData: ExitCode.wrongData,
} as const;

/** The kind of a failure, which decides its exit code. */
export type ErrorKind = keyof typeof exitCodes;

/** Longer than our own sentences with paths; a longer message quotes a long value. */
const mostCharacters = 2000;

/** Cuts out the middle of a text that is too long to read. */
function shortened(text: string): string {
  if (text.length <= mostCharacters) return text;
  const kept = mostCharacters / 2;
  return `${text.slice(0, kept)} … ${text.length - mostCharacters} more characters … ${text.slice(-kept)}`;
}

/** An error whose message is for the user: one sentence on what happened and why; `hint` says what to do. */
export class PinbenchError extends Error {
  override readonly name = "PinbenchError";
  readonly kind: ErrorKind;
  readonly hint: string | null;
  /** The message without `details`, which follow it on indented lines. */
  readonly sentence: string;
  readonly details: readonly string[];

  constructor(
    kind: ErrorKind,
    message: string,
    options: { hint?: string | undefined; cause?: unknown; details?: readonly string[] } = {},
  ) {
    const { cause, details = [] } = options;
    const sentence = shortened(message);
    super([sentence, ...details].join("\n  "), cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.sentence = sentence;
    this.details = details;
    this.hint = options.hint === undefined ? null : shortened(options.hint);
  }

  get exitCode(): ExitCode {
    return exitCodes[this.kind];
  }
}

/** The code of an error of the system, Node or the addon, such as ENOENT; null without one. */
export function errorCode(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}
