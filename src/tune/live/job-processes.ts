import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { readText } from "../../host/files.js";
import { keepsSharedMemory, LeftSharedMemory, readProcessStat, signalGroup } from "../../host/processes.js";

/** The environment variable with the hook's socket; its value identifies the processes of one job. */
export const socketVariable = "PINBENCH_TUNE_SOCKET";

/** Longest time for a job to end after Ctrl-C: a script may save its state. */
const interruptMs = 5000;
/** Longest time for remaining processes after the command has ended. */
const stragglerMs = 1000;
/** Longest time after SIGTERM. */
const terminateMs = 2000;
/** Longest time for the kernel to end killed processes: freeing pinned memory is slow. */
const killMs = 10_000;
/** Longest time for the keepers of named shared memory to remove it after all others have ended. */
const keeperMs = 1000;

/**
 * The processes of a job in any session: those with its mark in their environment, which children inherit, and
 * processes that these have started. A rank of torchrun has its own session, and a script may clear the environment.
 */
export class JobProcesses {
  readonly #mark: string;
  /**
   * Start time of each known process in clock ticks: a process with the same number and another time is another one.
   */
  readonly #seen = new Map<number, string>();
  /** The same for foreign processes, which are many: the mark is inherited, so they never get it later. */
  readonly #foreign = new Map<number, string>();
  readonly #shared = new LeftSharedMemory();

  constructor(socket: string) {
    this.#mark = `${socketVariable}=${socket}\0`;
  }

  list(): number[] {
    const running = new Map<number, { parent: number; started: string }>();
    for (const name of readdirSync("/proc")) {
      if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
      const stat = readProcessStat(name);
      if (stat !== null && !stat.hasEnded) running.set(Number(name), stat);
    }
    const own = new Set<number>();
    for (const [pid, { started }] of running) {
      if (this.#seen.get(pid) === started) own.add(pid);
      else if (this.#foreign.get(pid) !== started) {
        if (this.#isMarked(pid)) own.add(pid);
        else this.#foreign.set(pid, started);
      }
    }
    // Iterating a set includes members that are added meanwhile.
    for (const pid of own) {
      for (const [child, { parent }] of running) if (parent === pid) own.add(child);
    }
    for (const pid of own) this.#seen.set(pid, running.get(pid)!.started);
    return [...own];
  }

  /** Sends a signal to each running process. */
  signal(signal: NodeJS.Signals, pids = this.list()): void {
    for (const pid of pids) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended, or belongs to another user.
      }
    }
  }

  /**
   * Ends all of them, as Ctrl-C does and then by force. Then removes their shared memory in /dev/shm. `group` is the
   * command's process group, which a terminal's Ctrl-C would reach; null if unknown. Never rejects.
   */
  async end(group: number | null): Promise<void> {
    this.#shared.note(this.list());
    if (group === null || !signalGroup(group, "SIGINT")) this.signal("SIGINT");
    await this.#untilGone(interruptMs, group);
    this.#shared.note(this.list());
    if (this.#others().length > 0) {
      this.signal("SIGTERM", this.#others());
      await this.#untilGone(terminateMs, group);
    }
    const end = performance.now() + killMs;
    // Repeated, because a killed process may just have started another one.
    for (let left = this.#others(); left.length > 0 && performance.now() < end; left = this.#others()) {
      this.#shared.note(this.list());
      this.signal("SIGKILL", left);
      await sleep(10);
    }
    const keepersEnd = performance.now() + keeperMs;
    while (this.list().length > 0 && performance.now() < keepersEnd) await sleep(10);
    this.signal("SIGKILL");
    this.#shared.remove(new Set(this.#seen.keys()));
  }

  /** Waits for all except the keepers; not for long once the command itself has ended. */
  async #untilGone(limitMs: number, command: number | null): Promise<void> {
    let end = performance.now() + limitMs;
    for (let isCut = false; performance.now() < end; await sleep(20)) {
      const left = this.#others();
      if (left.length === 0) return;
      if (isCut || command === null || left.includes(command)) continue;
      isCut = true;
      end = Math.min(end, performance.now() + stragglerMs);
    }
  }

  #others(): number[] {
    return this.list().filter((pid) => !keepsSharedMemory(pid));
  }

  #isMarked(pid: number): boolean {
    return `${readOf(pid, "environ")}\0`.includes(this.#mark);
  }
}

/** Flags of Python, alone or combined as in -Is, that make it ignore PYTHONPATH or sitecustomize. */
const isolating = /^-[a-zA-Z]*[ISE][a-zA-Z]*$/;
const python = /(^|\/)python[\d.]*$/;

/**
 * Why none of a job's processes has connected, as far as /proc shows while they run: a Python that ignores the
 * environment, or none that has loaded torch. Null if one has, and just takes its time.
 */
export function whyUnseen(pids: readonly number[]): string | null {
  const commands = pids.map((pid) => readOf(pid, "cmdline").split("\0"));
  const pythons = commands.filter(([program = ""]) => python.test(program));
  if (pythons.length === 0) return "None of its processes is a Python that pinbench can look into.";
  for (const [program = "", ...words] of pythons) {
    const ends = words.findIndex((word) => !word.startsWith("-") || word === "-c" || word === "-m");
    const flag = words.slice(0, Math.max(0, ends)).find((word) => isolating.test(word));
    if (flag !== undefined) {
      return `${program} was started with ${flag}, which keeps pinbench out: Python must read PYTHONPATH and sitecustomize.`;
    }
  }
  const hasTorch = pids.some((pid) => /\/libtorch(_cpu|_python)?\.so/.test(readOf(pid, "maps")));
  return hasTorch ? null : "None of its processes has loaded torch.";
}

/** Empty if the process has ended, or belongs to another user. */
function readOf(pid: number, file: string): string {
  return readText("/", `proc/${pid}/${file}`) ?? "";
}
