import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { testGroups } from "./test/helpers/test-groups.js";

const { shared, commands, alone } = testGroups(["gpu/", "package/"], ["browser/", "docs.test.ts"]);

/** What takes longest, and mostly waits: it is begun first, so that not one of these is left alone at the end. */
const longest = [
  "cli/doctor",
  "fleet/slurm",
  "tune/live/jobs",
  "docs",
  "tune/live/live-probe",
  "tune/live/hook",
  "cli/deadline",
  "cli/health-checks",
  "cli/run-block-search",
  "cli/device-in-use",
  "cli/tune",
  "cli/interruption",
].map((name) => `/test/${name}.test.ts`);

const projects = ["own process", "commands", "shared process"] as const;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId, project }: TestSpecification) => {
      const rank = longest.findIndex((name) => moduleId.endsWith(name));
      // A process ends if the next file is of another project.
      return rank < 0 ? longest.length + (projects as readonly string[]).indexOf(project.name) : rank;
    };
    return (await super.sort(files)).sort((a, b) => rankOf(a) - rankOf(b));
  }
}

const setup = "test/helpers/after-each-file.ts";

/** Hooks measure too, and take as long on a busy machine. */
const common = { setupFiles: [setup], testTimeout: 60_000, hookTimeout: 60_000 };

const ofCommands = { ...common, setupFiles: [setup, "test/helpers/commands-setup.ts"] };

export default defineConfig({
  test: {
    globalSetup: ["test/helpers/optional-programs.ts"],
    // Few at once: the tests start processes that copy memory with several threads of their own. One more than the least
    // machine has CPUs, as half of their time is waiting; with four, tests of rates failed for load, and were hardly quicker.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { name: projects[0], include: alone, ...common } },
      { test: { name: projects[1], include: commands, isolate: false, ...ofCommands } },
      { test: { name: projects[2], include: shared, isolate: false, ...common } },
    ],
  },
});
