import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { testGroups } from "./test/helpers/test-groups.js";
import { chosenVariant, globalSetup, projectNames, projectsOf } from "./test/helpers/test-variants.js";

// Node reads these certificates at each start, which takes twice as long as all else of it; no test needs a network.
delete process.env.NODE_EXTRA_CA_CERTS;

/** What takes 10 s and more, though it mostly waits: longest first. */
const waiting = [
  ...["docs", "fleet/slurm", "measure/left-behind", "cli/doctor", "fleet/fleet-run", "cli/worker-processes"],
  ...["faults/long-runs", "tune/live/jobs", "cli/deadline", "cli/run-blocks"],
  ...["tune/torch/ending", "cli/health-checks", "index/library", "cli/run-cells", "cli/tune"],
  ...["browser/every-page", "browser/hostile-page", "cli/run-output", "tune/python-modules"],
  ...["measure/worker-pool", "measure/fresh-process", "cli/streams", "tune/torch/trials", "faults/kills"],
  ...["cli/live-tune", "cli/live-tune-end", "cli/device-in-use", "cli/interruption", "cli/pin"],
  ...["cli/run-numa", "setup/prepare", "browser/reading", "tune/live/hook"],
  ...["browser/look", "doctor/experiments", "faults/driver-calls", "fleet/launcher-processes", "cli/explain"],
].map((name) => `/test/${name}.test.ts`);

/** Number of them that begin together, so that the others keep the CPUs busy. */
const waitingAtOnce = 3;

/** What waits is spread over the first two thirds of the others: not one of these is left alone at the end. */
function spread(files: TestSpecification[]): TestSpecification[] {
  const rankOf = ({ moduleId }: TestSpecification) => waiting.findIndex((name) => moduleId.endsWith(name));
  const long = files.filter((file) => rankOf(file) >= 0).sort((a, b) => rankOf(a) - rankOf(b));
  const others = files.filter((file) => rankOf(file) < 0);
  const mixed = long.splice(0, waitingAtOnce);
  const between = Math.floor((2 * others.length) / (3 * Math.max(1, long.length)));
  for (const file of long) mixed.push(...others.splice(0, between), file);
  return [...mixed, ...others];
}

class WaitingBesideBusy extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    // Those of a project follow each other, as a process ends if the next file is of another one.
    return projectNames.flatMap((name) => spread(sorted.filter(({ project }) => project.name === name)));
  }
}

/** All tests of this machine. */
const all = () => ({
  // What a file is transformed to is kept in node_modules for as long as the file stays as it is.
  experimental: { fsModuleCache: true },
  globalSetup,
  // More than the two CPUs of the least machine, as tests of commands mostly wait; not many more, as tests start processes
  // that copy memory with several threads of their own.
  maxWorkers: 7,
  sequence: { sequencer: WaitingBesideBusy },
  projects: projectsOf(testGroups(["gpu/", "package/"], ["docs.test.ts"]), {
    // Most functions run a few times in a file of tests: optimizing them at V8's usual budget takes longer than it saves.
    execArgv: ["--interrupt-budget=1000000"],
    testTimeout: 300_000,
    // Hooks measure too, and take as long on a busy machine.
    hookTimeout: 300_000,
    // Rows' names in titles are whole.
    chaiConfig: { truncateThreshold: 0 },
  }),
});

export default defineConfig({ test: chosenVariant() ?? all() });
