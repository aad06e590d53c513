import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { listNames } from "../../host/files.js";
import { signalGroup } from "../../host/process-groups.js";
import { readProcessStat } from "../../host/process-stat.js";
import { keepsSharedMemory, LeftSharedMemory } from "../../host/shared-memory.js";
import { makeTemporaryFolder } from "../temporary-folder.js";
import { type Command, type Message, readProbeMessage } from "./torch-messages.js";

/** A Python program that speaks with pinbench, and how a line of its is read: null where it is no message. */
export interface SpokenProgram<Heard> {
  path: string;
  read: (line: string) => Heard | null;
}

/** The Python program of a search, beside this file both in src/ and in dist/. */
export const probeProgram = fileURLToPath(new URL("probe/main.py", import.meta.url));

/** What a search speaks with. */
export const spokenProbe: SpokenProgram<Message> = { path: probeProgram, read: readProbeMessage };

const stderrBytes = 8192;
/** Of a line that is no message, enough to tell what wrote it. */
const keptGarbledCharacters = 200;
/** How long an idle program may take to end when it is asked to. */
const exitMs = 1500;
/** How long processes may take to end on SIGTERM. */
const terminateMs = 300;
/** How long the keepers of shared memory may take to remove what killed processes have left. */
const keeperMs = 1000;
/** How long the kernel may take to end what was killed: giving back pinned memory takes a while. */
const killMs = 5000;

/** How the Python program ended: an exit code or a signal; `error` where it did not start. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  error: NodeJS.ErrnoException | null;
}

/**
 * A Python program in a session and process group of its own: Ctrl-C does not reach it, and everything that it has
 * started can be ended with it. It speaks over descriptor 3; 4 is its life line, whose end tells a guard of its own
 * (guard.py) that pinbench is gone.
 */
export class ProbeProcess<Heard = Message, Told extends object = Command> {
  /** For sockets between its processes, and what they say of themselves while they hang. */
  readonly scratch: string;
  /** Resolves when the process has ended and all that it said has been handed over. */
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
   * `environment` is added to this process' own. Throws where the program cannot even be tried to start; most of such
   * errors come by `exit`.
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
    // Without files left for them, none is made.
    const [, stdout, stderr, control, lifeLine] = (this.#child.stdio ?? []) as unknown as (
      | Duplex
      | undefined
    )[];
    this.#control = control;
    this.#lifeLine = lifeLine;
    // All of them end with the process; what is written after that is lost, as it may be.
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

  /** The end of what was printed to stderr of late, by the user's code and by Python itself; null for nothing. */
  get stderrTail(): string | null {
    return this.#stderr.replaceAll("\0", "").trim() || null;
  }

  /** What was said until now has nothing to do with what comes. */
  forgetStderr(): void {
    this.#stderr = "";
  }

  send(command: Told | { type: "exit" }): void {
    this.#control?.write(`${JSON.stringify(command)}\n`);
  }

  /** To every process of the group that is left. */
  signalAll(signal: NodeJS.Signals): void {
    if (this.#child.pid !== undefined) signalGroup(this.#child.pid, signal);
  }

  /** Lets an idle program end by itself, and ends by force what is left then. */
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
    // What the data set has detached from the group is out of reach, and may hold these for as long as it likes.
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  /** Workers may outlive their parent, and are not this process' children to be waited for. */
  async #untilGroupIsGone(limitMs: number): Promise<void> {
    const end = performance.now() + limitMs;
    while (this.#members().length > 0 && performance.now() < end) await sleep(5);
  }

  /**
   * The processes of the group that run. The kernel counts those that have ended until somebody waits for them, which in a
   * container may never happen.
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
   * The program and all processes that it has started, as guard.py notes them. One that runs in another group has got the
   * number of one that ended.
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
    // What it wrote before it ended is still in the socket; a process that it left behind may hold the stderr.
    await Promise.race([said, sleep(200, undefined, { ref: false })]);
    this.#ended = ended;
    return ended;
  }

  /** A program that says what is no message, as where the data set writes to its pipe, can be asked nothing more. */
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

/** Removes multiprocessing's semaphores, which have names (serve.py gives them) where workers are not forked. */
function removeSemaphores(prefix: string): void {
  for (const name of listNames("/", "dev/shm")) {
    if (name.startsWith(`sem.${prefix}-`)) rmSync(join("/dev/shm", name), { force: true });
  }
}
