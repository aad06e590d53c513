import { endingSignals } from "../errors.js";

/**
 * Passes signals on to a process until `work`, which starts it, has ended. Listens before the start, because a signal
 * that comes too early would end only this process.
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
