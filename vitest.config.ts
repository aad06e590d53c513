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
  "tune/against-grid",
  "tune/live/hook",
  "cli/deadline",
  "cli/health-checks",
  "cli/run-block-search",
  "cli/device-in-use",
  "cli/tune",
  "cli/interruption",
].map((name) => `/test/${name}.test.ts`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = longest.findIndex((name) => moduleId.endsWith(name));
      return rank < 0 ? longest.length : rank;
    };
    return (await super.sort(files)).sort((a, b) => rankOf(a) - rankOf(b));
  }
}

/** Hooks measure too, and take as long on a busy machine. */
const common = {
  setupFiles: ["test/helpers/after-each-file.ts"],
  testTimeout: 60_000,
  hookTimeout: 60_000,
};

export default defineConfig({
  test: {
    globalSetup: ["test/helpers/optional-programs.ts"],
    // Few at once: the tests start processes that copy memory with several threads of their own. One more than the least
    // machine has CPUs, as half of their time is waiting; with four, tests of rates failed for load, and were hardly quicker.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { name: "own process", include: alone, ...common } },
      { test: { name: "commands", include: commands, isolate: false, ...common } },
      { test: { name: "shared process", include: shared, isolate: false, ...common } },
    ],
  },
});
