import { defineConfig } from "vitest/config";
import { testGroups } from "./test/helpers/test-groups.js";

// The processes of the tests are started with it (scripts/test-arm64.mjs).
process.execPath = process.env.PINBENCH_TESTS_NODE ?? process.execPath;
// Modules that tests compile are for it too.
process.env.CXX = "aarch64-linux-gnu-g++";

/**
 * Not arm64's: what needs torch, a browser or Slurm, what other configurations run, what is about scripts that run on the
 * developer's machine, and libraries that are compiled for this machine to be loaded before the addon.
 */
const leftOut = [
  ...["browser/", "gpu/", "package/", "setup/", "docs", "imports", "fleet/slurm"],
  ...["tune/torch/", "tune/live/", "tune/python", "explain/torch/", "cli/live-tune", "pin/pool-code"],
  ...["faults/file-calls", "faults/long-runs", "faults/kills"],
];

/** Tests of what qemu's user mode lacks. */
const notUnderQemu = [
  // Memory policies of NUMA nodes.
  "is the seed, the staging ring and the NUMA node that were asked for",
  "names with --quick too the NUMA node to use",
  // The time when a process began, by which a lock tells whose it is.
  "lose no line",
  "lose no fresh line",
  "of a living process is not taken away",
  // A Node that starts in less than two seconds.
  "an abort before the process measures ends it",
  "that hangs is ended when the deadline comes",
  // The speed at which a text is read within a second of CPU time.
  "many ranges",
];

const { shared, commands, alone } = testGroups(leftOut, []);

const setup = "test/helpers/each-file.ts";

/** A command takes some ten times as long as without qemu. */
const common = { setupFiles: [setup], testTimeout: 600_000, hookTimeout: 600_000 };

const ofCommands = { ...common, setupFiles: [setup, "test/helpers/commands-setup.ts"] };

export default defineConfig({
  test: {
    globalSetup: ["test/helpers/optional-programs.ts"],
    maxWorkers: 2,
    testNamePattern: new RegExp(`^(?!.*(${notUnderQemu.join("|")}))`),
    projects: [
      { test: { name: "own process", include: alone, ...common } },
      { test: { name: "commands", include: commands, isolate: false, ...ofCommands } },
      { test: { name: "shared process", include: shared, isolate: false, ...common } },
    ],
  },
});
