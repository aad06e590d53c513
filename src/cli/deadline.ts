import { type ChildProcess, spawn } from "node:child_process";
import { ExitCode } from "../errors.js";
import { programPath } from "../package-facts.js";
import { formatDuration } from "../settings/units.js";
import { passingSignals } from "./passed-signals.js";

/** Set for the process under a deadline, so that it does not start a watcher again. */
const variable = "PINBENCH_WATCHED";

/** Whether endBy() started this process: its channel closes when it is time to finish. */
export const isWatched = process.env[variable] === "1" && process.connected !== undefined;

// Child processes are not watched by the deadline's process.
delete process.env[variable];

/** How long before the deadline the command is asked to finish; at most half of the available time. */
const finishMs = 4000;

export function finishAfterMs(leftMs: number): number {
  return leftMs - Math.min(finishMs, leftMs / 2);
}

/** How long before the deadline a command that still runs is killed. */
const killMs = 150;

/**
 * Runs this process' command line in another process, and resolves by `deadlineNs` after this one's start whatever
 * hangs: a driver call can block a whole process, even its exit, but not the watching one. Shortly before, the other
 * process is asked to finish with its results, as by an interruption. Resolves with its exit code, or with 4 if it had
 * to be killed or does not die.
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
        // A process in an uninterruptible call of the kernel is left behind.
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
