import { spawn } from "node:child_process";
import { ExitCode } from "../errors.js";
import { programPath } from "../package-facts.js";
import { formatDuration } from "../settings/units.js";

/** Set for the process that a deadline watches over, so that it does not watch over itself. */
const variable = "PINBENCH_WATCHED";

/** Whether this process was started by endBy(): its channel closes when the time to finish has come. */
export const isWatched = process.env[variable] === "1";

/** How long before the deadline the command is asked to end with what it has, at most half of the time there is. */
const finishMs = 4000;

/** Kept for ending by force, and for this process to end itself. */
const forceMs = 150;

/**
 * Carries out this process' command line in another process, which is over by `deadlineNs` after this one's start
 * whatever hangs: a driver's call can hold all of a process, its exit included, but not the one that watches over it.
 * Shortly before, it is asked to end with what it has, as by an interruption. Resolves with its exit code, or with 4
 * where the deadline came first.
 */
export async function endBy(deadlineNs: number, argv: readonly string[]): Promise<ExitCode> {
  const child = spawn(process.execPath, [programPath, ...argv], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: { ...process.env, [variable]: "1" },
  });
  const pass = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, pass);
  const leftMs = deadlineNs / 1e6 - performance.now();
  let isLate = false;
  const finish = setTimeout(
    () => {
      isLate = true;
      if (child.connected) child.disconnect();
    },
    leftMs - Math.min(finishMs, leftMs / 2),
  );
  const force = setTimeout(() => child.kill("SIGKILL"), leftMs - forceMs);
  try {
    const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      child.on("exit", (...ended) => resolve(ended));
      child.on("error", reject);
    });
    if (isLate) {
      const left =
        signal === "SIGKILL" ? "it no longer answered, and was ended by force" : "it ended with what it had";
      process.stderr.write(`pinbench: the deadline of ${formatDuration(deadlineNs)} came: ${left}.\n`);
      return ExitCode.measurement;
    }
    if (signal !== null) process.kill(process.pid, signal);
    return (code ?? ExitCode.measurement) as ExitCode;
  } finally {
    clearTimeout(finish);
    clearTimeout(force);
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, pass);
  }
}
