import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../../errors.js";
import { Guard, signalGroup } from "../../host/processes.js";

/** Time for a launcher to end before it is killed: srun tells its steps at once. */
const patienceMs = 3000;

const pollMs = 50;

/** Asks the launchers in these process groups to end, then kills them. Never rejects. */
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
  /** Its nodes; null if one launcher starts all. */
  readonly nodes: readonly string[] | null;
  /** When it ended, on the steady clock; null while it runs. */
  endedMs: number | null;
  /** Its exit status; null while it runs, if it did not start, or if a signal ended it. */
  exitCode: number | null;
  /** The last output on stderr, of it or of a node through it. */
  stderr: string;
}

/** Only the last lines are useful. */
const keptCharacters = 4000;

/**
 * The launchers of a fleet, each in its own process group, so that Ctrl-C at a terminal reaches only `fleet run`, which
 * ends them. If `fleet run` is killed, a guard does so.
 */
export class LauncherProcesses {
  readonly all: LauncherProcess[] = [];
  readonly #children: ChildProcess[] = [];
  /** Process groups that still have a process. */
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

  /** Ends all, with all their processes here. Never rejects. */
  async end(): Promise<void> {
    await endLaunchers([...this.#groups]);
    for (const { stderr } of this.#children) stderr?.destroy();
    this.#guard.dismiss();
  }
}
