import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, existsSync, rmSync, statSync } from "node:fs";
import { constants as osConstants, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PinbenchError } from "../../errors.js";
import { Guard, signalGroup } from "../../host/processes.js";
import { makeTemporaryFolder, temporaryFolderHint, temporaryPath, trainingPath } from "../python-programs.js";
import { JobProcesses, socketVariable } from "./job-processes.js";

/** The folder for PYTHONPATH, next to this file in src/ and in dist/. */
const hookFolder = fileURLToPath(new URL("hook", import.meta.url));

/** The command's exit code or signal. */
export interface JobExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/**
 * The command of a training job with its streams unchanged, in its own session: Ctrl-C at the terminal reaches only
 * pinbench, which forwards it. Its environment has the hook and the hook's socket. A guard ends the job if pinbench is
 * killed.
 */
export class JobProcess {
  /** Resolves when the command itself has ended; processes that it started may still run. */
  readonly exit: Promise<JobExit>;
  readonly #folder: string;
  readonly #processes: JobProcesses;
  readonly #command: ChildProcess;
  readonly #guard: Guard;
  #ended: JobExit | null = null;
  #ending: Promise<void> | null = null;

  private constructor(folder: string, guard: Guard, command: readonly string[]) {
    const [program = "", ...args] = command;
    const socket = socketPath(folder);
    this.#folder = folder;
    this.#processes = new JobProcesses(socket);
    this.#guard = guard;
    const { PYTHONPATH: others } = process.env;
    this.#command = spawn(program, args, {
      detached: true,
      stdio: "inherit",
      env: {
        ...process.env,
        PATH: trainingPath(process.env),
        PYTHONPATH: others ? `${hookFolder}${delimiter}${others}` : hookFolder,
        [socketVariable]: socket,
      },
    });
    this.exit = new Promise((resolve) => {
      this.#command.once("exit", (code, signal) => {
        this.#ended = { code, signal };
        resolve(this.#ended);
      });
    });
    this.#guard.watch(this.#command.pid);
  }

  /**
   * Starts the command after `listen` has opened the socket at the given path. Rejects with a usage error if there is
   * no such program.
   */
  static async start(
    command: readonly string[],
    listen: (socket: string) => Promise<void>,
  ): Promise<JobProcess> {
    const folder = pathForSocket();
    // The guard starts before there is anything to remove.
    const guard = new Guard("job-guard.js", [socketPath(folder), folder]);
    try {
      makeTemporaryFolder(folder);
      await listen(socketPath(folder));
      const job = new JobProcess(folder, guard, command);
      await new Promise<void>((resolve, reject) => {
        job.#command.once("spawn", resolve);
        job.#command.once("error", reject);
      });
      return job;
    } catch (error) {
      dismiss(guard, folder);
      throw cannotStart(command[0] ?? "", error);
    }
  }

  /** Null while the command runs. */
  get ended(): JobExit | null {
    return this.#ended;
  }

  /** Running processes of the job, also those that outlive the command. */
  running(): number[] {
    return this.#processes.list();
  }

  /** Sends a signal as a terminal does, to the command's process group. */
  signal(signal: NodeJS.Signals): void {
    signalGroup(this.#command.pid!, signal);
  }

  /** Ends the whole job as Ctrl-C does, then by force; nothing is left behind. Never rejects. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** Releases the job: from now on it also outlives a killed pinbench. */
  leave(): void {
    dismiss(this.#guard, this.#folder);
  }

  async #end(): Promise<void> {
    await this.#processes.end(this.#command.pid ?? null);
    // A process that the kernel does not end is not waited for.
    await Promise.race([this.exit, sleep(1000, undefined, { ref: false })]);
    this.leave();
  }
}

/** The exit code as a shell gives it: 128 plus the signal's number after a signal. */
export function shellExitCode({ code, signal }: JobExit): number {
  return signal === null ? (code ?? 1) : 128 + osConstants.signals[signal];
}

/** How the command ended, as in "was killed (SIGSEGV)" or "ended with exit code 3". */
export function describeJobExit({ code, signal }: JobExit): string {
  return signal === null ? `ended with exit code ${code}` : `was killed (${signal})`;
}

/** Ends the guard, and removes the folder in its place. */
function dismiss(guard: Guard, folder: string): void {
  guard.dismiss();
  rmSync(folder, { recursive: true, force: true });
}

function socketPath(folder: string): string {
  return join(folder, "hook");
}

/** The longest path of a Unix socket without its final 0 (sun_path of unix(7) has 108 bytes). */
const longestSocketPath = 107;

/** Path of a folder to be created. */
function pathForSocket(): string {
  const paths = [temporaryPath(), temporaryPath("/tmp")];
  const path = paths.find((one) => Buffer.byteLength(socketPath(one)) <= longestSocketPath);
  if (path !== undefined) return path;
  throw new PinbenchError("usage", `${tmpdir()} is too long a path for a socket in it.`, {
    hint: temporaryFolderHint,
  });
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
          hint: "Write the training command after --. Many systems call Python python3: -- python3 train.py.",
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
