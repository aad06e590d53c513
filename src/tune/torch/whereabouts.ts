import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ProbeProcess } from "./process.js";

/** How long the processes have to write where they are: they do it in a signal's handler, at once. */
const writeMs = 300;

export interface Whereabouts {
  /** "train_data.py:17, in __getitem__": the user's innermost line, of a worker where one is in their code. */
  place: string;
  traceback: string;
}

/**
 * Where the processes of a probe that hangs are in the user's code; null where none is. The processes that have no
 * handler for the signal (worker_start.py) die of it: only for a probe that is to be killed.
 */
export async function whereItHangs(probe: ProbeProcess): Promise<Whereabouts | null> {
  probe.signalAll("SIGUSR2");
  await sleep(writeMs);
  const stacks = readdirSync(probe.scratch).filter((name) => name.endsWith(".stack"));
  // The main process waits for the workers where it has some.
  stacks.sort((a, b) => Number(a.startsWith("main")) - Number(b.startsWith("main")) || a.localeCompare(b));
  for (const name of stacks) {
    const found = readStack(readFileSync(join(probe.scratch, name), "utf8"));
    if (found !== null) return found;
  }
  return null;
}

/** Of Python's own and installed code, in which no user can do anything. */
const library =
  /(^<)|\/(site|dist)-packages\/|\/lib(64)?\/python3[^/]*\/|\/pinbench_probe\/|\/torch\/probe\/main\.py$/;

/** The user's frames of what faulthandler writes of one thread, the innermost first; null where there are none. */
export function readStack(text: string): Whereabouts | null {
  const frames = [...text.matchAll(/^ {2}File "(.+)", line (\d+) in (.+)$/gm)].map(
    ([, file = "", line = "", name = ""]) => ({ file, line, name }),
  );
  const first = frames.findIndex(({ file }) => !library.test(file));
  const innermost = frames[first];
  if (innermost === undefined) return null;
  const users = frames.filter(({ file }) => !library.test(file)).reverse();
  return {
    place: `${shorten(innermost.file)}:${innermost.line}, in ${innermost.name}`,
    traceback: users.map(({ file, line, name }) => `  File "${file}", line ${line}, in ${name}`).join("\n"),
  };
}

/** Relative to the current folder where it is below that, and there is one. */
function shorten(file: string): string {
  try {
    const path = relative(realpathSync(process.cwd()), file);
    return path.startsWith("..") ? file : path;
  } catch {
    return file;
  }
}
