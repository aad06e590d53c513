// Runs the tests of one folder on sources with all their mutants, which runner.mjs activates one at a time. `npm run
// mutate` sets the variables.
import { readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { inRoot, root } from "../lib/project.mjs";

const {
  PINBENCH_MUTATED_TESTS: tests,
  PINBENCH_MUTATED_SOURCES: instrumented,
  PINBENCH_MUTATED_AT_LOAD: mutantAtLoad,
} = process.env;
const sources = new Map(Object.entries(JSON.parse(readFileSync(instrumented, "utf8"))));

export default defineConfig({
  root,
  plugins: [
    {
      name: "mutants",
      enforce: "pre",
      load: (id) => sources.get(id.split("?")[0]) ?? null,
    },
  ],
  test: {
    include: JSON.parse(tests),
    setupFiles: [inRoot("test/helpers/each-file.ts")],
    runner: inRoot("scripts/mutation/runner.mjs"),
    bail: 1,
    // One process loads the sources once, so that a mutant costs only its tests' own time.
    isolate: false,
    fileParallelism: false,
    maxWorkers: 1,
    pool: "forks",
    // A mutant may remove what a test waits for.
    testTimeout: 120_000,
    // One mutant's unhandled error must not end the process for all others. With a single mutant the error counts.
    dangerouslyIgnoreUnhandledErrors: mutantAtLoad === undefined,
  },
});
