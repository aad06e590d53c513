import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { listNames } from "../../host/files.js";
import { keepsSharedMemory, LeftSharedMemory, readProcessStat, signalGroup } from "../../host/processes.js";
import { makeTemporaryFolder } from "../python-programs.js";
import { type Command, type Message, readProbeMessage } from "./torch-messages.js";

/**
 * A Python program that exchanges messages with pinbench, and the parser of its lines: null for a line that is no
 * message.
 */
export interface SpokenProgram<Heard> {
  path: string;
  read: (line: string) => Heard | null;
}

/** The Python program of a search, next to this file in src/ and in dist/. */
export const probeProgram = fileURLToPath(new URL("probe/main.py", import.meta.url));

/** The program of a search. */
export const spokenProbe: SpokenProgram<Message> = { path: probeProgram, read: readProbeMessage };

const stderrBytes = 8192;
/** Characters of a garbled line that are kept, enough to show its source. */
const keptGarbledCharacters = 200;
/** Longest time for an idle program to end when asked. */
const exitMs = 1500;
/** Longest time for processes to end after SIGTERM. */
const terminateMs = 300;
/** Longest time for the keepers of shared memory to remove that of killed processes. */
const keeperMs = 1000;
/** Longest time for the kernel to end killed processes: freeing pinned memory is slow. */
const killMs = 5000;

/** The Python program's exit code or signal; `error` if it did not start. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  error: NodeJS.ErrnoException | null;
}

/**
 * A Python program in its own session and process group: Ctrl-C does not reach it, and all its processes can be ended
 * together. It sends over descriptor 3. Descriptor 4 is its life line, whose end tells its guard (guard.py) that
 * pinbench has ended.
 */
export class ProbeProcess<Heard = Message, Told extends object = Command> {
  /** Folder for sockets between its processes, and for their stacks while they hang. */
  readonly scratch: string;
  /** Resolves when the process has ended and all its messages have been handled. */
  readonly exit: Promise<Exit>;
  onMessage: (message: Heard) => void = () => undefined;
  readonly #program: SpokenProgram<Heard>;
  readonly #child: ChildProcess;
  readonly #control: Duplex | undefined;
  readonly #lifeLine: Duplex | undefined;
  readonly #shared = new LeftSharedMemory();
  #stderr = "";
  #ended: Exit | null = null;

