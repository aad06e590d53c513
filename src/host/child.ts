import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync, statSync } from "node:fs";
import { constants as osConstants } from "node:os";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { PinbenchError } from "../errors.js";
import { readText } from "./files.js";
import {
  type Guard,
  keepsSharedMemory,
  LeftSharedMemory,
  readProcessStat,
  signalGroup,
} from "./processes.js";

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** An environment variable that only the processes of one command inherit. */
type Mark = readonly [name: string, value: string];

interface ChildOptions {
  environment: NodeJS.ProcessEnv;
  mark: Mark;
  /** Ends the command if pinbench is killed; null lets it run on. */
  guard: Guard | null;
}

/** Signals that a terminal sends to a whole process group. Others reach one process, which may need its children. */
const fromTerminal: ReadonlySet<NodeJS.Signals> = new Set(["SIGINT", "SIGQUIT", "SIGHUP"]);

/**
 * A user's command with unchanged streams, in its own session: Ctrl-C at the terminal reaches only pinbench. A
 * guard, if any, ends the command if pinbench is killed.
 */
export class Child {
  /** Resolves when the command has ended; processes that it started may still run. */
  readonly exit: Promise<Exit>;
  readonly #family: Family;
  readonly #command: ChildProcess;
  readonly #guard: Guard | null;
  #ended: Exit | null = null;
  #ending: Promise<void> | null = null;

  private constructor([program = "", ...args]: readonly string[], options: ChildOptions) {
    const [name, value] = options.mark;
    this.#family = new Family(options.mark);
    this.#guard = options.guard;
    this.#command = spawn(program, args, {
      detached: true,
      stdio: "inherit",
      env: { ...process.env, ...options.environment, [name]: value },
    });
    this.exit = new Promise((resolve) => {
      this.#command.once("exit", (code, signal) => {
        this.#ended = { code, signal };
        resolve(this.#ended);
      });
    });
    this.#family.root = this.#command.pid ?? null;
    this.#guard?.watch(this.#command.pid);
  }

  /** Rejects with a usage error if the program does not exist. */
  static async start(command: readonly string[], options: ChildOptions): Promise<Child> {
    try {
      const child = new Child(command, options);
      await new Promise<void>((resolve, reject) => {
        child.#command.once("spawn", resolve);
        child.#command.once("error", reject);
      });
      return child;
    } catch (error) {
      throw cannotStart(command[0] ?? "", error);
    }
  }

  get pid(): number {
    return this.#command.pid!;
  }

  /** Null while the command runs. */
  get ended(): Exit | null {
    return this.#ended;
  }

  running(): number[] {
    return this.#family.list();
  }

  /** Passes a signal on to those whom it would have reached without pinbench. */
  signal(signal: NodeJS.Signals): void {
    if (fromTerminal.has(signal)) signalGroup(this.pid, signal);
    else if (this.#ended === null) send(signal, [this.pid]);
  }

  /** Chooses a process that end() interrupts first: see Family.end(). */
  interruptFirst(pid: number): void {
    this.#family.interruptFirst(pid);
    this.#guard?.watch(pid);
  }

  /** Ends the whole job; nothing is left behind. Never rejects. */
  end(): Promise<void> {
    this.#ending ??= this.#family.end();
    return this.#ending;
  }
}

/** Longest wait after SIGINT, when a script may save its state, and again after SIGTERM. */
const stepMs = 5000;
/** Longest wait for the remaining processes once the interrupted ones have ended. */
const stragglerMs = 1000;
/** Longest wait for killed processes, because freeing pinned memory is slow. */
const killMs = 10_000;
/** Longest wait, after all others have ended, for the processes that remove named shared memory. */
const keeperMs = 5000;

/**
 * The processes of a job in all sessions: those with its mark in the environment, and all that they start. A rank of
 * torchrun has its own session, and a script may clear its environment.
 */
export class Family {
  /** The command's process id, because the command may clear its environment at the start; null if unknown. */
  root: number | null = null;
  readonly #mark: string;
  /** Start time of each known process in clock ticks, which tells it from a later process with the same id. */
  readonly #seen = new Map<number, string>();
  /** The same for the many other processes, to look at each once: the mark is inherited, so it never comes later. */
  readonly #foreign = new Map<number, string>();
  readonly #parents = new Map<number, number>();
  readonly #first = new Set<number>();
  readonly #shared = new LeftSharedMemory();

