import { ExitCode } from "../errors.js";

const exitCodes = { SIGINT: ExitCode.interrupted, SIGTERM: ExitCode.terminated } as const;

/**
 * Turns the first SIGINT or SIGTERM into an abort, which leaves time to write what was measured. The second one
 * ends the process at once, as if nobody had listened: a driver call in flight must not hold it.
 */
export class Interruption {
  readonly #controller = new AbortController();
  #exitCode: ExitCode | null = null;

  constructor() {
    process.on("SIGINT", this.#onSignal);
    process.on("SIGTERM", this.#onSignal);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** 130 or 143 after a signal; null before. */
  get exitCode(): ExitCode | null {
    return this.#exitCode;
  }

  dispose(): void {
    process.off("SIGINT", this.#onSignal);
    process.off("SIGTERM", this.#onSignal);
  }

  readonly #onSignal = (name: NodeJS.Signals): void => {
    if (this.#exitCode !== null) {
      this.dispose();
      process.kill(process.pid, name);
      return;
    }
    this.#exitCode = exitCodes[name as keyof typeof exitCodes];
    this.#controller.abort();
  };
}
