import { statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { openRankedProbe } from "../../../src/tune/ranked-probe.js";
import { openTorchProbe } from "../../../src/tune/torch/torch-probe.js";
import {
  expectNothingLeft,
  isAscending,
  openFor,
  options,
  skipWithoutTorch,
  target,
  temporaryFolder,
  testPython,
  until,
  workers,
} from "./support.js";

skipWithoutTorch();

it("a probe runs trials of a data set that a function returns and that prints to stdout", async () => {
  const probe = await openFor("data_sets.py:make", {
    batchSize: 8,
    python: testPython,
    kwargs: { length: 20 },
    step: { timeNs: 1e6 },
  });
  expect(probe.facts).toMatchObject({
    kind: "torch",
    source: expect.stringMatching(/\.py:made$/),
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

it("a probe runs spawned workers with a data set that the user's file defines", async () => {
  const probe = await openFor("data_sets.py:make_spawned");
  expect(await probe.measure(workers(1), until(3))).toMatchObject({ failure: null });
});

it("a probe uses the collate function of the user's loader, and a simulated step", async () => {
  const pair = await openFor("data_sets.py:make_pairs", { step: { timeNs: "auto" } });
  expect(pair.facts.batch.description).toBe("float32 [3, 3, 4, 4] + float32 [3, 3, 4, 4]");
  expect(pair.facts.stepNs).toBeGreaterThan(0);
  expect(await pair.measure(workers(0), until(3))).toMatchObject({ failure: null });
});

it.each([
  ["fork", [workers(2), workers(0)]],
  ["spawn", [workers(2)]],
])("a trial measures the time that a worker takes to make a batch: %s", async (method, settings) => {
  const probe = await openFor("data_sets.py:make_in_workers", { kwargs: { start_method: method } });
  for (const setting of settings) {
    const { failure, makeNsPerBatch, arrivalsNs } = await probe.measure(setting, until(8));
    expect(failure).toBeNull();
    // Two samples of 10 ms, wherever they are made; two workers deliver one in half of that time.
    expect(makeNsPerBatch).toBeGreaterThanOrEqual(20e6);
    expect(makeNsPerBatch).toBeLessThan(Math.max(...arrivalsNs));
  }
});

it.each([
  ["into one shard for each", { shards: null }, 1],
  ["into two shards", { shards: 2 }, 2],
])(
  "an IterableDataset that 4 workers split %s delivers each sample $2 times",
  async (_between, kwargs, sampleCopies) => {
    const probe = await openFor("data_sets.py:Endless", { batchSize: 8, kwargs });
    expect(await probe.measure(workers(4), until(20))).toMatchObject({ failure: null, sampleCopies });
    // One worker cannot know, and for one it does not matter.
    expect((await probe.measure(workers(1), until(5))).sampleCopies).toBeNull();
  },
);

it("the growth of a worker's memory over an epoch is estimated early, and 0 without Python objects", async () => {
  const growth = async (are_objects: boolean) => {
    const probe = await openFor("data_sets.py:Objects", {
      batchSize: 64,
      kwargs: { are_objects },
    });
    const { failure, workerPrivateBytes, workerEpochBytes } = await probe.measure(workers(1), until(120));
    expect(failure).toBeNull();
    return workerEpochBytes! - workerPrivateBytes!;
  };
  // The strings take 35 MB, of which a few were read until now.
  expect(await growth(true)).toBeGreaterThan(20e6);
  expect(await growth(false)).toBe(0);
});

it("ranks are processes that make batches at the same time, each with its number in its environment", async () => {
  const kwargs = { folder: temporaryFolder() };
  const of = options("data_sets.py:MeetingRanks", { batchSize: 2, kwargs });
  const open = (index: number) => openTorchProbe({ ...of, rank: { index, count: 2 } });
  const probe = await openRankedProbe(2, open);
  onTestFinished(() => probe.close());
  expect(probe.facts.notes).toEqual([]);
  const trial = await probe.measure(workers(1), until(5));
  expect(trial).toMatchObject({ failure: null, aborted: false });
  expect(trial.arrivalsNs.length).toBeGreaterThanOrEqual(5);
});

describe("the user's own step", () => {
  it("is called with each batch, and timed alone", async () => {
    const probe = await openFor("data_sets.py:make", {
      batchSize: 4,
      step: { function: target("steps.py:step") },
    });
    expect(probe.facts.stepNs).toBeGreaterThan(0);
    for (const setting of [workers(0), workers(1)]) {
      expect(await probe.measure(setting, until(5))).toMatchObject({ failure: null });
    }
  });

  it("that fails in a trial is named, with its line", async () => {
    const probe = await openFor("data_sets.py:make", {
      batchSize: 4,
      step: { function: target("steps.py:raising_later") },
    });
    const { failure, arrivalsNs } = await probe.measure(workers(0), until(200));
    expect(failure).toMatchObject({
      fault: "step-raised",
      message: expect.stringMatching(/^The step failed: ValueError: no loss any more \(.*steps\.py:\d+\)\.$/),
    });
    expect(arrivalsNs.length).toBeGreaterThan(0);
  });

  it.each([
    [
      "steps.py:raising",
      "measurement",
      /fails on a batch: ValueError: no loss for 4 samples \(.*steps\.py:\d+\)\.$/,
    ],
    ["steps.py:NOT_A_FUNCTION", "usage", /NOT_A_FUNCTION is not a function\.$/],
  ])("is refused if it is not a function or raises: %s", async (step, kind, message) => {
    const opening = openTorchProbe(
      options("data_sets.py:make", { batchSize: 4, step: { function: target(step) } }),
    );
    await expect(opening).rejects.toMatchObject({ kind, message: expect.stringMatching(message) });
  });
});

const fileBytes = 2 ** 20;
const files = 16;

/** Of what is in memory alone, nothing ever comes from storage. */
const memoryFileSystems = [0x01021994, 0x858458f6];

describe("files that a data set reads", () => {
  it("are read from storage only in cold trials, for which they leave the page cache", async ({ skip }) => {
    const folder = temporaryFolder();
    skip(memoryFileSystems.includes(statfsSync(folder).type), "temporary files are in memory here");
    for (let file = 0; file < files; ++file)
      writeFileSync(join(folder, `${file}`), Buffer.alloc(fileBytes, 1));
    const readBytes = async (coldFolder: string | null) => {
      const probe = await openFor("data_sets.py:Files", { batchSize: 2, kwargs: { folder }, coldFolder });
      const trials = [];
      for (const setting of [workers(0), workers(1)]) trials.push(await probe.measure(setting, until(8)));
      return trials.map(({ failure, storageReadBytes }) => failure ?? storageReadBytes);
    };
    for (const bytes of await readBytes(folder)) expect(bytes).toBeGreaterThan((files / 2) * fileBytes);
    for (const bytes of await readBytes(null)) expect(bytes).toBeLessThan((files / 2) * fileBytes);
  });

  it("must be in a folder that exists", async () => {
    const opening = openTorchProbe(options("data_sets.py:make", { batchSize: 2, coldFolder: "nowhere" }));
    await expect(opening).rejects.toMatchObject({ kind: "usage", message: "There is no folder nowhere." });
  });
});

afterAll(expectNothingLeft, 60_000);