  constructor([name, value]: Mark) {
    this.#mark = `${name}=${value}\0`;
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
      if (this.#seen.get(pid) === started || (pid === this.root && !this.#seen.has(pid))) own.add(pid);
      else if (this.#foreign.get(pid) !== started) {
        if (`${readText("/", `proc/${pid}/environ`) ?? ""}\0`.includes(this.#mark)) own.add(pid);
        else this.#foreign.set(pid, started);
      }
    }
    // Iterating over a set also visits members added meanwhile.
    for (const pid of own) {
      for (const [child, { parent }] of running) if (parent === pid) own.add(child);
    }
    for (const pid of own) {
      this.#seen.set(pid, running.get(pid)!.started);
      this.#parents.set(pid, running.get(pid)!.parent);
    }
    return [...own];
  }

  interruptFirst(pid: number): void {
    this.#first.add(pid);
  }

  /**
   * Ends all processes and removes their shared memory in /dev/shm. Processes from interruptFirst(), or else those
   * without children, get SIGINT like on Ctrl-C; later they and all that they have started get SIGTERM and SIGKILL. All
   * others, such as a shell, are stopped first and never continue: a script must not take an interrupted training for a
   * finished one. Never rejects.
   */
  async end(): Promise<void> {
    const all = this.list();
    this.#shared.note(all);
    const named = all.filter((pid) => this.#first.has(pid));
    const parents = new Set(all.map((pid) => this.#parents.get(pid)));
    const interrupted = named.length > 0 ? named : all.filter((pid) => !parents.has(pid));
    const stopped = new Set(all.filter((pid) => !this.#isOf(interrupted, pid) && !keepsSharedMemory(pid)));
    const left = (of = this.list()) => of.filter((pid) => !stopped.has(pid) && !keepsSharedMemory(pid));
    send("SIGSTOP", [...stopped]);
    send("SIGINT", interrupted);
    const first = () => left().filter((pid) => interrupted.includes(pid));
    await untilNone(first, stepMs);
    if (first().length === 0) await untilNone(left, stragglerMs);
    send("SIGTERM", left());
    await untilNone(left, stepMs);
    await this.kill();
  }

  /**
   * Kills all processes at once, and removes their shared memory in /dev/shm and that of processes `gone` before. Never
   * rejects.
   */
  async kill(gone: readonly number[] = []): Promise<void> {
    this.#shared.note(this.list());
    const end = performance.now() + killMs;
    // Repeated, because a killed process may just have started another.
    for (let rest = this.#others(); rest.length > 0 && performance.now() < end; rest = this.#others()) {
      this.#shared.note(this.list());
      send("SIGKILL", rest);
      await sleep(10);
    }
    await untilNone(() => this.list(), keeperMs);
    send("SIGKILL", this.list());
    this.#shared.remove(new Set([...this.#seen.keys(), ...gone]));
  }

  #others(): number[] {
    return this.list().filter((pid) => !keepsSharedMemory(pid));
  }

  /** Whether a process is one of these, or was started by one of them. */
  #isOf(pids: readonly number[], pid: number): boolean {
    const parent = this.#parents.get(pid);
    return pids.includes(pid) || (parent !== undefined && this.#isOf(pids, parent));
  }
}

function send(signal: NodeJS.Signals, pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended, or belongs to another user.
    }
  }
}

async function untilNone(left: () => readonly number[], limitMs: number): Promise<void> {
  const end = performance.now() + limitMs;
  while (performance.now() < end && left().length > 0) await sleep(20);
}

/** Calls `hear` with each line, without its line break. Drops an incomplete last line. */
export function eachLine(stream: Duplex, hear: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (!stream.destroyed) hear(line);
  });
}

/** The exit code as a shell gives it: 128 plus the signal's number after a signal. */
export function shellExitCode({ code, signal }: Exit): number {
  return signal === null ? (code ?? 1) : 128 + osConstants.signals[signal];
}

/** How the command ended: "was killed (SIGSEGV)" or "ended with exit code 3". */
export function describeExit({ code, signal }: Exit): string {
  return signal === null ? `ended with exit code ${code}` : `was killed (${signal})`;
}

function cannotStart(program: string, error: unknown): unknown {
  if (error instanceof PinbenchError) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") {
    const isScript = existsSync(program) && statSync(program).isFile();
    return isScript
      ? new PinbenchError(
          "usage",
          `${program} cannot be run: its first line names a program that does not exist.`,
        )
      : new PinbenchError("usage", `There is no command ${program}.`, {
          hint: "Write the command after --. Many systems call Python python3: -- python3 train.py.",
        });
  }
  if (code === "EACCES") {
    const hint = isExecutable(program)
      ? "Its first line names a program that is not executable."
      : `Make it executable, or name its interpreter: python ${program}, or bash ${program}.`;
    return new PinbenchError("usage", `${program} is not executable.`, { hint });
  }
  return new PinbenchError("usage", `${program} cannot be started (${code ?? String(error)}).`, {
    cause: error,
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
