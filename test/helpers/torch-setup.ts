import { spawnSync } from "node:child_process";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    testPython: string;
    /** Why tests that need torch are skipped; null where there is a torch. */
    torchMissing: string | null;
  }
}

/** The system's Python, for which Debian has a torch of the CPU in the package python3-torch. */
const testPython = process.env.PINBENCH_TEST_PYTHON ?? "/usr/bin/python3";

const advice =
  "On Debian `apt-get install python3-torch` brings one; PINBENCH_TEST_PYTHON names another Python that has it.";

/**
 * Looks for torch once for all tests. Without one its tests are skipped, and the last line of the run says how many;
 * with PINBENCH_REQUIRE_TORCH=1 that is an error.
 */
export default function setup(project: TestProject): () => void {
  const missing = hasTorch() ? null : `${testPython} has no torch`;
  if (missing !== null && process.env.PINBENCH_REQUIRE_TORCH === "1") {
    throw new Error(`${missing}, and PINBENCH_REQUIRE_TORCH=1 demands it. ${advice}`);
  }
  project.provide("testPython", testPython);
  project.provide("torchMissing", missing);
  return () => {
    if (missing === null) return;
    const tests = project.vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()]);
    const skipped = tests.filter((test) => {
      const result = test.result();
      return result.state === "skipped" && result.note === missing;
    });
    if (skipped.length > 0) console.log(`\n${skipped.length} tests were skipped: ${missing}. ${advice}`);
  };
}

function hasTorch(): boolean {
  // Looked up, as importing it takes a second; and without a sanitizer that test-asan.mjs has put into this process.
  const { LD_PRELOAD: _, ...env } = process.env;
  const program = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)";
  return spawnSync(testPython, ["-c", program], { env, stdio: "ignore" }).status === 0;
}
