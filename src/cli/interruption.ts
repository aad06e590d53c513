import { listed } from "../draw/words.js";
import { ExitCode, endingSignals, signalExitCodes } from "../errors.js";
import { isWatched } from "./deadline.js";
import { killAfterPatience } from "./kill-after-patience.js";
import { noter } from "./output/terminal.js";

/** A second signal within this time is the same Ctrl-C: both the terminal and npm send it. */
const sameSignalMs = 250;

/** How long an interrupted command waits for the current driver call before it reports its results. */
export const callPatienceMs = 1000;

/** Resolves with null when `signal` is aborted. */
export function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });
}

/**
 * Reports an interruption before the first figure. Names the outputs that were left unchanged, because an older result
 * is worth more than an empty one.
 */
export function sayNothingMeasured(outputs: readonly string[]): void {
  const files = outputs.length === 0 ? "" : `: nothing was written to ${listed(outputs)}`;
  noter({ quiet: false })(`interrupted, nothing was measured${files}.`);
}

/**
 * Turns the first SIGINT, SIGTERM or SIGHUP into an abort, which leaves time to write the results. A second signal ends
 * the process at once, even during a driver call. A later SIGHUP is ignored, because the kernel and the shell each
 * send some when a terminal closes. A closed IPC channel (see measureInFreshProcess()) also aborts: the parent asks for
 * it or has died, even by SIGKILL. It does not count as a signal, because Ctrl-C reaches both processes. Under a
 * deadline, it means that the deadline is near.
 */
export class Interruption {
  readonly #controller = new AbortController();
  #exitCode: ExitCode | null = null;
  #signalledMs: number | null = null;

  constructor() {
    for (const name of endingSignals) process.on(name, this.#onSignal);
    process.on("disconnect", this.#onDisconnect);
    // The listener alone must not keep the process alive.
    process.channel?.unref();
    // Undefined without a channel, false if it is already closed.
    if (process.connected === false) this.#onDisconnect();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** 129, 130 or 143 after a signal, 130 after a closed channel (4 under a deadline); null otherwise. */
  get exitCode(): ExitCode | null {
    return this.#exitCode;
  }

  /**
   * The result of `work`, or null as soon as there is an abort. Work that goes on then delays the exit only briefly.
   */
  async unlessAborted<T>(work: Promise<T>): Promise<T | null> {
    const result = await Promise.race([work, aborted(this.signal)]);
    if (!this.signal.aborted) return result;
    work.catch(() => undefined);
    killAfterPatience();
    return null;
  }

  dispose(): void {
    process.off("disconnect", this.#onDisconnect);
    if (this.#signalledMs === null) {
      this.#stopListening();
      return;
    }
    // Stays alive for the second arrival of one Ctrl-C, which would end a process that no longer listens.
    setTimeout(() => undefined, sameSignalMs - (performance.now() - this.#signalledMs));
  }

  #stopListening(): void {
    for (const name of endingSignals) process.off(name, this.#onSignal);
  }

  readonly #onSignal = (name: NodeJS.Signals): void => {
    if (this.#signalledMs !== null) {
      if (name === "SIGHUP" || performance.now() - this.#signalledMs < sameSignalMs) return;
      this.#stopListening();
      process.kill(process.pid, name);
      return;
    }
    this.#signalledMs = performance.now();
    this.#abort(signalExitCodes[name as keyof typeof signalExitCodes]);
  };

  readonly #onDisconnect = (): void => {
    this.#abort(isWatched ? ExitCode.measurement : ExitCode.interrupted);
    // This also ends a process that hangs after dispose().
    killAfterPatience();
  };

  #abort(exitCode: ExitCode): void {
    this.#exitCode ??= exitCode;
    this.#controller.abort();
  }
}