  /**
   * `environment` is added to this process' own. Throws if the program cannot be started at all; most such errors come
   * by `exit`.
   */
  constructor(python: string, program: SpokenProgram<Heard>, environment: Record<string, string> = {}) {
    this.#program = program;
    this.scratch = makeTemporaryFolder();
    try {
      this.#child = spawn(python, [program.path], {
        detached: true,
        stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"],
        env: { ...process.env, ...environment, PINBENCH_PROBE_SCRATCH: this.scratch },
      });
    } catch (error) {
      rmSync(this.scratch, { recursive: true, force: true });
      throw error;
    }
    // Without free descriptors, none is made.
    const [, stdout, stderr, control, lifeLine] = (this.#child.stdio ?? []) as unknown as (
      | Duplex
      | undefined
    )[];
    this.#control = control;
    this.#lifeLine = lifeLine;
    // All of them end with the process; later writes are lost, as they may be.
    for (const stream of [stdout, stderr, control, lifeLine]) stream?.on("error", () => undefined);
    stdout?.resume();
    lifeLine?.resume();
    stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrBytes);
    });
    this.exit = this.#watch();
  }

  /** Null while the process runs. */
  get ended(): Exit | null {
    return this.#ended;
  }

  /** The last lines on stderr, from the user's code and from Python itself; null without any. */
  get stderrTail(): string | null {
    return this.#stderr.replaceAll("\0", "").trim() || null;
  }

  /** Discards earlier output, which does not concern what follows. */
  forgetStderr(): void {
    this.#stderr = "";
  }

  send(command: Told | { type: "exit" }): void {
    this.#control?.write(`${JSON.stringify(command)}\n`);
  }

  /** Sends a signal to every remaining process of the group. */
  signalAll(signal: NodeJS.Signals): void {
    if (this.#child.pid !== undefined) signalGroup(this.#child.pid, signal);
  }

  /** Lets an idle program end by itself, and ends the rest by force. */
  async close(): Promise<void> {
    if (this.#ended === null) {
      this.send({ type: "exit" });
      await Promise.race([this.exit, sleep(exitMs, undefined, { ref: false })]);
    }
    await this.kill();
  }

  /** Ends all of it at once and removes its files. */
  async kill(): Promise<void> {
    this.#shared.note(this.#members());
    // Workers die with it. The keepers of shared memory ignore SIGTERM, and do their work when all others have ended.
    this.#child.kill("SIGKILL");
    this.signalAll("SIGTERM");
    await this.#untilGroupIsGone(terminateMs);
    for (const pid of this.#members()) if (!keepsSharedMemory(pid)) killProcess(pid);
    await this.#untilGroupIsGone(keeperMs);
    this.signalAll("SIGKILL");
    await Promise.race([this.exit, sleep(killMs, undefined, { ref: false })]);
    await this.#untilGroupIsGone(killMs);
    this.#shared.remove(this.#makers());
    removeSemaphores(basename(this.scratch));
    rmSync(this.scratch, { recursive: true, force: true });
    this.#lifeLine?.end("x");
    this.#control?.destroy();
    // Processes that the data set has detached from the group are out of reach, and may hold these for any time.
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  /** Workers may outlive their parent, and are no children of this process that it could wait for. */
  async #untilGroupIsGone(limitMs: number): Promise<void> {
    const end = performance.now() + limitMs;
    while (this.#members().length > 0 && performance.now() < end) await sleep(5);
  }

  /**
   * The running processes of the group. The kernel counts ended ones until they are waited for, which in a container
   * may never happen.
   */
  #members(): number[] {
    const group = this.#child.pid;
    if (group === undefined || !signalGroup(group, 0)) return [];
    return listNames("/", "proc")
      .filter((name) => /^\d+$/.test(name))
      .filter((name) => {
        const stat = readProcessStat(name);
        return stat !== null && stat.group === group && !stat.hasEnded;
      })
      .map(Number);
  }

  /**
   * The program and all processes that it has started, as noted by guard.py. A process in another group has reused the
   * number of an ended one.
   */
  #makers(): Set<number> {
    const noted = listNames("/", this.scratch).flatMap((name) => /^process-(\d+)$/.exec(name)?.[1] ?? []);
    const makers = [this.#child.pid ?? [], noted.map(Number)].flat();
    return new Set(
      makers.filter((pid) => (readProcessStat(pid)?.group ?? this.#child.pid) === this.#child.pid),
    );
  }

  async #watch(): Promise<Exit> {
    const exit = new Promise<Exit>((resolve) => {
      this.#child.once("exit", (code, signal) => resolve({ code, signal, error: null }));
      this.#child.once("error", (error) => resolve({ code: null, signal: null, error }));
    });
    const said = this.#readMessages();
    const ended = await exit;
    // Its last output is still in the socket; a process that it left behind may hold its stderr.
    await Promise.race([said, sleep(200, undefined, { ref: false })]);
    this.#ended = ended;
    return ended;
  }

  /** A program that sends garbled lines (the data set may write to its pipe) can be asked nothing more. */
  #hear(line: string): void {
    const message = this.#program.read(line);
    if (message === null) {
      this.#stderr = `The probe sent something that is not a message: ${line.slice(0, keptGarbledCharacters)}`;
      this.#child.kill("SIGKILL");
    } else this.onMessage(message);
  }

  async #readMessages(): Promise<void> {
    if (this.#control === undefined) return;
    let rest = "";
    this.#control.setEncoding("utf8");
    try {
      for await (const text of this.#control) {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) this.#hear(line);
      }
    } catch {
      // Reset by a process that was killed.
    }
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Removes multiprocessing's named semaphores (serve.py names them) of workers that are not forked. */
function removeSemaphores(prefix: string): void {
  for (const name of listNames("/", "dev/shm")) {
    if (name.startsWith(`sem.${prefix}-`)) rmSync(join("/dev/shm", name), { force: true });
  }
}
