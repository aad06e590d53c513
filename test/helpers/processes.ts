import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** What /proc tells of processes that a test has started. */

/** A process that has ended stays in the list until it is reaped, which for an orphan may take a while. */
export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** Of Node alone, before a device is opened. */
const threadsOfNode = 12;

/**
 * Waits until pinbench is in the middle of a copy that the emulated device makes slow: its threads are there, and none
 * of them has done anything for a while. Throws where the process ends first.
 */
export async function untilInSlowCopy(pid: number): Promise<void> {
  for (let before = ""; ; ) {
    await sleep(300);
    const threads = activity(pid);
    const isWaiting = threads.length > threadsOfNode && threads.every((thread) => thread.startsWith("S "));
    const now = threads.join();
    if (isWaiting && now === before) return;
    before = now;
  }
}

/** Each thread's state and the CPU time that it has had, such as "S 12 3"; nothing of one that ends meanwhile. */
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

/** A variable of the environment, to find the processes by that an interrupted one may leave behind. */
export const markName = "PINBENCH_TEST_MARK";
let marks = 0;
export const nextMark = () => `${process.pid}-${++marks}`;

/** The ids of the processes with this mark that run this command; one that has ended has no arguments. */
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

/** Whatever they run. */
export function processesWith(mark: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && readOf(pid, "environ").split("\0").includes(`${markName}=${mark}`));
}

export function commandLine(pid: number): string {
  return readOf(pid, "cmdline").replaceAll("\0", " ");
}

/** Empty for what has ended. */
function readOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}
