import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, existsSync, rmSync, statSync } from "node:fs";
import { constants as osConstants, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PinbenchError } from "../../errors.js";
import { Guard, signalGroup } from "../../host/process-groups.js";
import { makeTemporaryFolder, temporaryFolderHint, temporaryPath } from "../temporary-folder.js";
import { trainingPath } from "../training-python.js";
import { JobProcesses, socketVariable } from "./job-processes.js";

/** The folder for PYTHONPATH, beside this file both in src/ and in dist/. */
const hookFolder = fileURLToPath(new URL("hook", import.meta.url));

/** How the command ended: an exit code or a signal. */
export interface JobExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/**
 * The command of a training job with its streams as they are, in a session of its own: Ctrl-C at the terminal reaches
 * pinbench alone, which hands it on. Its environment has the hook and where that finds pinbench. A guard ends the job
 * where pinbench is killed.
 */
export class JobProcess {
  /** Resolves when the command itself has ended; what it has started may still run. */
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
   * Starts the command once `listen` has made ready the socket whose path it is given. Rejects with a usage error where
   * there is no such program.
   */
  static async start(
    command: readonly string[],
    listen: (socket: string) => Promise<void>,
  ): Promise<JobProcess> {
    const folder = pathForSocket();
    // Before there is anything that it would have to remove.
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

  /** Processes of the job that run, whether the command is among them or has left them behind. */
  running(): number[] {
    return this.#processes.list();
  }

  /** As a terminal does: to the command's process group. */
  signal(signal: NodeJS.Signals): void {
    signalGroup(this.#command.pid!, signal);
  }

  /** Ends all of the job as a Ctrl-C does, and then harder; nothing is left behind. Never rejects. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** Leaves the job to itself: from now on it also outlives a pinbench that is killed. */
  leave(): void {
    dismiss(this.#guard, this.#folder);
  }

  async #end(): Promise<void> {
    await this.#processes.end(this.#command.pid ?? null);
    // What cannot be killed is not waited for: the kernel holds it.
    await Promise.race([this.exit, sleep(1000, undefined, { ref: false })]);
    this.leave();
  }
}

/** The exit code that a shell would give for it: 128 and the signal's number where one ended it. */
export function shellExitCode({ code, signal }: JobExit): number {
  return signal === null ? (code ?? 1) : 128 + osConstants.signals[signal];
}

/** How the command ended, as in "was killed (SIGSEGV)" or "ended with exit code 3". */
export function describeJobExit({ code, signal }: JobExit): string {
  return signal === null ? `ended with exit code ${code}` : `was killed (${signal})`;
}

/** Lets the guard go, with the folder that it would have removed. */
function dismiss(guard: Guard, folder: string): void {
  guard.dismiss();
  rmSync(folder, { recursive: true, force: true });
}

function socketPath(folder: string): string {
  return join(folder, "hook");
}

/** The longest path that a Unix socket may have, its final 0 not counted (sun_path of unix(7) has 108 bytes). */
const longestSocketPath = 107;

/** Of a folder that is still to be made. */
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
