import { type FSWatcher, watch } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Finished, start } from "./run-cli.js";

/** Ways to end a command from outside, and moments to do so at. */

/** A running command that a test is about to end. */
export interface Victim {
  /** The id of its process, and of its process group. */
  pid: number;
  /** Closes its terminal; it has one only for ways with `needsTerminal`. */
  closeTerminal(): void;
}

export interface Way {
  name: string;
  strike(victim: Victim): Promise<void> | void;
  /** Permitted ends besides its own ones: exit codes, and signals that end it. */
  ends: readonly (number | NodeJS.Signals)[];
  needsTerminal?: true;
  /** The command cannot clean up. */
  isHard?: true;
}

const both = (name: "SIGINT" | "SIGTERM" | "SIGHUP", code: number) => [code, name] as const;
const anyEnd = [...both("SIGINT", 130), ...both("SIGTERM", 143), ...both("SIGHUP", 129)];

/** Sends a signal to a process that may have ended; a negative number means its group. */
export function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

/** Ways to end a command. Users who wait for its end use all but the last three. */
export const ways: readonly Way[] = [
  { name: "SIGINT", strike: ({ pid }) => send(pid, "SIGINT"), ends: both("SIGINT", 130) },
  { name: "SIGTERM", strike: ({ pid }) => send(pid, "SIGTERM"), ends: both("SIGTERM", 143) },
  { name: "SIGHUP", strike: ({ pid }) => send(pid, "SIGHUP"), ends: both("SIGHUP", 129) },
  { name: "SIGKILL", strike: ({ pid }) => send(pid, "SIGKILL"), ends: ["SIGKILL"], isHard: true },
  {
    name: "a terminal that closes",
    needsTerminal: true,
    strike: (victim) => victim.closeTerminal(),
    ends: both("SIGHUP", 129),
  },
  {
    name: "Ctrl-C, which reaches the whole group",
    strike: ({ pid }) => send(-pid, "SIGINT"),
    ends: both("SIGINT", 130),
  },
  {
    name: "SIGINT twice",
    strike: async ({ pid }) => {
      send(pid, "SIGINT");
      // Signals within a shorter time count as one Ctrl-C.
      await sleep(300);
      send(pid, "SIGINT");
    },
    ends: both("SIGINT", 130),
  },
  {
    name: "SIGHUP and SIGTERM at once, as from a system that shuts down",
    strike: ({ pid }) => {
      send(pid, "SIGHUP");
      send(pid, "SIGTERM");
    },
    ends: anyEnd,
  },
  {
    name: "SIGINT, then SIGKILL",
    strike: async ({ pid }) => {
      send(pid, "SIGINT");
      await sleep(20);
      send(pid, "SIGKILL");
    },
    ends: [...both("SIGINT", 130), "SIGKILL"],
    isHard: true,
  },
  {
    name: "SIGSTOP, then SIGKILL",
    strike: async ({ pid }) => {
      send(pid, "SIGSTOP");
      await sleep(50);
      send(pid, "SIGKILL");
    },
    ends: ["SIGKILL"],
    isHard: true,
  },
  {
    name: "SIGSTOP of the group for a moment",
    strike: async ({ pid }) => {
      send(-pid, "SIGSTOP");
      await sleep(150);
      send(-pid, "SIGCONT");
    },
    ends: [],
  },
];

/** The moment of the strike. */
export type Moment =
  /** After this share of the command's duration. */
  | { at: "time"; share: number }
  /** After this number of file changes: a temporary file is created, written, renamed. */
  | { at: "file"; change: number }
  /** At its first line of output. */
  | { at: "line" };

export function describeMoment(moment: Moment): string {
  if (moment.at === "time") return `after ${(100 * moment.share).toFixed(1)} % of its time`;
  return moment.at === "file" ? `at change ${moment.change} of its files` : "at its first line";
}

