import { type ChildProcess, spawn } from "node:child_process";
import { ExitCode } from "../errors.js";
import { programPath } from "../package-facts.js";
import { formatDuration } from "../settings/units.js";
import { passingSignals } from "./passed-signals.js";

/** Tells the child process of endBy() that a watcher exists already. */
const variable = "PINBENCH_WATCHED";

/** Whether endBy() started this process. Its IPC channel then closes when it is time to finish. */
export const isWatched = process.env[variable] === "1" && process.connected !== undefined;

// Removed so that this process' own children do not count as watched.
delete process.env[variable];

/** Time before the deadline at which the command is asked to finish; at most half of the available time. */
const finishMs = 4000;

export function finishAfterMs(leftMs: number): number {
  return leftMs - Math.min(finishMs, leftMs / 2);
}

/** Time before the deadline at which a command that still runs is killed. */
const killMs = 150;

/**
 * Runs this command line in another process, and resolves by `deadlineNs` after the start of this one, even if a driver
 * call hangs: that can block a whole process and its exit, but not the process that watches it. Shortly before, asks
 * the process to finish with its results, like an interruption. Resolves with its exit code, or with 4 if it had to be
 * killed or does not die.
 */
export async function endBy(deadlineNs: number, argv: readonly string[]): Promise<ExitCode> {
  let child: ChildProcess;
  let isLate = false;
  const at = (delayMs: number, act: () => void) =>
    setTimeout(() => {
      isLate = true;
      act();
    }, delayMs);
  const run = () =>
    new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      child = spawn(process.execPath, [programPath, ...argv], {
        stdio: ["inherit", "inherit", "inherit", "ipc"],
        env: { ...process.env, [variable]: "1" },
      });
      const leftMs = deadlineNs / 1e6 - performance.now();
      const timers = [
        at(finishAfterMs(leftMs), () => child.connected && child.disconnect()),
        at(leftMs - killMs, () => child.kill("SIGKILL")),
        // A process in an uninterruptible system call is left behind.
        at(leftMs, () => resolve([null, "SIGKILL"])),
      ];
      child.on("exit", (...ended) => resolve(ended));
      child.on("error", reject);
      for (const event of ["exit", "error"]) child.on(event, () => timers.forEach(clearTimeout));
    }).finally(() => child.unref());
  const [code, signal] = await passingSignals((signal) => child.kill(signal), run);
  if (isLate) {
    const end =
      signal === null ? "it stopped, and kept what it had measured" : "it did not respond, and was killed";
    process.stderr.write(`pinbench: the deadline of ${formatDuration(deadlineNs)} was reached: ${end}.\n`);
    return (code ?? ExitCode.measurement) as ExitCode;
  }
  if (signal !== null) process.kill(process.pid, signal);
  return (code ?? ExitCode.measurement) as ExitCode;
}
