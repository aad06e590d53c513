import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { packageRoot } from "../package-facts.js";

/** Process groups that this process has started, and that are not to outlive it. */

/** Sends a signal to all of a group; 0 only asks. False where there is nothing of the group any more. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch {
    return false;
  }
}

/** Messages to a guard: nothing is left to do; and the prefix of a group that has ended. */
const dismissal = "done";
const ended = "ended";

/**
 * A process besides, with a session of its own, that ends groups where this process is killed and cannot do so itself.
 * Over stdin it is told groups, a number a line, those that have ended, and in the end a word. The end of stdin without that
 * word says that this process was killed.
 */
export class Guard {
  readonly #process: ChildProcess;

  /** `program` runs compiled: its path in dist/program/. What it does begins with untilKilled(). */
  constructor(program: string, args: readonly string[]) {
    this.#process = spawn(process.execPath, [join(packageRoot, "dist/program", program), ...args], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
      cwd: "/",
    });
    this.#process.on("error", () => undefined);
    this.#process.stdin?.on("error", () => undefined);
    this.#process.unref();
  }

  /** There is another group to end; undefined where a process did not start. */
  watch(group: number | undefined): void {
    if (group !== undefined) this.#process.stdin?.write(`${group}\n`);
  }

  /** Nothing of a group is left, and its number may be that of another one from now on. */
  forget(group: number): void {
    this.#process.stdin?.write(`${ended} ${group}\n`);
  }

  /** It has nothing left to do. */
  dismiss(): void {
    this.#process.stdin?.end(`${dismissal}\n`);
  }
}

/** In the guard's own process: the groups to end after its parent was killed; null if it was dismissed. */
export async function untilKilled(): Promise<number[] | null> {
  // It has a session of its own; what is left are those that somebody sends to each process of the user's.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
  let said = "";
  try {
    for await (const text of process.stdin.setEncoding("utf8")) said += text;
  } catch {
    // An end of another kind.
  }
  if (said.includes(dismissal)) return null;
  const groups = new Set<number>();
  for (const line of said.split("\n").filter((one) => one !== "")) {
    if (line.startsWith(ended)) groups.delete(Number(line.slice(ended.length)));
    else groups.add(Number(line));
  }
  return [...groups];
}
