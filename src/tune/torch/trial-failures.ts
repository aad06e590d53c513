import type { TrialFailure } from "../probe.js";
import { describeSetting, type LoaderSetting } from "../setting.js";
import type { Exit, ProbeProcess } from "./process.js";
import { readStack, type Whereabouts, whereItHangs } from "./whereabouts.js";

/** descriptors.py's. */
const closedCode = 84;

/** What to do about a process of which there is more to say than how it ended; null for all others. */
export function exitHint({ code }: Exit): string | null {
  return code === closedCode
    ? "os.closerange() and the like close what others have opened: close only what the data set itself opened."
    : null;
}

/** "was killed (SIGSEGV)", "ended with exit code 3". */
export function describeExit({ code, signal }: Exit): string {
  if (code === closedCode) return "ended because the data set closed pinbench's own file descriptor";
  return signal === null ? `ended with exit code ${code}` : `was killed (${signal})`;
}

/** Asks the processes where they are; they are to be killed after that. */
export async function hang(
  probe: ProbeProcess,
  setting: LoaderSetting,
  { batches, timeoutNs }: { batches: number; timeoutNs: number },
): Promise<TrialFailure> {
  const where = await whereItHangs(probe);
  const at = where === null ? "" : `, which hangs at ${where.place}`;
  const tail = probe.stderrTail;
  return {
    fault: "hang",
    message: `No ${batches === 0 ? "" : "further "}batch came within ${timeoutNs / 1e9} s with ${describeSetting(setting)}${at}.`,
    hint:
      setting.numWorkers === 0
        ? "If a batch takes that long by right, allow more time."
        : "A lock, thread or connection made before the workers were forked is often why: make it in each worker.",
    traceback: where?.traceback ?? (tail === "" ? null : tail),
    everywhere: false,
  };
}

/** The process is gone in the middle of a trial. */
export function died(probe: ProbeProcess, exit: Exit, setting: LoaderSetting): TrialFailure {
  const tail = probe.stderrTail;
  const where = whereItCrashed(tail);
  const at = where === null ? "" : `, at ${where.place}`;
  return {
    fault: "probe-died",
    message: `The Python process ${describeExit(exit)} with ${describeSetting(setting)}${at}.`,
    hint: exitHint(exit) ?? usualHint(exit),
    traceback: where?.traceback ?? (tail === "" ? null : tail),
    everywhere: false,
  };
}

function usualHint({ signal }: Exit): string {
  if (signal === null) return "The data set, or a library that it uses, ended the process.";
  if (signal !== "SIGKILL") return "A library that the data set uses crashed.";
  return "Most likely memory ran out, which the kernel log tells (dmesg).";
}

/** Python's faulthandler writes all threads, the one that crashed as the current one. */
function whereItCrashed(stderr: string): Whereabouts | null {
  const crash = stderr.lastIndexOf("Fatal Python error");
  const thread = crash < 0 ? -1 : stderr.indexOf("Current thread ", crash);
  return thread < 0 ? null : readStack(stderr.slice(thread).split("\n\n")[0] ?? "");
}

/** The failure as it is told, with what a dead worker said where nothing else is known. */
export function complete(failure: TrialFailure, stderrTail: string): TrialFailure {
  const { fault, message, hint, traceback, everywhere } = failure;
  const said = fault === "worker-killed" && stderrTail !== "" ? stderrTail : null;
  return { fault, message, hint, traceback: traceback ?? said, everywhere };
}
