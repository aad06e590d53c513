import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Tests of functions, which start nothing, change nothing of their process and replace no module: their files share
 * processes, in which what they import is loaded once. To load it anew for each takes longer than most of their tests.
 */
const pure = [
  "test/{docs-fleet,imports}.test.ts",
  "test/{compare,draw,fleet/report,kinds,plan,report,stats}/**/*.test.ts",
  "test/doctor/diagnosis-report.test.ts",
  "test/explain/{run-figures,verdicts,questions/*,torch/worker-trials}.test.ts",
  "test/faults/messages.test.ts",
  "test/fleet/{cell-levels,cells-in-blocks,figure-noise,judge-fleet,launch-plan,levels,node-groups}.test.ts",
  "test/fleet/{not-heard-of,read-fleet,shared-traits,simulated-fleets,site-reference,slow-since}.test.ts",
  "test/fleet/{*-by-hand,joined-results,node-figures,outlier-evidence,references}.test.ts",
  "test/measure/{beside-load,cell-progress,cold-start,joined-result,merge-processes,remaining-time}.test.ts",
  "test/measure/{rotation,series-time}.test.ts",
  "test/pin/{largest-amount,pinning-report,pool-observations,pool-shapes,recommend-pool,refusal-reason}.test.ts",
  "test/results/{cell-id,claimed-interval,device-facts,fingerprint,import-nvbandwidth,json-schema}.test.ts",
  "test/results/{over-time,parse,parse-figures,run-settings,tuning,cutoffs/*,naming/*}.test.ts",
  "test/settings/{choices,config-json-schema,config-refusals,kinds,labels,settings}.test.ts",
  "test/settings/{sizes,thresholds,units}.test.ts",
  "test/tune/{choice,confirmation,epoch-cost,estimator,grid,live-search,machine-limits}.test.ts",
  "test/tune/{next-setting,open-wait,report/{loader,tuning-charts,tuning-reasons,tuning-table}*}.test.ts",
  "test/tune/{pooled-score,rate-bounds,recommend,score,search,steady-state,stopping,storage-reads}.test.ts",
  "test/tune/{search-by-hand,search-steps,waiting}.test.ts",
  "test/tune/{trials,tune-loader,live/{joint-arrivals,live-trial,target-loader},model/data-folder}.test.ts",
];

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
const limits = { testTimeout: 60_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    globalSetup: ["test/helpers/optional-programs.ts"],
    // Few at once: the tests start processes that copy memory with several threads of their own. One more than the least
    // machine has CPUs, as half of their time is waiting; with four, tests of rates failed for load, and were hardly quicker.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: "own process",
          include: ["test/**/*.test.ts"],
          exclude: ["test/gpu/**", "test/package/**", ...pure],
          ...limits,
        },
      },
      { test: { name: "shared process", include: pure, isolate: false, ...limits } },
    ],
  },
});
