import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Reads /proc on processes that a test has started. */

/** An ended process stays in the list until it is reaped, which may take a while for an orphan. */
export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** Threads of Node alone, before a device is opened. */
const threadsOfNode = 12;

/**
 * Waits until pinbench is within a slow copy of the emulated device: its threads exist, one for each of `workers`, and
 * none has run for a while. Throws if the process ends first.
 */
export async function untilInSlowCopy(pid: number, workers = 1): Promise<void> {
  for (let before = ""; ; ) {
    await sleep(300);
    const threads = activity(pid);
    const isWaiting =
      threads.length >= threadsOfNode + workers && threads.every((thread) => thread.startsWith("S "));
    const now = threads.join();
    if (isWaiting && now === before) return;
    before = now;
  }
}

/** Each thread's state and CPU time, such as "S 12 3"; without threads that end meanwhile. */
function activity(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((id) => {
    let stat: string;
    try {
      stat = readFileSync(`/proc/${pid}/task/${id}/stat`, "utf8");
    } catch {
      return [];
    }
    // After the name, which may have spaces.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return [[fields[0], fields[11], fields[12]].join(" ")];
  });
}

/** An environment variable that marks processes, to find those that an interrupted one leaves behind. */
export const markName = "PINBENCH_TEST_MARK";
let marks = 0;
export const nextMark = () => `${process.pid}-${++marks}`;

/** The ids of processes with this mark that run this command; an ended one has no arguments. */
export function measuring(mark: string, command: "measure" | "worker" = "measure"): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const words = (file: string) => readFileSync(`/proc/${name}/${file}`, "utf8").split("\0");
        return words("cmdline").includes(command) && words("environ").includes(`${markName}=${mark}`);
      } catch {
        return false;
      }
    });
}

/** The ids of processes with this mark. */
export function processesWith(mark: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && readOf(pid, "environ").split("\0").includes(`${markName}=${mark}`));
}

export function commandLine(pid: number): string {
  return readOf(pid, "cmdline").replaceAll("\0", " ");
}

/** Empty for an ended process. */
function readOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}
