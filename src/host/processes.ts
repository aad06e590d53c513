import { type ChildProcess, spawn } from "node:child_process";
import { readlinkSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../package-facts.js";
import { countIn, fieldOf, listNames, readText } from "./files.js";

/** Process groups that this process has started, and that are not to outlive it. */

/** Sends a signal to all of a group; 0 only asks. False where there is nothing of the group any more. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch {
    return false;
  }
}

/** Messages to a guard: nothing is left to do; and the prefix of a group that has ended. */
const dismissal = "done";
const ended = "ended";

/**
 * A process besides, with a session of its own, that ends groups where this process is killed and cannot do so itself.
 * Over stdin it is told groups, a number a line, those that have ended, and in the end a word. The end of stdin without that
 * word says that this process was killed.
 */
export class Guard {
  readonly #process: ChildProcess;

  /** `program` runs compiled: its path in dist/program/. What it does begins with untilKilled(). */
  constructor(program: string, args: readonly string[]) {
    this.#process = spawn(process.execPath, [join(packageRoot, "dist/program", program), ...args], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
      cwd: "/",
    });
    this.#process.on("error", () => undefined);
    this.#process.stdin?.on("error", () => undefined);
    this.#process.unref();
  }

  /** There is another group to end; undefined where a process did not start. */
  watch(group: number | undefined): void {
    if (group !== undefined) this.#process.stdin?.write(`${group}\n`);
  }

  /** Nothing of a group is left, and its number may be that of another one from now on. */
  forget(group: number): void {
    this.#process.stdin?.write(`${ended} ${group}\n`);
  }

  /** It has nothing left to do. */
  dismiss(): void {
    this.#process.stdin?.end(`${dismissal}\n`);
  }
}

/** In the guard's own process: the groups to end after its parent was killed; null if it was dismissed. */
export async function untilKilled(): Promise<number[] | null> {
  // It has a session of its own; what is left are those that somebody sends to each process of the user's.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
  let said = "";
  try {
    for await (const text of process.stdin.setEncoding("utf8")) said += text;
  } catch {
    // An end of another kind.
  }
  if (said.includes(dismissal)) return null;
  const groups = new Set<number>();
  for (const line of said.split("\n").filter((one) => one !== "")) {
    if (line.startsWith(ended)) groups.delete(Number(line.slice(ended.length)));
    else groups.add(Number(line));
  }
  return [...groups];
}

/** What the kernel tells of a process in /proc/PID/stat (proc_pid_stat(5)). */
interface ProcessStat {
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

/** Threads that Node starts for itself. Without room for all of them it is aborted, or hangs, before it can say why. */
const threadsOfNode = 12;

/** Capabilities that the limit does not hold for (capabilities(7)): CAP_SYS_ADMIN and CAP_SYS_RESOURCE. */
const exempting = (1n << 21n) | (1n << 24n);

/**
 * Whether this user may start this many more processes of Node: what RLIMIT_NPROC leaves, which counts the threads of all
 * of a user's processes. True where there is no such limit, or /proc does not tell.
 */
export function hasRoomForProcesses(count: number, root = "/"): boolean {
  const limit = /^Max processes +(\d+)/m.exec(readText(root, "proc/self/limits") ?? "")?.[1];
  const own = readText(root, "proc/self/status");
  const user = userOf(own);
  if (limit === undefined || user === null || user === "0") return true;
  if ((BigInt(`0x${fieldOf(own, "CapEff") ?? "0"}`) & exempting) !== 0n) return true;
  return threadsOfUser(user, root) + count * threadsOfNode <= Number(limit);
}

/** What the system itself would refuse them with, for shortageOf() to say in words. */
export function noRoomForProcesses(): Error {
  return Object.assign(new Error("no room for another process"), { code: "EAGAIN" });
}

function threadsOfUser(user: string, root: string): number {
  let threads = 0;
  for (const name of listNames(root, "proc")) {
    if (!/^\d+$/.test(name)) continue;
    const status = readText(root, `proc/${name}/status`);
    if (userOf(status) === user) threads += Number(fieldOf(status, "Threads") ?? 0);
  }
  return threads;
}

/** The real user's id in a text of /proc/PID/status. */
function userOf(status: string | null): string | null {
  return fieldOf(status, "Uid")?.split(/\s+/, 1)[0] ?? null;
}

const folder = "/dev/shm";

/** Names that torch, multiprocessing, joblib and NCCL give their shared memory; a data set's files have others. */
const knownNames = /^(torch_\d+_|psm_|nccl-|sem\.(mp-|loky-))/;

/** Torch names what a process shares after that process. */
const madeByTorch = /^torch_(\d+)_/;

/**
 * Whether a process is Python's resource tracker or torch's torch_shm_manager. They remove the shared memory of processes
 * that have died and then end by themselves; killing them sooner would leave the memory behind.
 */
export function keepsSharedMemory(pid: number): boolean {
  const command = readText("/", `proc/${pid}/cmdline`) ?? "";
  return /multiprocessing\.resource_tracker|torch_shm_manager/.test(command);
}

/** The shared memory with names that a user's processes leave in /dev/shm if they are killed. */
export class LeftSharedMemory {
  readonly #startedMs = Date.now();
  readonly #names = new Set<string>();

  /** Keeps the names of what these processes have open or mapped: nothing tells whose it was when they are gone. */
  note(pids: readonly number[]): void {
    for (const pid of pids) {
      for (const name of sharedNames(pid)) if (knownNames.test(name)) this.#names.add(name);
    }
  }

  /** Removes what was noted, and what torch named after one of `makers`, unless it is older than this object. */
  remove(makers: ReadonlySet<number>): void {
    for (const name of listNames("/", folder)) {
      const maker = madeByTorch.exec(name)?.[1];
      if (!this.#names.has(name) && !(maker !== undefined && makers.has(Number(maker)))) continue;
      const path = join(folder, name);
      try {
        if (statSync(path).birthtimeMs >= this.#startedMs) rmSync(path, { force: true });
      } catch {
        // It has gone.
      }
    }
  }
}

/** Names in /dev/shm that a process has mapped or open. */
function sharedNames(pid: number): string[] {
  const maps = readText("/", `proc/${pid}/maps`) ?? "";
  const mapped = [...maps.matchAll(/ \/dev\/shm\/(\S+)$/gm)].map(([, name]) => name!);
  const opened = listNames("/", `proc/${pid}/fd`).flatMap((fd) => {
    try {
      return /^\/dev\/shm\/(\S+)$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
    } catch {
      return [];
    }
  });
  return [...mapped, ...opened];
}
