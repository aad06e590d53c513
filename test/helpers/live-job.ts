import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, vi } from "vitest";
import { marked, orphans } from "../tune/torch/support.js";
import { type Finished, type Started, startCli } from "./run-cli.js";
import { testPython, warmPython } from "./test-python.js";

/** Training jobs in which `pinbench tune -- COMMAND` searches; tests of them run at the same time. */

export const cwd = fileURLToPath(new URL("../fixtures/tune/live", import.meta.url));
export const training = (...args: string[]) => [warmPython, "training.py", ...args];
/** The same, with a fresh Python. */
export const coldTraining = (...args: string[]) => [testPython, "training.py", ...args];

/** pinbench tune of a command, with enough budget to try each setting. */
const tuneArgs = (command: readonly string[], flags: readonly string[]) => [
  ...["tune", "--budget", "5s", "--max-workers", "2", ...flags, "--"],
  ...command,
];

/** A call of pinbench and its job: the mark of their processes, and their folder for temporary files. */
export interface Traced {
  marker: string;
  temporary: string;
}

let calls = 0;

export function startTune(
  command: readonly string[],
  flags: readonly string[] = [],
  temporary = folder(),
): Started & Traced {
  const mark = `${process.env.PINBENCH_TEST_MARKER}-${++calls}.`;
  const env = { PYTHON: warmPython, OMP_NUM_THREADS: "1", PINBENCH_TEST_MARKER: mark, TMPDIR: temporary };
  const started = startCli(tuneArgs(command, flags), { cwd, env });
  return { ...started, marker: `PINBENCH_TEST_MARKER=${mark}`, temporary };
}

export async function tune(command: readonly string[], ...flags: string[]): Promise<Finished & Traced> {
  const { child: _, finished, ...traced } = startTune(command, flags);
  return { ...(await finished), ...traced };
}

/** Removed with the folders of the test file. */
export function folder(): string {
  return mkdtempSync(join(tmpdir(), "pb-live-"));
}

/** Requires no process of a job, no file in /dev/shm and no folder of pinbench. Python's files in TMPDIR are ignored. */
export async function expectNothingLeft({ marker, temporary }: Traced): Promise<void> {
  const left = () => ({
    processes: marked(marker),
    files: [...readdirSync(temporary).filter((name) => /^(pinbench-|torch_|psm_)/.test(name)), ...orphans()],
  });
  await vi.waitFor(() => expect(left()).toEqual({ processes: [], files: [] }), {
    timeout: 20_000,
    interval: 50,
  });
}
