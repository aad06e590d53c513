import { listed } from "../draw/words.js";
import { ExitCode, endingSignals, signalExitCodes } from "../errors.js";
import { isWatched } from "./deadline.js";
import { noter } from "./output/terminal.js";

/**
 * How long a driver call in flight may hold a process that nobody waits for any more. One that a deadline watches over
 * may have to wait so long for another; its watcher ends it before, unless that is gone.
 */
const orphanMs = isWatched ? 6000 : 2000;

/** One Ctrl-C can come twice: from the terminal, and passed on by npm, which gets it as well. */
const sameSignalMs = 250;

/**
 * Ends this process in 2 s where it has not ended by itself: a driver's call in flight keeps it, and this timer, alive.
 */
export function killAfterPatience(): void {
  setTimeout(() => process.kill(process.pid, "SIGKILL"), orphanMs).unref();
}

/** Resolves with null when `signal` is aborted. */
export function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });
}

/**
 * Says that a command was interrupted before it had a figure, and which files it has therefore not touched: what an
 * earlier one left in them is worth more than a document of nothing.
 */
export function sayNothingMeasured(paths: readonly string[]): void {
  const files = paths.length === 0 ? "" : `: nothing was written to ${listed(paths)}`;
  noter({ quiet: false })(`interrupted, nothing was measured${files}.`);
}

/**
 * Turns the first SIGINT, SIGTERM or SIGHUP into an abort, which leaves time to write what was measured. The second one
 * ends the process at once, as if nobody had listened: a driver call in flight must not hold it. Only a further SIGHUP
 * does not: where a terminal closes, the kernel and the shell each send some.
 *
 * A process that was started with an IPC channel (as measureInFreshProcess() does) is aborted when the channel closes
 * as well: whoever started it asks for that, or is gone, SIGKILL included. It counts as no signal, because Ctrl-C
 * reaches both processes and must not come to be the second. For a process that a deadline watches over, the closing
 * says that the deadline is near.
 */
export class Interruption {
  readonly #controller = new AbortController();
  #exitCode: ExitCode | null = null;
  #signalledMs: number | null = null;

  constructor() {
    for (const name of endingSignals) process.on(name, this.#onSignal);
    process.on("disconnect", this.#onDisconnect);
    // Listening alone would keep the process running.
    process.channel?.unref();
    // Undefined without a channel, false where it has closed already.
    if (process.connected === false) this.#onDisconnect();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** 129, 130 or 143 after a signal, 4 where a deadline is near; null before. */
  get exitCode(): ExitCode | null {
    return this.#exitCode;
  }

  /**
   * What `work` comes to; null as soon as there is an abort. Work that cannot be cut short then no longer holds the
   * process for long.
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
    // What was one Ctrl-C may be yet to come a second time, and a process that is ending no longer listens.
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
    // Also after dispose().
    killAfterPatience();
  };

  #abort(exitCode: ExitCode): void {
    this.#exitCode ??= exitCode;
    this.#controller.abort();
  }
}