/** Half of the moments are uniform in time; the others follow the command's actions. */
export function randomMoment(uniform: () => number): Moment {
  const kind = uniform();
  const within = uniform();
  if (kind < 0.5) return { at: "time", share: within };
  return kind < 0.92 ? { at: "file", change: 1 + Math.floor(14 * within) } : { at: "line" };
}

/** Prints the command's process id and its stderr, then its end. SIGUSR1 closes the terminal. */
const inTerminal = `
import os, pty, select, signal, sys
closing = []
signal.signal(signal.SIGUSR1, lambda *_: closing.append(True))
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
print(pid, flush=True)
while not closing:
    try:
        if select.select([terminal], [], [], 0.002)[0]:
            os.write(2, os.read(terminal, 65536))
    except OSError:
        break
os.close(terminal)
status = os.waitpid(pid, 0)[1]
print(-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))`;

const signalNames: Readonly<Record<number, NodeJS.Signals>> = { 1: "SIGHUP", 2: "SIGINT", 9: "SIGKILL" };

/** A command, its folder, and how to strike it. */
export interface Killing {
  command: readonly string[];
  cwd: string;
  env: Record<string, string>;
  /** Null: it runs to its end. */
  way: Way | null;
  moment: Moment;
  durationMs: number;
  /** Folders whose changes count. */
  watched: readonly string[];
  /** Called when the command is struck, or has ended before that. */
  onStrike: () => void;
}

/** Runs a command and strikes it at the moment; resolves with its end, or null if it runs for more than 60 s. */
export async function strikeAt(killing: Killing): Promise<Finished | null> {
  const { command, cwd, env, way } = killing;
  const [program = "", ...args] = command;
  const isInTerminal = way?.needsTerminal === true;
  const { child, finished } = isInTerminal
    ? start("python3", ["-c", inTerminal, ...command], { cwd, env, detached: true })
    : start(program, args, { cwd, env, detached: true });
  let isOver = false;
  const ended = finished.then((end) => {
    isOver = true;
    return isInTerminal ? endInTerminal(end) : end;
  });
  const pid = isInTerminal
    ? await new Promise<number>((resolve) =>
        child.stdout!.once("data", (text) => resolve(Number.parseInt(text, 10))),
      )
    : child.pid!;
  const victim = { pid, closeTerminal: () => void child.kill("SIGUSR1") };
  await new Promise<void>((resolve) => {
    let isStruck = false;
    const strike = () => {
      if (isStruck) return;
      isStruck = true;
      stopWaiting();
      killing.onStrike();
      // The id of an ended process must not get a signal.
      resolve(isOver ? undefined : way?.strike(victim));
    };
    const stopWaiting = awaitMoment(killing, child, strike);
    void ended.then(strike, strike);
  });
  const limit = new AbortController();
  const late = sleep(60_000, null, { signal: limit.signal }).catch(() => null);
  return Promise.race([ended, late]).finally(() => limit.abort());
}

function endInTerminal(end: Finished): Finished {
  const status = Number(end.stdout.trim().split("\n").at(-1));
  if (status >= 0) return { ...end, exitCode: status };
  return { ...end, exitCode: null, signal: signalNames[-status] ?? "SIGABRT" };
}

/** Calls `strike` at the moment; returns a function that cancels it. */
function awaitMoment(
  { moment, durationMs, watched, way }: Killing,
  child: ReturnType<typeof start>["child"],
  strike: () => void,
): () => void {
  if (way === null) return () => undefined;
  if (moment.at === "time") {
    const timer = setTimeout(strike, moment.share * durationMs);
    return () => clearTimeout(timer);
  }
  if (moment.at === "line") {
    const streams = way.needsTerminal ? [child.stderr!] : [child.stdout!, child.stderr!];
    for (const stream of streams) stream.once("data", strike);
    return () => undefined;
  }
  let changes = 0;
  const watchers: FSWatcher[] = watched.map((folder) =>
    watch(folder, () => {
      if (++changes === moment.change) strike();
    }),
  );
  return () => {
    for (const watcher of watchers) watcher.close();
  };
}
