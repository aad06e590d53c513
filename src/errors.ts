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

/** An error whose message is for the user: one sentence that says what and why; `hint` says what to do. */
export class PinbenchError extends Error {
  override readonly name = "PinbenchError";
  readonly kind: ErrorKind;
  readonly hint: string | null;

  constructor(
    kind: ErrorKind,
    message: string,
    options: { hint?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.hint = options.hint ?? null;
  }

  get exitCode(): ExitCode {
    return exitCodes[this.kind];
  }
}

/** The system's name of what went wrong, such as ENOENT; null where it is no error of the system's. */
export function errorCode(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}
