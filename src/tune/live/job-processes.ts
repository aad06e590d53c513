import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { readText } from "../../host/files.js";
import { signalGroup } from "../../host/process-groups.js";
import { readProcessStat } from "../../host/process-stat.js";
import { keepsSharedMemory, LeftSharedMemory } from "../../host/shared-memory.js";

/** The variable of the environment in which the hook finds its socket; its value marks the processes of one job. */
export const socketVariable = "PINBENCH_TUNE_SOCKET";

/** How long a job may take to end after a Ctrl-C: a script may save what it has. */
const interruptMs = 5000;
/** How long stragglers may take when the command itself has ended. */
const stragglerMs = 1000;
/** How long it may take after SIGTERM. */
const terminateMs = 2000;
/** How long the kernel may take to end what was killed: giving back pinned memory takes a while. */
const killMs = 10_000;
/** How long the keepers of named shared memory may take to remove it once all others have gone. */
const keeperMs = 1000;

/**
 * The processes of a job, wherever they have moved to: those that carry its mark in their environment, which every
 * process inherits, and what these have started. A rank of torchrun has a session of its own, and a script may clear the
 * environment.
 */
export class JobProcesses {
  readonly #mark: string;
  /** When each process that was seen was started, in clock ticks: a number that is given again is another process. */
  readonly #seen = new Map<number, string>();
  /** The same of those of others, which are many: the mark is inherited, and so none of them comes to have it. */
  readonly #foreign = new Map<number, string>();
  readonly #shared = new LeftSharedMemory();

  /** `socket` is the value of socketVariable. */
  constructor(socket: string) {
    this.#mark = `${socketVariable}=${socket}\0`;
  }

  /** Those that run. */
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
    // A set that grows is walked to its end.
    for (const pid of own) {
      for (const [child, { parent }] of running) if (parent === pid) own.add(child);
    }
    for (const pid of own) this.#seen.set(pid, running.get(pid)!.started);
    return [...own];
  }

  /** To each of those that run. */
  signal(signal: NodeJS.Signals, pids = this.list()): void {
    for (const pid of pids) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has gone, or is another user's.
      }
    }
  }

  /**
   * Ends all of them: as a Ctrl-C does, and then harder. Then removes what they left in /dev/shm. `group` is the
   * command's process group, to which a terminal's Ctrl-C would go; null where it is not known. Never rejects.
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
    // Again and again: what is killed may just have started another one.
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

  /** Waits for all but the keepers; once the command itself has gone, not for long. */
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

/** Flags of Python, alone or joined as in -Is, with which it does not read PYTHONPATH or runs no sitecustomize. */
const isolating = /^-[a-zA-Z]*[ISE][a-zA-Z]*$/;
const python = /(^|\/)python[\d.]*$/;

/**
 * Why none of a job's processes has come forward, as far as /proc tells while they run: a Python that was told to ignore
 * the environment, or none that has loaded torch. Null where one has, and just takes its time.
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

/** Empty where the process has gone, or is another user's. */
function readOf(pid: number, file: string): string {
  return readText("/", `proc/${pid}/${file}`) ?? "";
}
