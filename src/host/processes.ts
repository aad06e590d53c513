import { type ChildProcess, spawn } from "node:child_process";
import { readlinkSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { packageRoot } from "../package-facts.js";
import { countIn, fieldOf, listNames, readText } from "./files.js";

/** Sends a signal to a process group; 0 only checks. Returns false if the group has no process left. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch {
    return false;
  }
}

/** Messages to a guard: "done" dismisses it; "ended" precedes a group that has ended. */
const dismissal = "done";
const ended = "ended";

/**
 * A process in its own session that ends process groups if pinbench is killed. Its stdin gets the numbers of groups and
 * of ended groups, one per line, and finally a word. If stdin ends without that word, pinbench was killed.
 */
export class Guard {
  readonly #process: ChildProcess;

  /** `program` is a compiled program in dist/program/ that starts with untilKilled(). */
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

  watch(group: number | undefined): void {
    if (group !== undefined) this.#process.stdin?.write(`${group}\n`);
  }

  /** Must be called when a group has ended, because its number may be reused. */
  forget(group: number): void {
    this.#process.stdin?.write(`${ended} ${group}\n`);
  }

  dismiss(): void {
    this.#process.stdin?.end(`${dismissal}\n`);
  }
}

/** For the guard's process: the groups to end after its parent was killed; null if it was dismissed. */
export async function untilKilled(): Promise<number[] | null> {
  // In its own session, it gets these signals only from programs that signal all processes of the user.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
  let received = "";
  try {
    for await (const text of process.stdin.setEncoding("utf8")) received += text;
  } catch {
    // A broken pipe is an end of stdin too.
  }
  if (received.includes(dismissal)) return null;
  const groups = new Set<number>();
  for (const line of received.split("\n").filter((one) => one !== "")) {
    if (line.startsWith(ended)) groups.delete(Number(line.slice(ended.length)));
    else groups.add(Number(line));
  }
  return [...groups];
}

interface ProcessStat {
  /** Whether it has ended, even if its parent has not waited for it. */
  hasEnded: boolean;
  /** Whether SIGSTOP, Ctrl-Z or a debugger has stopped it. */
  isStopped: boolean;
  parent: number;
  group: number;
  cpuNs: number;
  /** Start time, which identifies a process together with its id. */
  started: string;
}

/** USER_HZ is 100 on x86-64 and arm64. */
export const msPerTick = 10;

/** Null if the process is gone or /proc is missing. */
export function readProcessStat(pid: number | string, root = "/"): ProcessStat | null {
  const text = readText(root, `proc/${pid}/stat`);
  if (text === null) return null;
  // "PID (NAME) STATE PARENT GROUP ...": the name may contain anything, so fields are counted after it.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state] = fields;
  const [parent, group, userTicks, systemTicks] = [1, 2, 11, 12].map((index) => countIn(fields[index]));
  if (parent == null || group == null || userTicks == null || systemTicks == null) return null;
  return {
    hasEnded: state === "Z" || state === "X",
    isStopped: state === "T" || state === "t",
    parent,
    group,
    cpuNs: (userTicks + systemTicks) * msPerTick * 1e6,
    started: fields[19] ?? "",
  };
}

/** Number of threads that Node starts for itself. If the limit stops them, it aborts or hangs without a message. */
const threadsOfNode = 12;

/** Capabilities that lift the limit (capabilities(7)): CAP_SYS_ADMIN and CAP_SYS_RESOURCE. */
const exempting = (1n << 21n) | (1n << 24n);

/**
 * Whether this user may start `count` more Node processes. RLIMIT_NPROC counts the threads of all the user's processes.
 * True without a limit or without /proc.
 */
export function hasRoomForProcesses(count: number, root = "/"): boolean {
  const limit = /^Max processes +(\d+)/m.exec(readText(root, "proc/self/limits") ?? "")?.[1];
  const own = readText(root, "proc/self/status");
  const user = userOf(own);
  if (limit === undefined || user === null || user === "0") return true;
  if ((BigInt(`0x${fieldOf(own, "CapEff") ?? "0"}`) & exempting) !== 0n) return true;
  return threadsOfUser(user, root) + count * threadsOfNode <= Number(limit);
}

/** The system's error for a full process table, which shortageOf() explains. */
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

/** The real user id in a text like /proc/PID/status. */
function userOf(status: string | null): string | null {
  return fieldOf(status, "Uid")?.split(/\s+/, 1)[0] ?? null;
}

const folder = "/dev/shm";

/** Names of shared memory from torch, multiprocessing, joblib and NCCL, as opposed to a data set's own files. */
const knownNames = /^(torch_\d+_|psm_|nccl-|sem\.(mp-|loky-))/;

/** Torch names shared memory after the process that shares it. */
const madeByTorch = /^torch_(\d+)_/;

/**
 * Whether a process is Python's resource tracker or torch's torch_shm_manager. They remove the shared memory of dead
 * processes and then end; killing them sooner would leave it behind.
 */
export function keepsSharedMemory(pid: number): boolean {
  const command = readText("/", `proc/${pid}/cmdline`) ?? "";
  return /multiprocessing\.resource_tracker|torch_shm_manager/.test(command);
}

/** Finds shared memory in /dev/shm that killed processes of the user left behind, by known names. */
export class LeftSharedMemory {
  readonly #startedMs = Date.now();
  readonly #names = new Set<string>();

  /** Records names that these processes have open or mapped, because their owner is unknown after they end. */
  note(pids: readonly number[]): void {
    for (const pid of pids) {
      for (const name of sharedNames(pid)) if (knownNames.test(name)) this.#names.add(name);
    }
  }

  /** Removes the recorded memory, and torch's memory of the processes `makers`, unless it is older than this object. */
  remove(makers: ReadonlySet<number>): void {
    for (const name of listNames("/", folder)) {
      const maker = madeByTorch.exec(name)?.[1];
      if (!this.#names.has(name) && !(maker !== undefined && makers.has(Number(maker)))) continue;
      const path = join(folder, name);
      try {
        if (statSync(path).birthtimeMs >= this.#startedMs) rmSync(path, { force: true });
      } catch {
        // It is gone.
      }
    }
  }
}

/** Processes, even ended ones, of a Python program that may have named shared memory; guard.py lists them. */
export function notedProcesses(scratch: string): number[] {
  const noted = listNames("/", scratch).flatMap((name) => /^process-(\d+)$/.exec(name)?.[1] ?? []);
  return noted.map(Number);
}

/** Removes a folder for sockets, and the semaphores named after it by guard.py, which killed workers leave. */
export function removeScratch(scratch: string): void {
  for (const name of listNames("/", folder)) {
    if (name.startsWith(`sem.${basename(scratch)}-`)) rmSync(join(folder, name), { force: true });
  }
  rmSync(scratch, { recursive: true, force: true });
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
