import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { eachLine, Family } from "../child.js";
import { Guard, notedProcesses, removeScratch, signalGroup } from "../processes.js";
import { makeTemporaryFolder } from "../temporary-folder.js";

/**
 * A Python program that exchanges messages with pinbench, and the parser of its lines, which returns null if a line is
 * no message.
 */
export interface SpokenProgram<Heard> {
  path: string;
  read: (line: string) => Heard | null;
}

const scratchVariable = "PINBENCH_PROBE_SCRATCH";
const stderrBytes = 8192;
const keptGarbledCharacters = 200;
const exitMs = 1500;
/** The Python program's exit code or signal; `error` if it did not start. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  error: NodeJS.ErrnoException | null;
}

/**
 * A Python program in its own session and process group. Ctrl-C does not reach it, and all its processes can be ended
 * together. It sends messages over descriptor 3.
 */
export class PythonProcess<Heard, Told extends object> {
  /** Folder for sockets between its processes, and for their stacks while they hang. */
  readonly scratch: string;
  /** Resolves when the process has ended and all its messages have been handled. */
  readonly exit: Promise<Exit>;
  onMessage: (message: Heard) => void = () => undefined;
  readonly #program: SpokenProgram<Heard>;
  readonly #child: ChildProcess;
  readonly #control: Duplex | undefined;
  readonly #family: Family;
  readonly #guard: Guard;
  #stderr = "";
  #ended: Exit | null = null;

  /**
   * `environment` extends this process' own. Throws if the program cannot be started at all; most start errors arrive
   * by `exit`.
   */
  constructor(python: string, program: SpokenProgram<Heard>, environment: Record<string, string> = {}) {
    this.#program = program;
    this.scratch = makeTemporaryFolder();
    this.#family = new Family([scratchVariable, this.scratch]);
    this.#guard = new Guard("family-guard.js", [scratchVariable, this.scratch, this.scratch, "kill"]);
    try {
      this.#child = spawn(python, [program.path], {
        detached: true,
        stdio: ["ignore", "pipe", "pipe", "pipe"],
        env: { ...process.env, ...environment, [scratchVariable]: this.scratch },
      });
    } catch (error) {
      this.#guard.dismiss();
      removeScratch(this.scratch);
      throw error;
    }
    this.#family.root = this.#child.pid ?? null;
    this.#guard.watch(this.#child.pid);
    // Without free descriptors there are no streams.
    const [, stdout, stderr, control] = (this.#child.stdio ?? []) as unknown as (Duplex | undefined)[];
    this.#control = control;
    // All streams end with the process, and later writes may be lost.
    for (const stream of [stdout, stderr, control]) stream?.on("error", () => undefined);
    stdout?.resume();
    stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrBytes);
    });
    this.exit = this.#watch();
  }

  get ended(): Exit | null {
    return this.#ended;
  }

  /** The last lines on stderr, from the user's code and from Python itself; null without any. */
  get stderrTail(): string | null {
    return this.#stderr.replaceAll("\0", "").trim() || null;
  }

  /** Discards earlier output, because it does not concern later events. */
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

  /** Lets an idle program end by itself, then kills what is left. */
  async close(): Promise<void> {
    if (this.#ended === null) {
      this.send({ type: "exit" });
      await Promise.race([this.exit, sleep(exitMs, undefined, { ref: false })]);
    }
    await this.kill();
  }

  /** Kills the program and its processes at once, and removes its files. */
  async kill(): Promise<void> {
    await this.#family.kill([this.#child.pid ?? 0, ...notedProcesses(this.scratch)]);
    removeScratch(this.scratch);
    this.#guard.dismiss();
    this.#control?.destroy();
    // Processes that cleared their environment cannot be found, and may keep these open forever.
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  async #watch(): Promise<Exit> {
    const exit = new Promise<Exit>((resolve) => {
      this.#child.once("exit", (code, signal) => resolve({ code, signal, error: null }));
      this.#child.once("error", (error) => resolve({ code: null, signal: null, error }));
    });
    const messages = this.#readMessages();
    const ended = await exit;
    // Waits for output that is still in the socket, but not for long: a leftover process may hold stderr open.
    await Promise.race([messages, sleep(200, undefined, { ref: false })]);
    this.#ended = ended;
    return ended;
  }

  /** Garbled lines mean that the data set may write to its pipe, so the program cannot be used any more. */
  #hear(line: string): void {
    const message = this.#program.read(line);
    if (message === null) {
      this.#stderr = `The probe sent something that is not a message: ${line.slice(0, keptGarbledCharacters)}`;
      this.#child.kill("SIGKILL");
    } else this.onMessage(message);
  }

  /** Resolves at the end of its messages, also if it was killed. */
  #readMessages(): Promise<void> {
    const control = this.#control;
    if (control === undefined) return Promise.resolve();
    eachLine(control, (line) => this.#hear(line));
    return new Promise((resolve) => control.once("close", resolve));
  }
}
