import { endingSignals } from "../../errors.js";

/** How long a disk that hangs, or a lock that others hold, may hold off the end that a signal asks for. */
const patienceMs = 2000;

/** Calls of unbroken() that are under way. */
let underWay = 0;
/** What has come meanwhile; null for nothing. */
let held: NodeJS.Signals | null = null;
let patience: NodeJS.Timeout | undefined;

/**
 * Calls `work`, which has files or locks half made until it is done, and lets no SIGINT, SIGTERM or SIGHUP end the process
 * before: one that would have done so does when the work is over, or after 2 s. Where somebody else listens to signals
 * it is for them to say what becomes of one. Resolves and rejects as `work` does.
 */
export async function unbroken<T>(work: () => Promise<T>): Promise<T> {
  if (underWay++ === 0) for (const name of endingSignals) process.on(name, hold);
  try {
    return await work();
  } finally {
    // One that has come would be lost with its listener, which it reaches in the next round of the event loop: between
    // two immediates lies a whole one.
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    if (--underWay === 0) letGo();
  }
}

function hold(name: NodeJS.Signals): void {
  if (process.listenerCount(name) > 1 || held !== null) return;
  held = name;
  patience = setTimeout(letGo, patienceMs);
}

function letGo(): void {
  for (const name of endingSignals) process.off(name, hold);
  clearTimeout(patience);
  const name = held;
  held = null;
  if (name !== null) process.kill(process.pid, name);
}
