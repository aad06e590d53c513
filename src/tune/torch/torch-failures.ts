import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describeExit } from "../../host/child.js";
import type { Exit } from "../../host/python/python-process.js";
import { describeSetting } from "../../results/loader-setting.js";
import type { LoaderSetting, TrialFailure } from "../../results/tuning.js";
import { hangFailure } from "../silence.js";
import type { ProbeProcess } from "./torch-messages.js";

/**
 * The failure of a trial without a batch for `timeoutNs`, with the place where the user's code hangs. Finding the place
 * may end the processes, so kill them afterwards.
 */
export async function hangOf(
  probe: ProbeProcess,
  setting: LoaderSetting,
  { batches, timeoutNs }: { batches: number; timeoutNs: number },
): Promise<TrialFailure> {
  const where = await whereItHangs(probe);
  return hangFailure(setting, {
    ...{ batches, timeoutNs, at: where === null ? "" : `, which hangs at ${where.place}` },
    cause:
      setting.numWorkers === 0
        ? null
        : "A common cause is a lock, thread or connection made before the workers were forked: make it in each worker.",
    traceback: where?.traceback ?? probe.stderrTail,
  });
}

/** The failure of a trial whose process ended during it. */
export function deathFailure(probe: ProbeProcess, exit: Exit, setting: LoaderSetting): TrialFailure {
  const where = whereItCrashed(probe.stderrTail ?? "");
  const at = where === null ? "" : `, at ${where.place}`;
  return {
    fault: "probe-died",
    message: `The Python process ${describeExit(exit)} with ${describeSetting(setting)}${at}.`,
    hint: usualHint(exit),
    traceback: where?.traceback ?? probe.stderrTail,
    everywhere: false,
  };
}

function usualHint({ signal }: Exit): string {
  if (signal === null) return "The data set, or a library that it uses, ended the process.";
  if (signal !== "SIGKILL") return "A library that the data set uses crashed.";
  return "Most likely memory ran out: see the kernel log (dmesg).";
}

/** faulthandler marks the thread that crashed as the current one. */
function whereItCrashed(stderr: string): Whereabouts | null {
  const crash = stderr.lastIndexOf("Fatal Python error");
  const thread = crash < 0 ? -1 : stderr.indexOf("Current thread ", crash);
  return thread < 0 ? null : readStack(stderr.slice(thread).split("\n\n")[0] ?? "");
}

/** Adds the last lines of stderr to a failure reported by Python, if a worker was killed without a traceback. */
export function completeFailure(failure: TrialFailure, stderrTail: string | null): TrialFailure {
  const said = failure.fault === "worker-killed" ? stderrTail : null;
  return { ...failure, traceback: failure.traceback ?? said };
}

/** Time for processes to write their stacks in a signal handler. */
const writeMs = 300;

interface Whereabouts {
  /** The user's innermost line, preferably in a worker: "train_data.py:17, in __getitem__". */
  place: string;
  traceback: string;
}

/**
 * Where the user's code hangs; null if unknown. Processes without a handler for the signal (workers.py) die of it, so
 * use this only before killing the probe.
 */
export async function whereItHangs(probe: ProbeProcess): Promise<Whereabouts | null> {
  probe.signalAll("SIGUSR2");
  await sleep(writeMs);
  const stacks = readdirSync(probe.scratch).filter((name) => name.endsWith(".stack"));
  // The main process comes last, because with workers it only waits for them.
  stacks.sort((a, b) => Number(a.startsWith("main")) - Number(b.startsWith("main")) || a.localeCompare(b));
  for (const name of stacks) {
    const found = readStack(readFileSync(join(probe.scratch, name), "utf8"));
    if (found !== null) return found;
  }
  return null;
}

/** Paths of Python and installed packages, which the user cannot change. */
const library =
  /(^<)|\/(site|dist)-packages\/|\/lib(64)?\/python3[^/]*\/|\/pinbench_tune\/|\/tune\/python\/main\.py$/;

/** The user's frames in faulthandler's output for one thread, innermost first; null without any. */
function readStack(text: string): Whereabouts | null {
  const frames = [...text.matchAll(/^ {2}File "(.+)", line (\d+) in (.+)$/gm)].map(
    ([, file = "", line = "", name = ""]) => ({ file, line, name }),
  );
  const first = frames.findIndex(({ file }) => !library.test(file));
  const innermost = frames[first];
  if (innermost === undefined) return null;
  const users = frames.filter(({ file }) => !library.test(file)).reverse();
  return {
    place: `${shorten(innermost.file)}:${innermost.line}, in ${innermost.name}`,
    traceback: users.map(({ file, line, name }) => `  File "${file}", line ${line}, in ${name}`).join("\n"),
  };
}

/** The path relative to the current folder, if it lies below. */
function shorten(file: string): string {
  try {
    const path = relative(realpathSync(process.cwd()), file);
    return path.startsWith("..") ? file : path;
  } catch {
    return file;
  }
}
