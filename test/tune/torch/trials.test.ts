import { expect, it } from "vitest";
import { isAscending, openFor, skipWithoutTorch, target, until, workers } from "./support.js";

skipWithoutTorch();

it("runs trials of what a function makes, and knows its batches, whatever the data set prints", async () => {
  const probe = await openFor("data_sets.py:make", {
    batchSize: 8,
    kwargs: { length: 20 },
    shuffle: true,
    step: { durationNs: 1e6 },
  });
  expect(probe.facts).toMatchObject({
    kind: "torch",
    source: target("data_sets.py:make"),
    runtime: expect.stringMatching(/^torch \S+, Python 3\.\d+\.\d+$/),
    batch: { samples: 8, bytes: 8 * (3 * 16 * 4 + 8), description: "float32 [8, 3, 4, 4] + int64 [8]" },
    epochBatches: 3,
    startingPoint: null,
    workersOff: null,
    stepNs: 1e6,
    filesPerBatch: 2,
    fileLimit: expect.any(Number),
    filesInUse: expect.any(Number),
    notes: [],
  });
  for (const setting of [workers(0), workers(2), workers(1, { persistentWorkers: true, pinMemory: true })]) {
    const trial = await probe.measure(setting, until(10));
    expect(trial).toMatchObject({ setting, aborted: false, failure: null });
    // More than an epoch, without its edge.
    expect(trial.arrivalsNs.length).toBeGreaterThanOrEqual(10);
    expect(isAscending(trial)).toBe(true);
    expect(trial.waitNsPerBatch).toBeGreaterThan(0);
    if (setting.numWorkers > 0) {
      expect(trial.sharedMemoryBytes).toBeGreaterThanOrEqual(0);
      expect(trial.workerPrivateBytes).toBeGreaterThan(1e6);
    } else {
      expect(trial).toMatchObject({ sharedMemoryBytes: 0, workerPrivateBytes: 0 });
    }
  }
});

it("takes over the settings of a DataLoader", async () => {
  const probe = await openFor("data_sets.py:make_loader");
  expect(probe.facts).toMatchObject({
    batch: { samples: 6 },
    epochBatches: 16,
    startingPoint: {
      numWorkers: 3,
      pinMemory: true,
      prefetchFactor: 4,
      persistentWorkers: false,
      nonBlocking: false,
    },
  });
  expect(await probe.measure(workers(1), until(20))).toMatchObject({ failure: null });
});

it("takes the batches of a DataLoader's own batch_sampler, without an end", async () => {
  const probe = await openFor("data_sets.py:make_own_batches");
  expect(probe.facts).toMatchObject({ batch: { samples: 3 }, epochBatches: 2 });
  expect(probe.facts.notes.join()).toContain("list");
  expect(await probe.measure(workers(1), until(7))).toMatchObject({ failure: null });
});

it("begins an IterableDataset anew where it ends, whose worker_init_fn sees its own", async () => {
  const probe = await openFor("data_sets.py:Stream", { batchSize: 2 });
  expect(probe.facts).toMatchObject({ batch: { samples: 2, bytes: 32 }, epochBatches: null });
  expect(await probe.measure(workers(2), until(12))).toMatchObject({ failure: null });
  const sharded = await openFor("data_sets.py:make_stream_loader", { kwargs: { length: 1 } });
  expect(await sharded.measure(workers(1), until(3))).toMatchObject({ failure: null });
});

it("runs workers that are spawned, whose data set is of the user's file", async () => {
  const probe = await openFor("data_sets.py:make_spawned");
  expect(await probe.measure(workers(1), until(3))).toMatchObject({ failure: null });
});

it("has a collate function of the user's, and instances", async () => {
  const pair = await openFor("data_sets.py:INSTANCE", {
    batchSize: 3,
    collate: target("data_sets.py:as_pair"),
    step: "auto",
  });
  expect(pair.facts.batch.description).toBe("float32 [3, 3, 4, 4] + float32 [3, 3, 4, 4]");
  expect(pair.facts.stepNs).toBeGreaterThan(0);
  expect(await pair.measure(workers(0), until(3))).toMatchObject({ failure: null });
});

it("says of batches of a type of its own what torch does not do with them", async () => {
  const probe = await openFor("data_sets.py:INSTANCE", {
    batchSize: 2,
    collate: target("data_sets.py:as_holder"),
  });
  expect(probe.facts.notes).toEqual([
    "Batches hold a Holder, which has no pin_memory(): torch pins nothing of it and does not say so.",
    "Batches hold a Holder, which has no to(): nothing of it is copied.",
  ]);
  expect(await probe.measure(workers(1), until(3))).toMatchObject({ failure: null });
});

it("takes workers for useless where batches are not in the CPU's memory", async () => {
  const probe = await openFor("data_sets.py:Meta", { batchSize: 2 });
  expect(probe.facts.workersOff).toBe("the batches are meta tensors");
  expect(probe.facts.pinningOff).not.toBeNull();
  expect(probe.facts.notes).toEqual([
    "The batches are on meta already: num_workers=0 and pin_memory=False are all there is.",
  ]);
  expect(await probe.measure(workers(0), until(3))).toMatchObject({ failure: null });
});
