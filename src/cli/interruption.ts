import { ExitCode } from "../errors.js";
import { isWatched } from "./deadline.js";

const exitCodes = { SIGINT: ExitCode.interrupted, SIGTERM: ExitCode.terminated } as const;

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

/**
 * Turns the first SIGINT or SIGTERM into an abort, which leaves time to write what was measured. The second one
 * ends the process at once, as if nobody had listened: a driver call in flight must not hold it.
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
    process.on("SIGINT", this.#onSignal);
    process.on("SIGTERM", this.#onSignal);
    process.on("disconnect", this.#onDisconnect);
    // Listening alone would keep the process running.
    process.channel?.unref();
    // Undefined without a channel, false where it has closed already.
    if (process.connected === false) this.#onDisconnect();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** 130 or 143 after an interruption, 4 where a deadline is near; null before. */
  get exitCode(): ExitCode | null {
    return this.#exitCode;
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
    process.off("SIGINT", this.#onSignal);
    process.off("SIGTERM", this.#onSignal);
  }

  readonly #onSignal = (name: NodeJS.Signals): void => {
    if (this.#signalledMs !== null) {
      if (performance.now() - this.#signalledMs < sameSignalMs) return;
      this.#stopListening();
      process.kill(process.pid, name);
      return;
    }
    this.#signalledMs = performance.now();
    this.#abort(exitCodes[name as keyof typeof exitCodes]);
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
