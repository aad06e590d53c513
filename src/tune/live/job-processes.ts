import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { signalGroup } from "../../host/process-groups.js";
import { readProcessStat } from "../../host/process-stat.js";

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
 * Python's resource tracker and torch's torch_shm_manager remove the named shared memory of processes that have died.
 * They end by themselves, and killing them sooner would leave the memory behind.
 */
const keeper = /multiprocessing\.resource_tracker|torch_shm_manager/;

/** Names in /dev/shm that torch, multiprocessing, joblib and NCCL give what is theirs; a data set's files have others. */
const knownNames = /^(torch_\d+_|psm_|nccl-|sem\.(mp-|loky-))/;

/**
 * The processes of a job, wherever they have moved to: those that carry its mark in their environment, which every
 * process inherits, and what these have started. A rank of torchrun has a session of its own, and a script may clear the
 * environment.
 */
export class JobProcesses {
  readonly #mark: string;
  readonly #startedMs = Date.now();
  /** When each process that was seen was started, in clock ticks: a number that is given again is another process. */
  readonly #seen = new Map<number, string>();
  /** The same of those of others, which are many: the mark is inherited, and so none of them comes to have it. */
  readonly #foreign = new Map<number, string>();
  /** Shared memory of theirs by name. */
  readonly #shared = new Set<string>();

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
    this.#noteShared();
    if (group === null || !signalGroup(group, "SIGINT")) this.signal("SIGINT");
    await this.#untilGone(interruptMs, group);
    this.#noteShared();
    if (this.#others().length > 0) {
      this.signal("SIGTERM", this.#others());
      await this.#untilGone(terminateMs, group);
    }
    const end = performance.now() + killMs;
    // Again and again: what is killed may just have started another one.
    for (let left = this.#others(); left.length > 0 && performance.now() < end; left = this.#others()) {
      this.#noteShared();
      this.signal("SIGKILL", left);
      await sleep(10);
    }
    const keepersEnd = performance.now() + keeperMs;
    while (this.list().length > 0 && performance.now() < keepersEnd) await sleep(10);
    this.signal("SIGKILL");
    this.#removeShared();
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
    return this.list().filter((pid) => !keeper.test(readOf(pid, "cmdline")));
  }

  #isMarked(pid: number): boolean {
    return `${readOf(pid, "environ")}\0`.includes(this.#mark);
  }

  /** Keeps the names of the shared memory that they have now: nothing tells whose it was when they are gone. */
  #noteShared(): void {
    for (const pid of this.list()) {
      for (const name of sharedNames(pid)) if (knownNames.test(name)) this.#shared.add(name);
    }
  }

  /** Of what is named like shared memory of libraries: what was made since the job began, and by its processes. */
  #removeShared(): void {
    const folder = "/dev/shm";
    for (const name of namesIn(folder)) {
      const maker = Number(/^torch_(\d+)_/.exec(name)?.[1] ?? Number.NaN);
      if (!this.#shared.has(name) && !this.#seen.has(maker)) continue;
      const path = join(folder, name);
      try {
        if (statSync(path).birthtimeMs >= this.#startedMs) rmSync(path, { force: true });
      } catch {
        // It has gone.
      }
    }
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
      return `${program} was started with ${flag}, which keeps pinbench out of it: PYTHONPATH and sitecustomize must count.`;
    }
  }
  const hasTorch = pids.some((pid) => /\/libtorch(_cpu|_python)?\.so/.test(readOf(pid, "maps")));
  return hasTorch ? null : "None of its processes has loaded torch.";
}

/** Empty where the process has gone, or is another user's. */
function readOf(pid: number | string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

/** Names in /dev/shm that a process has mapped or open. */
function sharedNames(pid: number): string[] {
  const mapped = [...readOf(pid, "maps").matchAll(/ \/dev\/shm\/(\S+)$/gm)].map(([, name]) => name!);
  const opened = namesIn(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return /^\/dev\/shm\/(\S+)$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
    } catch {
      return [];
    }
  });
  return [...mapped, ...opened];
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
