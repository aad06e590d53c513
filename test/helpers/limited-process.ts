import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";

export interface LimitedRun {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Limits {
  /** Less than a test's time limit. */
  seconds?: number;
  /** Limit for stdout and for stderr. */
  bytes?: number;
}

const shownCharacters = 2000;

/**
 * Runs a command in its own process group, with `input` on its stdin. Rejects, with the end of its output,
 * if it takes too long or prints too much; then the whole group is killed.
 */
export async function runLimited(
  command: string,
  args: readonly string[],
  options: Pick<SpawnOptions, "cwd" | "env"> & { input?: string } = {},
  { seconds = 100, bytes = 4 << 20 }: Limits = {},
): Promise<LimitedRun> {
  const { input, ...spawning } = options;
  const child = spawn(command, args, { ...spawning, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  let exceeded: string | null = null;
  const stop = (what: string) => {
    exceeded ??= what;
    killGroup(child);
  };
  const timer = setTimeout(() => stop(`took longer than ${seconds} s`), seconds * 1e3);
  const streams = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      streams[name] += text;
      if (streams[name].length > bytes) {
        streams[name] = streams[name].slice(-shownCharacters);
        stop(`printed more than ${bytes} bytes to ${name}`);
      }
    });
  }
  // It may end without reading all of it.
  child.stdin.on("error", () => undefined).end(input);
  try {
    const [code] = (await once(child, "close")) as [number | null];
    if (exceeded === null) return { code, ...streams };
    const ends = Object.entries(streams).map(([name, text]) => `${name}: ${text.slice(-shownCharacters)}`);
    throw new Error([`${[command, ...args].join(" ")} ${exceeded}.`, ...ends].join("\n"));
  } finally {
    clearTimeout(timer);
  }
}

/** Ends the group even if one of its processes holds the streams open. */
function killGroup(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, "SIGKILL");
  } catch {
    // It has ended.
  }
  for (const stream of [child.stdout, child.stderr]) setTimeout(() => stream?.destroy(), 2000).unref();
}
