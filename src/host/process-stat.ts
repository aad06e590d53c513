import { countIn, readText } from "./files.js";

/** What the kernel tells of a process in /proc/PID/stat (proc_pid_stat(5)). */
export interface ProcessStat {
  /** Nothing of it runs any more, though nobody may have waited for it yet. */
  hasEnded: boolean;
  /** By SIGSTOP or Ctrl-Z, or by a debugger. */
  isStopped: boolean;
  parent: number;
  group: number;
  /** CPU time of all its threads. */
  cpuNs: number;
  /** When it started: with its id the name of one process. */
  started: string;
}

/** USER_HZ is 100 on x86-64. */
const nsPerTick = 10e6;

/** Null where the process is gone, or /proc does not tell. */
export function readProcessStat(pid: number | string, root = "/"): ProcessStat | null {
  const text = readText(root, `proc/${pid}/stat`);
  if (text === null) return null;
  // "PID (NAME) STATE PARENT GROUP ...", where the name may hold anything. The fields are counted from the third on.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state] = fields;
  const [parent, group, userTicks, systemTicks] = [1, 2, 11, 12].map((index) => countIn(fields[index]));
  if (parent == null || group == null || userTicks == null || systemTicks == null) return null;
  return {
    hasEnded: state === "Z" || state === "X",
    isStopped: state === "T" || state === "t",
    parent,
    group,
    cpuNs: (userTicks + systemTicks) * nsPerTick,
    started: fields[19] ?? "",
  };
}
