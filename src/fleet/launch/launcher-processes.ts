import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../../errors.js";
import { Guard, signalGroup } from "../../host/processes.js";

/** How long a launcher that is asked to end may take until it is ended by force: srun tells its steps at once. */
const patienceMs = 3000;

const pollMs = 50;

/** Asks launchers to end, by their process groups, and then ends them by force. Never rejects. */
export async function endLaunchers(groups: readonly number[]): Promise<void> {
  let left = groups.filter((group) => signalGroup(group, "SIGTERM"));
  const untilMs = performance.now() + patienceMs;
  while (left.length > 0 && performance.now() < untilMs) {
    await sleep(pollMs);
    left = left.filter((group) => signalGroup(group, 0));
  }
  for (const group of left) signalGroup(group, "SIGKILL");
}

/** A launcher that was started: for which nodes, and what became of it. */
export interface LauncherProcess {
  /** The nodes it starts, where each launcher has its own; null where it starts all. */
  readonly nodes: readonly string[] | null;
  /** When it ended, on the steady clock; null while it runs. */
  endedMs: number | null;
  /** Its exit status; null where a signal ended it, where it did not start, and while it runs. */
  exitCode: number | null;
  /** The last that it, or a node through it, has said on stderr. */
  said: string;
}

/** More than the last lines are of no use. */
const keptCharacters = 4000;

/**
 * The launchers of a fleet, each in a process group of its own, so that Ctrl-C at a terminal is for `fleet run` alone, which
 * ends them. A guard does so where `fleet run` is killed.
 */
export class LauncherProcesses {
  readonly all: LauncherProcess[] = [];
  readonly #children: ChildProcess[] = [];
  /** Process groups that have not ended as a whole. */
  readonly #groups = new Set<number>();
  readonly #guard: Guard;

  constructor(launchFolder: string) {
    this.#guard = new Guard("launch-guard.js", [launchFolder]);
  }

  start(argv: readonly string[], nodes: readonly string[] | null): void {
    const [program = "", ...args] = argv;
    const launcher: LauncherProcess = { nodes, endedMs: null, exitCode: null, said: "" };
    this.all.push(launcher);
    const end = (exitCode: number | null) => {
      launcher.endedMs ??= performance.now();
      launcher.exitCode ??= exitCode;
    };
    const failed = (error: unknown) => {
      const code = errorCode(error);
      launcher.said =
        code === "ENOENT" ? `there is no program ${program}` : `${program} did not start (${code})`;
      end(null);
    };
    try {
      const child = spawn(program, args, { detached: true, stdio: ["ignore", "ignore", "pipe"] });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        launcher.said = (launcher.said + text).slice(-keptCharacters);
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

  /** Whether none runs any more. */
  get haveEnded(): boolean {
    return this.all.every(({ endedMs }) => endedMs !== null);
  }

  /** Ends all, with what they have left behind here. Never rejects. */
  async end(): Promise<void> {
    await endLaunchers([...this.#groups]);
    for (const { stderr } of this.#children) stderr?.destroy();
    this.#guard.dismiss();
  }
}
