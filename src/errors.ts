/** Exit codes of every command; docs and help list them from here. */
export const ExitCode = {
  ok: 0,
  regression: 1,
  usage: 2,
  unavailable: 3,
  measurement: 4,
  notComparable: 5,
  inconclusive: 6,
  hungUp: 129,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** The signals that end a command with what it has, and the exit code of each: 128 and the signal's number, as of a shell. */
export const signalExitCodes = {
  SIGHUP: ExitCode.hungUp,
  SIGINT: ExitCode.interrupted,
  SIGTERM: ExitCode.terminated,
} as const;

/** Their names. */
export const endingSignals = Object.keys(signalExitCodes) as (keyof typeof signalExitCodes)[];

/** The kinds of failure a user can act on, each with its exit code. */
const exitCodes = {
  usage: ExitCode.usage,
  output: ExitCode.usage,
  limit: ExitCode.usage,
  unavailable: ExitCode.unavailable,
  unsupported: ExitCode.unavailable,
  measurement: ExitCode.measurement,
  notComparable: ExitCode.notComparable,
} as const;

/** What kind of failure it is; its exit code follows. */
export type ErrorKind = keyof typeof exitCodes;

/** More characters than a sentence has with the paths in it: what is beyond is a value that it quotes. */
const mostCharacters = 2000;

/** The text without its middle where it is longer than anybody reads. */
function shortened(text: string): string {
  if (text.length <= mostCharacters) return text;
  const kept = mostCharacters / 2;
  return `${text.slice(0, kept)} … ${text.length - mostCharacters} more characters … ${text.slice(-kept)}`;
}

/** An error whose message is for the user: one sentence that says what and why; `hint` says what to do. */
export class PinbenchError extends Error {
  override readonly name = "PinbenchError";
  readonly kind: ErrorKind;
  readonly hint: string | null;
  /** The message without `details`, which follow it on indented lines of their own. */
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

/** The system's name of what went wrong, such as ENOENT; null where it is no error of the system's. */
export function errorCode(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}
