import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, vi } from "vitest";
import { leftovers, marked } from "../tune/torch/support.js";
import { type Finished, runCli } from "./run-cli.js";
import { testPython } from "./test-python.js";

/** Training jobs in which `pinbench tune -- COMMAND` searches. */

export const cwd = fileURLToPath(new URL("../fixtures/tune/live", import.meta.url));
export const training = (...args: string[]) => [testPython, "training.py", ...args];

/** pinbench tune of a command; a budget that is enough for a look at each setting. */
export const tuneArgs = (command: readonly string[], ...flags: string[]) => [
  ...["tune", "--budget", "5s", "--max-workers", "2", ...flags, "--"],
  ...command,
];

export const environment = {
  PYTHON: testPython,
  OMP_NUM_THREADS: "1",
  PINBENCH_TEST_MARKER: process.env.PINBENCH_TEST_MARKER!,
};

export function tune(command: readonly string[], ...flags: string[]): Promise<Finished> {
  return runCli(tuneArgs(command, ...flags), { cwd, env: { ...environment, TMPDIR: process.env.TMPDIR! } });
}

export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "pb-live-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** No process of a job, nothing in /dev/shm, and no folder of pinbench's; what Python leaves in TMPDIR is its own affair. */
export async function expectNothingLeft(): Promise<void> {
  const ours = /^(pinbench-|torch_|sem\.|psm_)/;
  const left = () => ({ processes: marked(), files: leftovers().filter((name) => ours.test(name)) });
  await vi.waitFor(() => expect(left()).toEqual({ processes: [], files: [] }), {
    timeout: 20_000,
    interval: 50,
  });
}
