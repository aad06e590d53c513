import type { ViteUserConfig } from "vitest/config";
import { type TestGroups, testGroups } from "./test-groups.js";

/** Parts of the tests that run once more in another way, by the value of PINBENCH_TEST_VARIANT. */

type TestConfig = NonNullable<ViteUserConfig["test"]>;

const setupFiles = ["test/helpers/each-file.ts"];
export const globalSetup = ["test/helpers/optional-programs.ts"];

/** In the order in which they run. */
export const projectNames = ["own process", "commands", "shared process"] as const;

/** A project for each group of test files, which share processes in different ways. */
export function projectsOf(
  { shared, commands, alone }: TestGroups,
  common: TestConfig,
): NonNullable<TestConfig["projects"]> {
  const ofCommands = { ...common, setupFiles: [...setupFiles, "test/helpers/commands-setup.ts"] };
  return [
    { test: { ...common, name: projectNames[0], include: alone, setupFiles } },
    { test: { ...ofCommands, name: projectNames[1], include: commands, isolate: false } },
    { test: { ...common, name: projectNames[2], include: shared, isolate: false, setupFiles } },
  ];
}

/** Tests that make the addon do new things. With a sanitizer, others find nothing and take long. */
const nativeTests = [
  "test/native-loading/{backend,beside,blocks,company,health,load,peer-copies,probe,training-loader}.test.ts",
  "test/index/{pin,run}.test.ts",
  "test/cli/{faults,run-at-once,run-between-devices,run-blocks,run-cells,run-together,verify-every}.test.ts",
  "test/faults/{block-corruption,corruption,driver-calls,native-boundary,native-lifetimes}.test.ts",
  "test/tune/model/model-probe.test.ts",
];

/** scripts/test-asan.mjs runs them. */
function asan(): TestConfig {
  return {
    include: nativeTests,
    globalSetup,
    setupFiles,
    maxWorkers: 2,
    testTimeout: 300_000,
    // What a hook measures takes several times as long with AddressSanitizer.
    hookTimeout: 180_000,
  };
}

/**
 * Not arm64's: what needs torch, a browser or Slurm, what other configurations run, what is about scripts that run on the
 * developer's machine, and libraries that are compiled for this machine to be loaded before the addon.
 */
const notForArm64 = [
  ...["browser/", "gpu/", "package/", "setup/", "docs", "imports", "fleet/slurm"],
  ...["tune/torch/", "tune/live/", "tune/python", "explain/torch", "cli/live-tune", "pin/pool-code"],
  ...["faults/file-calls", "faults/long-runs", "faults/kills"],
];

/** Tests of what qemu's user mode lacks. */
const notUnderQemu = [
  // Memory policies of NUMA nodes.
  "is the requested NUMA node",
  "names the NUMA node to use, with --preset quick too",
  // The time when a process began, by which a lock tells whose it is.
  "lose no line",
  "of a living process is not taken away",
  // A Node that starts in less than two seconds.
  "an abort before the process measures ends it",
  "that hangs is ended when the deadline comes",
  // The speed at which a text is read within a second of CPU time.
  "many ranges",
];

/** scripts/test-arm64.mjs runs them. */
function arm64(): TestConfig {
  // The processes of the tests are started with it.
  process.execPath = process.env.PINBENCH_TESTS_NODE ?? process.execPath;
  // Modules that tests compile are for it too.
  process.env.CXX = "aarch64-linux-gnu-g++";
  return {
    globalSetup,
    maxWorkers: 2,
    testNamePattern: new RegExp(`^(?!.*(${notUnderQemu.join("|")}))`),
    // A command takes some ten times as long as without qemu.
    projects: projectsOf(testGroups(notForArm64, []), { testTimeout: 600_000, hookTimeout: 600_000 }),
  };
}

/** Null without the variable: all tests of this machine, as vitest.config.ts says. */
export function chosenVariant(): TestConfig | null {
  const name = process.env.PINBENCH_TEST_VARIANT;
  if (name === undefined) return null;
  if (name === "asan") return asan();
  if (name === "arm64") return arm64();
  throw new Error(`PINBENCH_TEST_VARIANT is asan or arm64, not ${name}.`);
}
