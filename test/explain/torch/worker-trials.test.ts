import { expect, it } from "vitest";
import { runWorkerTrials, workersToTry } from "../../../src/explain/questions/too-many-workers.js";
import type { MachineLimits } from "../../../src/tune/machine-limits.js";
import { SimulatedProbe, simulatedFacts } from "../../helpers/simulated-loader.js";

const limits: MachineLimits = {
  usableCpus: 4,
  cpuQuota: null,
  memoryAvailableBytes: 2 ** 40,
  sharedMemoryBytes: 2 ** 30,
  ranks: 1,
};
/** Workers beyond the CPUs share them, and each makes the others slower. */
const loader = {
  ...{ makeMs: 20, handOverMs: 0.1, handOverPinnedMs: 0.1, copyMs: 1, copyPinnedMs: 1 },
  ...{ cpus: 4, contention: 0.05 },
};
const batch = { samples: 8, bytes: 2 ** 20, description: "float32 [8, 3, 64, 64]" };
const never = new AbortController().signal;

it.each([
  [1, [0, 1, 2]],
  [2, [0, 1, 2, 4]],
  [16, [0, 8, 16, 32]],
  [192, [0, 96, 128]],
])("on %i CPUs are tried %j workers", (cpus, counts) => {
  expect(workersToTry(cpus)).toEqual(counts);
});

it("each number is tried twice, upwards and then downwards", async () => {
  const probe = new SimulatedProbe(loader, { ...simulatedFacts, batch });
  const told: number[] = [];
  const { cpus, rates, without } = await runWorkerTrials(probe, limits, (count) => told.push(count), never);
  expect(told).toEqual([0, 2, 4, 8, 8, 4, 2, 0]);
  expect(cpus).toBe(4);
  expect(without).toEqual([]);
  expect(rates.map(({ numWorkers }) => numWorkers)).toEqual([0, 2, 4, 8]);
  const [none, half, each, twice] = rates.map(({ batchesPerSecond }) => batchesPerSecond);
  expect(none).toBeLessThan(half!);
  expect(half).toBeLessThan(each!);
  expect(twice).toBeLessThan(each!);
  for (const { low, high, batchesPerSecond, batches } of rates) {
    expect(low).toBeLessThan(batchesPerSecond);
    expect(high).toBeGreaterThan(batchesPerSecond);
    expect(batches).toBeGreaterThan(0);
  }
});

it("a number whose trial fails is left out, and the batches of both of its trials count for another", async () => {
  const probe = new SimulatedProbe(loader, { ...simulatedFacts, batch });
  const measure = probe.measure.bind(probe);
  const batches = new Map<number, number>();
  probe.measure = async (setting, control) => {
    const trial = await measure(setting, control);
    const { numWorkers } = setting;
    batches.set(numWorkers, (batches.get(numWorkers) ?? 0) + trial.arrivalsNs.length);
    const failure = {
      fault: "worker-killed",
      message: "It died.",
      hint: null,
      traceback: null,
      everywhere: false,
    } as const;
    return numWorkers === 8 ? { ...trial, failure } : trial;
  };
  const { rates, without } = await runWorkerTrials(probe, limits, () => undefined, never);
  expect(rates.map((rate) => [rate.numWorkers, rate.batches])).toEqual(
    [0, 2, 4].map((numWorkers) => [numWorkers, batches.get(numWorkers)]),
  );
  expect(without).toEqual(["8 workers, not pinned: It died."]);
});

it("numbers that do not fit are left out, and why is said", async () => {
  const probe = new SimulatedProbe(loader, { ...simulatedFacts, batch });
  const little = { ...limits, sharedMemoryBytes: 12 * 2 ** 20 };
  const { rates, without } = await runWorkerTrials(probe, little, () => undefined, never);
  expect(rates.map(({ numWorkers }) => numWorkers)).toEqual([0, 2, 4]);
  expect(without).toEqual([
    "8 workers, not pinned: batches in flight need 18 MiB of /dev/shm, and 12 MiB are free.",
  ]);
});

it("an end of the experiment's time is no result", async () => {
  const probe = new SimulatedProbe(loader, { ...simulatedFacts, batch });
  const ended = AbortSignal.abort(new Error("its time is up"));
  await expect(runWorkerTrials(probe, limits, () => undefined, ended)).rejects.toThrow("its time is up");
});
