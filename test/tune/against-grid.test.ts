import { fileURLToPath } from "node:url";
import { it, type onTestFinished } from "vitest";
import type { Tuning } from "../../src/results/tuning.js";
import { openTorchProbe } from "../../src/tune/torch/torch-probe.js";
import { tuneLoader } from "../../src/tune/tune-loader.js";
import { skipWithoutTorch, warmPython } from "../helpers/test-python.js";
import { limitsOf } from "../helpers/tune.js";

skipWithoutTorch();

/** What bench/tune.mjs does on a GPU with time enough, as far as a CPU that others use as well can do it. */
async function gridAndSearch(
  target: string,
  onFinished: typeof onTestFinished,
): Promise<{ grid: Tuning; search: Tuning }> {
  const { signal } = new AbortController();
  const probe = await openTorchProbe({
    python: warmPython,
    torch: fileURLToPath(new URL(`../fixtures/tune/${target}`, import.meta.url)),
    batchSize: 4,
    collate: null,
    kwargs: { seconds: 0.01 },
    stepTime: null,
    step: null,
    rank: null,
    coldFolder: null,
    shuffle: true,
    seed: 1,
    timeoutNs: 60e9,
    signal,
  });
  onFinished(() => probe.close());
  const tuned = (exhaustive: boolean) =>
    tuneLoader(
      probe,
      {
        limits: limitsOf(),
        maxWorkers: 4,
        budgetNs: 8e9,
        epochBatches: null,
        timeoutNs: 30e9,
        exhaustive,
        argv: [],
        startedAt: new Date(),
        startedMs: performance.now(),
      },
      signal,
    );
  return { grid: await tuned(true), search: await tuned(false) };
}

it.for([
  ["Sleeping", "samples that wait, as many at once as there are workers"],
  ["OneAtATime", "samples that come through one lock"],
])(
  "for %s (%s) the choice brings at least 0.7 of what the grid's best does",
  async ([name], { expect, onTestFinished }) => {
    const { grid, search } = await gridAndSearch(`sleeping.py:${name}`, onTestFinished);
    expect(grid.tried.map(({ setting }) => setting.numWorkers)).toEqual([0, 1, 2, 3, 4]);
    const workers = search.recommendation?.setting.numWorkers;
    const rates = grid.tried.map(({ score }) => score?.batchesPerSecond ?? 0);
    const said = `${workers} workers; the grid has ${rates.map((rate) => rate.toFixed(1)).join(", ")}`;
    expect(rates[workers!], said).toBeGreaterThan(0.7 * Math.max(...rates));
    if (name === "Sleeping") expect(workers, said).toBeGreaterThanOrEqual(3);
  },
);
