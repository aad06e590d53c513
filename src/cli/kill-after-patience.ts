import { isWatched } from "./deadline.js";

/**
 * How long a driver call may delay the exit. A process under a deadline may wait this long for another process, but
 * usually its watcher ends it before.
 */
const orphanMs = isWatched ? 6000 : 2000;

/** Kills this process if it has not ended after `orphanMs`, because a driver call in progress keeps it alive. */
export function killAfterPatience(): void {
  setTimeout(() => process.kill(process.pid, "SIGKILL"), orphanMs).unref();
}
