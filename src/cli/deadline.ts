import { spawn } from "node:child_process";
import { ExitCode, endingSignals } from "../errors.js";
import { programPath } from "../package-facts.js";
import { formatDuration } from "../settings/units.js";

/** Set for the process that a deadline watches over, so that it does not watch over itself. */
const variable = "PINBENCH_WATCHED";

/** Whether this process was started by endBy(): its channel closes when the time to finish has come. */
export const isWatched = process.env[variable] === "1" && process.connected !== undefined;

// What this process starts is watched over by nobody but itself.
delete process.env[variable];

/** How long before the deadline the command is asked to end with what it has, at most half of the time there is. */
const finishMs = 4000;

/** How long before the deadline what still runs is killed. */
const killMs = 150;

/**
 * Carries out this process' command line in another process, and is over by `deadlineNs` after this one's start
 * whatever hangs: a driver's call can hold all of a process, its exit included, but not the one that watches over it.
 * Shortly before, the other one is asked to end with what it has, as by an interruption. Resolves with its exit code,
 * or with 4 where it had to be killed, or does not even die.
 */
export async function endBy(deadlineNs: number, argv: readonly string[]): Promise<ExitCode> {
  const child = spawn(process.execPath, [programPath, ...argv], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: { ...process.env, [variable]: "1" },
  });
  const pass = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of endingSignals) process.on(signal, pass);
  const leftMs = deadlineNs / 1e6 - performance.now();
  let isLate = false;
  const at = (delayMs: number, act: () => void) =>
    setTimeout(() => {
      isLate = true;
      act();
    }, delayMs);
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    const timers = [
      at(leftMs - Math.min(finishMs, leftMs / 2), () => child.connected && child.disconnect()),
      at(leftMs - killMs, () => child.kill("SIGKILL")),
      // A process in a call that the kernel does not interrupt is left behind.
      at(leftMs, () => resolve([null, "SIGKILL"])),
    ];
    child.on("exit", (...ended) => resolve(ended));
    child.on("error", reject);
    for (const event of ["exit", "error"]) child.on(event, () => timers.forEach(clearTimeout));
  }).finally(() => {
    for (const signal of endingSignals) process.off(signal, pass);
    child.unref();
  });
  if (isLate) {
    const end =
      signal === null ? "it stopped, and kept what it had measured" : "it did not respond, and was killed";
    process.stderr.write(`pinbench: the deadline of ${formatDuration(deadlineNs)} was reached: ${end}.\n`);
    return (code ?? ExitCode.measurement) as ExitCode;
  }
  if (signal !== null) process.kill(process.pid, signal);
  return (code ?? ExitCode.measurement) as ExitCode;
}
