import { defineConfig } from "vitest/config";

/**
 * Tests of functions, which start nothing, change nothing of their process and replace no module: their files share
 * processes, in which what they import is loaded once. To load it anew for each takes longer than most of their tests.
 */
const pure = [
  "test/{compare,draw,kinds,plan,report,stats}/**/*.test.ts",
  "test/explain/{run-figures,verdicts,questions/*}.test.ts",
  "test/fleet/{cells-in-blocks,figure-noise,judge-fleet,launch-plan,node-groups,not-heard-of}.test.ts",
  "test/fleet/{read-fleet,simulated-fleets}.test.ts",
  "test/measure/{beside-load,cell-progress,cold-start,joined-result,merge-processes,remaining-time}.test.ts",
  "test/measure/{rotation,series-time}.test.ts",
  "test/pin/{largest-amount,pool-shapes,recommend-pool,refusal-reason}.test.ts",
  "test/results/{cell-id,claimed-interval,device-facts,fingerprint,import-nvbandwidth,json-schema}.test.ts",
  "test/results/{parse,parse-figures,run-settings,tuning}.test.ts",
  "test/settings/{config-json-schema,config-refusals,labels,sizes,thresholds,units}.test.ts",
  "test/tune/{choice,confirmation,estimator,grid,live-search,machine-limits,next-setting,open-wait}.test.ts",
  "test/tune/{pooled-score,rate-bounds,recommend,score,search,steady-state,stopping,storage-reads}.test.ts",
  "test/tune/{trials,tune-loader,live/joint-arrivals,live/target-loader,model/data-folder}.test.ts",
];

/** Hooks measure too, and take as long on a busy machine. */
const limits = { testTimeout: 60_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    globalSetup: ["test/helpers/optional-programs.ts"],
    // Few at once: the tests start processes that copy memory with several threads of their own. One more than the least
    // machine has CPUs, as much of their time is waiting for trainings that play at computing.
    maxWorkers: 3,
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
