import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import type { NativeError } from "../native/contract.js";
import {
  receivedError,
  type WorkerAnswer,
  type WorkerCall,
  type WorkerCallName,
  type WorkerCalls,
} from "./worker-messages.js";

interface PendingCall {
  resolve: (result: never) => void;
  reject: (error: NativeError) => void;
}

/** How long a process may take to free its memory. After that it is ended, and the kernel frees it. */
const orderlyMs = 5000;

/** Longest wait before SIGKILL. A process normally ends within 2 s of its channel (cli/commands/worker-command.ts). */
const forceMs = 2500;

/**
 * `pinbench worker`, as seen by the process that started it. They share an IPC channel; if this process dies, the
 * kernel closes the channel and the worker ends.
 */
export class WorkerProcess {
  /** "worker process 3 of 4 (pid 1234)". */
  readonly name: string;
  /** Null if it did not start. */
  readonly pid: number | null;
  readonly #child: ChildProcess | null;
  readonly #pending: PendingCall[] = [];
  /** Resolves when the process is gone. */
  readonly #gone: Promise<void>;
  #failure: NativeError | null = null;
  #isClosing = false;

  /** Starts one of `count` processes. `entry` is the program to run, bin/pinbench.js. */
  constructor(entry: string, { index, count }: { index: number; count: number }) {
    const position = `worker process ${index + 1} of ${count}`;
    try {
      this.#child = spawn(process.execPath, [entry, "worker"], {
        stdio: ["ignore", "ignore", "inherit", "ipc"],
        serialization: "advanced",
      });
    } catch (error) {
      this.#child = null;
      this.#failure = notStarted(position, error);
    }
    this.pid = this.#child?.pid ?? null;
    this.name = this.pid === null ? position : `${position} (pid ${this.pid})`;
    this.#gone = this.#child === null ? Promise.resolve() : this.#watch(this.#child);
  }

  /** Why it cannot be used; null while it works. */
  get failure(): NativeError | null {
    return this.#failure;
  }

  /** Rejects with the call's error, which names the process, or with failure() if the process is gone. */
  call<Name extends WorkerCallName>(
    call: Name,
    ...args: WorkerCalls[Name]["args"]
  ): Promise<WorkerCalls[Name]["result"]> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== null) return reject(this.#failure);
      this.#pending.push({ resolve, reject });
      this.#send({ call, args } as WorkerCall);
    });
  }

  /** Ends the current and every later call soon. */
  abort(): void {
    this.#send({ call: "abort" });
  }

  /** Marks it as unusable and ends it. */
  fail(error: NativeError): void {
    if (this.#failure === null && !this.#isClosing) {
      this.#failure = error;
      this.#disconnect();
    }
    for (const { reject } of this.#pending.splice(0)) reject(this.#failure ?? error);
  }

  /** Ends it; with `isOrderly` it frees its memory first. Resolves when it is gone, or after 10 s. */
  async close(isOrderly: boolean): Promise<void> {
    const closed =
      isOrderly && this.#failure === null && !this.#isClosing ? this.call("close") : Promise.resolve();
    this.#isClosing = true;
    await Promise.race([closed.catch(() => undefined), sleep(orderlyMs, undefined, { ref: false })]);
    this.#disconnect();
    const force = setTimeout(() => this.#child?.kill("SIGKILL"), forceMs);
    // Does not wait for a process in an uninterruptible system call, which ends with that call.
    await Promise.race([this.#gone, sleep(2 * forceMs, undefined, { ref: false })]);
    clearTimeout(force);
  }

  #watch(child: ChildProcess): Promise<void> {
    child.on("message", (answer: WorkerAnswer) => this.#settle(answer));
    return new Promise((resolve) => {
      child.on("exit", (code, signal) => {
        this.fail(ended(this.name, code, signal));
        resolve();
      });
      child.on("error", (error) => {
        // Sending to a process that is ending fails too, but the reason for its end is more useful.
        if (child.pid !== undefined) return;
        this.fail(notStarted(this.name, error));
        resolve();
      });
    });
  }

  #settle(answer: WorkerAnswer): void {
    const pending = this.#pending.shift();
    if (pending === undefined) return;
    if ("result" in answer) {
      pending.resolve(answer.result as never);
      return;
    }
    const { error } = answer;
    const named = receivedError({ ...error, message: `${this.name}: ${error.message}`, sticky: false });
    pending.reject(named);
    // Its context is lost, so it is useless; other processes are not affected.
    if (error.sticky) this.fail(named);
  }

  #send(message: WorkerCall): void {
    if (this.#child?.connected) this.#child.send(message, () => undefined);
  }

  #disconnect(): void {
    if (this.#child?.connected) this.#child.disconnect();
  }
}

function workerError(code: string, message: string): NativeError {
  return Object.assign(new Error(message), {
    code,
    cudaResult: null,
    call: null,
    location: "worker-process.ts",
    sticky: false,
  });
}

function notStarted(name: string, error: unknown): NativeError {
  const { code, message } = error as NodeJS.ErrnoException;
  return workerError(
    "WORKER_PROCESS_NOT_STARTED",
    `${name} did not start (${code ?? message}): the limit of processes (ulimit -u), of open files (ulimit -n) or of ` +
      "memory may be too low for this many workers",
  );
}

/** The error of an ended process. What it printed has gone to this process' stderr. */
function ended(name: string, code: number | null, signal: NodeJS.Signals | null): NativeError {
  const advice =
    signal === "SIGKILL"
      ? "most likely because memory ran out, see the kernel log (dmesg): ask for fewer workers or smaller sizes"
      : "see the kernel log (dmesg)";
  return workerError(
    "WORKER_PROCESS_ENDED",
    signal !== null ? `${name} was killed by ${signal}, ${advice}` : `${name} ended with exit code ${code}`,
  );
}
