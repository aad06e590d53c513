import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { TestProject } from "vitest/node";
import { removeFixtureRoots } from "./fixture-root.js";
import { startWarmPython } from "./warm-python.js";

declare module "vitest" {
  interface ProvidedContext {
    testPython: string;
    /** Why tests that need torch are skipped; null if torch is there. */
    torchMissing: string | null;
    chromium: string;
    /** Why tests that need a browser are skipped; null if there is one. */
    chromiumMissing: string | null;
    /** Why tests that need Slurm are skipped; null if it is there. */
    slurmMissing: string | null;
  }
}

/** The system's Python, for which Debian's python3-torch has a CPU torch. */
const testPython = process.env.PINBENCH_TEST_PYTHON ?? "/usr/bin/python3";
/** Debian's browsers for pages, of which the first needs half of the other's CPU time. */
const chromiums = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"] as const;
const chromium = process.env.PINBENCH_CHROMIUM ?? chromiums.find((path) => existsSync(path)) ?? chromiums[0];

/**
 * Looks once, for all tests, for optional programs. Tests of a missing program are skipped, and the
 * last lines of the run say how many; it is an error if a variable with the value 1 demands the program.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const torchMissing = hasTorch() ? null : `${testPython} has no torch`;
  const chromiumMissing = existsSync(chromium) ? null : `there is no browser ${chromium}`;
  project.provide("testPython", testPython);
  project.provide("torchMissing", torchMissing);
  project.provide("chromium", chromium);
  project.provide("chromiumMissing", chromiumMissing);
  const slurmMissing = missingOfSlurm();
  project.provide("slurmMissing", slurmMissing);
  const reports = [
    sought(
      project,
      torchMissing,
      "PINBENCH_REQUIRE_TORCH",
      "On Debian `apt-get install python3-torch` brings one; PINBENCH_TEST_PYTHON names another Python that has it.",
    ),
    sought(
      project,
      chromiumMissing,
      "PINBENCH_REQUIRE_CHROMIUM",
      "On Debian `apt-get install chromium-headless-shell` brings one; PINBENCH_CHROMIUM names another one.",
    ),
    sought(
      project,
      slurmMissing,
      "PINBENCH_REQUIRE_SLURM",
      "On Debian `apt-get install slurm-wlm munge` brings it; no daemon needs to run.",
    ),
  ];
  project.provide("warmPython", testPython);
  const endWarmPython = torchMissing === null ? await startWarmPython(project, testPython) : null;
  return async () => {
    await endWarmPython?.();
    removeFixtureRoots();
    for (const report of reports) report();
  };
}

/** Throws if a demanded program is missing; else returns a reporter of the number of skipped tests. */
function sought(project: TestProject, missing: string | null, demand: string, advice: string): () => void {
  if (missing !== null && process.env[demand] === "1") {
    throw new Error(`${missing}, and ${demand}=1 demands it. ${advice}`);
  }
  return () => {
    if (missing !== null) saySkipped(project, missing, advice);
  };
}

/** Prints at the end how many tests were skipped with this note. */
export function saySkipped(project: TestProject, missing: string, advice: string): void {
  const tests = project.vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()]);
  const skipped = tests.filter((test) => {
    const result = test.result();
    return result.state === "skipped" && result.note === missing;
  });
  if (skipped.length > 0) console.log(`\n${skipped.length} tests were skipped: ${missing}. ${advice}`);
}

function missingOfSlurm(): string | null {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin"];
  const programs = ["munged", "slurmctld", "slurmd", "srun", "scontrol"];
  const missing = programs.find((name) => !folders.some((folder) => existsSync(join(folder, name))));
  return missing === undefined ? null : `Slurm is not installed (no ${missing})`;
}

function hasTorch(): boolean {
  // Only looked up, because importing takes a second; without the sanitizer that test-asan.mjs has put into this process.
  const { LD_PRELOAD: _, ...env } = process.env;
  const program = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)";
  return spawnSync(testPython, ["-c", program], { env, stdio: "ignore" }).status === 0;
}
