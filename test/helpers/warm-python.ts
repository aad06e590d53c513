import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Runs programs like testPython, from one process that has already imported torch. */
    warmPython: string;
  }
}

const programs = fileURLToPath(new URL("../fixtures/warm_python/", import.meta.url));

/** Space for forked processes' environments in /proc; one string of an environment is at most this long. */
const environmentBytes = 120_000;

/**
 * Starts that process for all tests; it imports torch when the first of them needs it, and ends with this one. If it
 * cannot start, tests run `python` itself.
 */
export async function startWarmPython(project: TestProject, python: string): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-warm-"));
  const socket = join(folder, "socket");
  const launcher = join(folder, "python3");
  writeFileSync(launcher, `#!/bin/sh\nexec '${python}' -IS '${programs}ask.py' '${socket}' "$@"\n`, {
    mode: 0o700,
  });
  const { LD_PRELOAD: _, PYTHONPATH: __, ...env } = process.env;
  const server = spawn(python, [join(programs, "serve.py"), socket], {
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...env, OMP_NUM_THREADS: "1", ROOM_FOR_ENVIRONMENTS: "-".repeat(environmentBytes) },
  });
  const ended = once(server, "exit");
  const isThere = await Promise.race([once(server.stdout, "data").then(() => true), ended.then(() => false)]);
  project.provide("warmPython", isThere ? launcher : python);
  return async () => {
    server.stdin.end();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
}
