import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../../errors.js";
import { Guard, signalGroup } from "../../host/processes.js";

/** Time for a launcher to end before it is killed; srun ends its steps at once. */
const patienceMs = 3000;

const pollMs = 50;

/** Sends these process groups SIGTERM, and later SIGKILL. Never rejects. */
export async function endLaunchers(groups: readonly number[]): Promise<void> {
  let left = groups.filter((group) => signalGroup(group, "SIGTERM"));
  const untilMs = performance.now() + patienceMs;
  while (left.length > 0 && performance.now() < untilMs) {
    await sleep(pollMs);
    left = left.filter((group) => signalGroup(group, 0));
  }
  for (const group of left) signalGroup(group, "SIGKILL");
}

export interface LauncherProcess {
  readonly nodes: readonly string[] | null;
  /** End time, on the clock of performance.now(); null while it runs. */
  endedMs: number | null;
  /** Exit status; null while it runs, if it did not start, or after a signal. */
  exitCode: number | null;
  /** End of its stderr, which includes that of nodes. */
  stderr: string;
}

const keptCharacters = 4000;

/**
 * The launchers of a fleet, each in its own process group: Ctrl-C reaches only `fleet run`, which ends them. A guard
 * ends them if `fleet run` is killed.
 */
export class LauncherProcesses {
  readonly all: LauncherProcess[] = [];
  readonly #children: ChildProcess[] = [];
  /** Process groups with a live process. */
  readonly #groups = new Set<number>();
  readonly #guard: Guard;

  constructor(launchFolder: string) {
    this.#guard = new Guard("launch-guard.js", [launchFolder]);
  }

  start(argv: readonly string[], nodes: readonly string[] | null): void {
    const [program = "", ...args] = argv;
    const launcher: LauncherProcess = { nodes, endedMs: null, exitCode: null, stderr: "" };
    this.all.push(launcher);
    const end = (exitCode: number | null) => {
      launcher.endedMs ??= performance.now();
      launcher.exitCode ??= exitCode;
    };
    const failed = (error: unknown) => {
      const code = errorCode(error);
      launcher.stderr =
        code === "ENOENT" ? `there is no program ${program}` : `${program} did not start (${code})`;
      end(null);
    };
    try {
      const child = spawn(program, args, { detached: true, stdio: ["ignore", "ignore", "pipe"] });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        launcher.stderr = (launcher.stderr + text).slice(-keptCharacters);
      });
      child.on("error", failed);
      this.#children.push(child);
      const group = child.pid;
      if (group !== undefined) this.#groups.add(group);
      this.#guard.watch(group);
      child.on("exit", (code) => {
        end(code);
        if (group === undefined || signalGroup(group, 0)) return;
        this.#groups.delete(group);
        this.#guard.forget(group);
      });
    } catch (error) {
      failed(error);
    }
  }

  get haveEnded(): boolean {
    return this.all.every(({ endedMs }) => endedMs !== null);
  }

  /** Ends all launchers and their local processes. Never rejects. */
  async end(): Promise<void> {
    await endLaunchers([...this.#groups]);
    for (const { stderr } of this.#children) stderr?.destroy();
    this.#guard.dismiss();
  }
}
