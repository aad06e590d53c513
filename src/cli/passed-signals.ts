import { endingSignals } from "../errors.js";

/**
 * Passes signals on to a process until `work`, which starts it, has ended. They are listened to before the start, because
 * they may come as soon as the process runs: unheard, one would end this process alone.
 */
export async function passingSignals<Result>(
  pass: (signal: NodeJS.Signals) => unknown,
  work: () => Promise<Result>,
): Promise<Result> {
  for (const signal of endingSignals) process.on(signal, pass);
  try {
    return await work();
  } finally {
    for (const signal of endingSignals) process.off(signal, pass);
  }
}
