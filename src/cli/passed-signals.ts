import { endingSignals } from "../errors.js";

/** Slurm announces a job's end by SIGUSR1, at which Node would open its debugger instead. */
const passed: readonly NodeJS.Signals[] = [...endingSignals, "SIGQUIT", "SIGUSR1", "SIGUSR2"];

/**
 * Passes signals on to a process until `work`, which starts it, has ended. Listens before the start, because a signal
 * that comes too early would end only this process.
 */
export async function passingSignals<Result>(
  pass: (signal: NodeJS.Signals) => unknown,
  work: () => Promise<Result>,
): Promise<Result> {
  for (const signal of passed) process.on(signal, pass);
  try {
    return await work();
  } finally {
    for (const signal of passed) process.off(signal, pass);
  }
}
