// The tests of one folder on sources that have all their mutants in them, of which runner.mjs switches on one at a time.
// `npm run mutate` sets the variables.
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
    // One process that loads the sources once: a mutant then costs as much as its tests compute.
    isolate: false,
    fileParallelism: false,
    maxWorkers: 1,
    pool: "forks",
    // A test that waits for what a mutant took away.
    testTimeout: 120_000,
    // One mutant's must not end the others' process. With a single one it counts, as does a process that ran out of memory.
    dangerouslyIgnoreUnhandledErrors: mutantAtLoad === undefined,
  },
});
