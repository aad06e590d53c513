import { isWatched } from "./deadline.js";

/**
 * How long a driver call in flight may delay the end of a process. A process with a deadline may have to wait this long
 * for another one; usually its watcher ends it before.
 */
const orphanMs = isWatched ? 6000 : 2000;

/**
 * Ends this process after 2 s if it has not ended by itself: a driver call in flight keeps it alive, and so this timer.
 */
export function killAfterPatience(): void {
  setTimeout(() => process.kill(process.pid, "SIGKILL"), orphanMs).unref();
}
