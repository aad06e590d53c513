import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { testGroups } from "./test/helpers/test-groups.js";

// Node reads these certificates at each start, which takes twice as long as all else of it; no test needs a network.
delete process.env.NODE_EXTRA_CA_CERTS;

const { shared, commands, alone } = testGroups(["gpu/", "package/"], ["docs.test.ts"]);

/**
 * What takes longest is begun first, so that not one of these is left alone at the end; those that mostly wait beside those
 * that keep a CPU busy, so that no CPU waits for all of them.
 */
const longest = [
  ...["docs", "cli/live-tune", "cli/live-tune-end", "faults/kills", "tune/torch/ending", "tune/torch/trials"],
  ...["cli/device-in-use", "measure/worker-pool"],
  ...[
    "cli/doctor",
    "cli/interruption",
    "cli/tune",
    "cli/slow-copies",
    "cli/worker-processes",
    "fleet/fleet-run",
  ],
  ...["cli/check", "cli/pin", "cli/baseline-sessions", "cli/run-numa", "cli/history", "cli/health-checks"],
  ...[
    "cli/run-processes",
    "cli/run-blocks",
    "cli/baseline-update",
    "cli/failing-machine",
    "cli/run-block-search",
  ],
  ...["fleet/slurm", "tune/live/jobs", "tune/live/hook", "browser/reading", "setup/prepare", "browser/look"],
  ...[
    "browser/hostile-page",
    "tune/live/live-probe",
    "browser/samples",
    "faults/long-runs",
    "browser/every-page",
  ],
  ...["tune/python-modules", "doctor/experiments", "faults/driver-calls", "cli/deadline", "cli/colours"],
].map((name) => `/test/${name}.test.ts`);

const projects = ["own process", "commands", "shared process"] as const;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId, project }: TestSpecification) => {
      const rank = longest.findIndex((name) => moduleId.endsWith(name));
      // Those of a project follow each other, as a process ends if the next file is of another one.
      const before = (projects as readonly string[]).indexOf(project.name) * (longest.length + 1);
      return before + (rank < 0 ? longest.length : rank);
    };
    return (await super.sort(files)).sort((a, b) => rankOf(a) - rankOf(b));
  }
}

const setup = "test/helpers/each-file.ts";

/**
 * Hooks measure too, and take as long on a busy machine. Most functions run a few times in a file of tests: optimizing them at
 * V8's usual budget takes longer than it saves.
 */
const common = {
  execArgv: ["--interrupt-budget=1000000"],
  setupFiles: [setup],
  testTimeout: 60_000,
  hookTimeout: 60_000,
};

const ofCommands = { ...common, setupFiles: [setup, "test/helpers/commands-setup.ts"] };

export default defineConfig({
  test: {
    // What a file is transformed to is kept in node_modules for as long as the file stays as it is.
    experimental: { fsModuleCache: true },
    globalSetup: ["test/helpers/optional-programs.ts"],
    // Few at once, as tests start processes that copy memory with several threads of their own; but more than the two CPUs of
    // the least machine, as tests of commands mostly wait.
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { name: projects[0], include: alone, ...common } },
      { test: { name: projects[1], include: commands, isolate: false, ...ofCommands } },
      { test: { name: projects[2], include: shared, isolate: false, ...common } },
    ],
  },
});
