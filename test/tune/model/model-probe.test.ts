import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openBackend } from "../../../src/native/backend.js";
import { loadAddon } from "../../../src/native/load.js";
import { listDataFolder } from "../../../src/tune/model/data-folder.js";
import { openModelProbe } from "../../../src/tune/model/model-probe.js";
import { control, FakeDriver, FakeLoader, nativeError, probeOptions, setting } from "./support.js";

describe("a native probe, pinbench's model of a loader,", () => {
  it("names source, batch, link and step, and leaves one session open", async () => {
    const fake = new FakeDriver();
    const loader = new FakeLoader([]);
    loader.stepNs = 5e6;
    fake.open = () => loader;
    const probe = await openModelProbe(
      probeOptions(fake.driver, { sampleCostNs: 500_000, stepTimeNs: "auto" }),
    );
    expect(probe.facts).toMatchObject({
      kind: "native",
      source: "generated samples of 1000 B, 500 µs each",
      device: "a device",
      runtime: null,
      batch: { samples: 4, bytes: 4000, description: "uint8 [4, 1000]" },
      epochBatches: null,
      link: { pinnedBytesPerSecond: 4e6, pageableBytesPerSecond: 1e6 },
      stepNs: 5e6,
      filesPerBatch: 1,
      notes: [
        expect.stringMatching(/threads.*No Python.*no global lock/),
        expect.stringMatching(/waits for each step/),
      ],
    });
    expect(probe.facts.fileLimit).toBeGreaterThan(0);
    expect(probe.facts.filesInUse).toBeGreaterThan(0);
    expect(fake.requested[0]).toMatchObject({
      step: { durationNs: 0, multiplyAddsPerByte: 10_000 },
      workers: 0,
    });
    expect(loader.isClosed).toBe(true);
    expect(fake.openSessions).toBe(1);
    await probe.close();
    expect(fake.openSessions).toBe(0);
  });

  it("continues in each trial at the file after the last one, and reports the file bytes of a batch", async () => {
    const fake = new FakeDriver();
    // It makes two batches of four samples more than it hands over.
    fake.open = () => new FakeLoader([1, 2]);
    const data = { path: "/images", files: ["/images/a", "/images/b"], totalBytes: 200, meanBytes: 100 };
    const probe = await openModelProbe(probeOptions(fake.driver, { data }));
    for (const batches of [1, 3, 2]) await probe.measure(setting(), control(batches));
    expect(fake.requested.map(({ firstSample }) => firstSample)).toEqual([0, 12, 32]);
    expect(fake.requested.every(({ dropFiles }) => !dropFiles)).toBe(true);
    expect(probe.facts).toMatchObject({ fileBytesPerBatch: 400, isCold: false });
    await probe.close();
  });

  it("drops files from the page cache once, and each again after reading, for cold trials", async () => {
    const fake = new FakeDriver();
    const files = Array.from({ length: 2500 }, (_, i) => `/images/${i}`);
    const data = { path: "/images", files, totalBytes: 2500, meanBytes: 1 };
    const dropped: string[] = [];
    const dropFiles = async (some: readonly string[]) => void dropped.push(...some);
    const probe = await openModelProbe(probeOptions(fake.driver, { data, dropFiles }));
    expect(dropped).toEqual(files);
    await probe.measure(setting(), control(1));
    expect(fake.requested[0]).toMatchObject({ dropFiles: true });
    expect(probe.facts.isCold).toBe(true);
    expect(probe.facts.notes.join(" ")).not.toMatch(/page cache/);
    await probe.close();
  });

  it("of one of several ranks reads its share of the files, which are dropped only once", async () => {
    const fake = new FakeDriver();
    fake.open = () => new FakeLoader([1]);
    const files = Array.from({ length: 24 }, (_, i) => `/images/${i}`);
    const data = { path: "/images", files, totalBytes: 2400, meanBytes: 100 };
    const dropped: string[] = [];
    const dropFiles = async (some: readonly string[]) => void dropped.push(...some);
    for (const index of [0, 1]) {
      const rank = { index, count: 2 };
      const probe = await openModelProbe(probeOptions(fake.driver, { data, dropFiles, rank }));
      for (let trial = 0; trial < 2; ++trial) await probe.measure(setting(), control(1));
      // 24 files are 3 batches of 4 for each.
      expect(probe.facts).toMatchObject({ epochBatches: 3, filesPerBatch: 2 });
      await probe.close();
    }
    expect(fake.requested.map(({ firstSample, sampleStride }) => [firstSample, sampleStride])).toEqual([
      [0, 2],
      [24, 2],
      [1, 2],
      [25, 2],
    ]);
    expect(dropped).toEqual(files);
  });

  it("leaves out the default step if no kernels can run", async () => {
    const fake = new FakeDriver();
    fake.kernelsOff = "this build has no kernels";
    const probe = await openModelProbe(probeOptions(fake.driver, { stepTimeNs: "auto" }));
    expect(probe.facts.stepNs).toBeNull();
    expect(probe.facts.notes).toContain(
      "The loader runs without a training step: this build has no kernels.",
    );
    const asked = openModelProbe(probeOptions(fake.driver, { stepTimeNs: 1e6 }));
    await expect(asked).rejects.toMatchObject({ kind: "unsupported" });
    expect(fake.openSessions).toBe(1);
    await probe.close();
  });

  it("does without a NUMA node that may not be chosen, and without a link that cannot be timed", async () => {
    const fake = new FakeDriver();
    fake.refuseNode = true;
    fake.failReserving = nativeError("CUDA_ERROR_OUT_OF_MEMORY");
    const placement = { cpus: [0], threads: 1, numaNode: 1 };
    const probe = await openModelProbe(probeOptions(fake.driver, { placement }));
    expect(probe.facts.link).toBeNull();
    expect(probe.facts.notes.slice(1)).toEqual([
      "it failed with PLACEMENT_REFUSED.",
      "Copies of a batch alone could not be timed: it failed with CUDA_ERROR_OUT_OF_MEMORY.",
    ]);
    await probe.close();
    expect(fake.openSessions).toBe(0);
  });

  it("is refused in one sentence if it cannot be opened, and leaves no session open", async () => {
    const fake = new FakeDriver();
    fake.open = () => {
      throw nativeError("CUDA_ERROR_OUT_OF_MEMORY", { call: "cuMemAlloc_v2" });
    };
    const opening = openModelProbe(probeOptions(fake.driver, { stepTimeNs: "auto" }));
    await expect(opening).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringMatching(/^The loader/),
    });
    expect(fake.openSessions).toBe(0);
  });
});

describe("a native probe on the emulated device", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "pinbench-probe-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const driver = async () => (await openBackend("emulated", loadAddon())).driver;

  it("measures one setting after the other", async () => {
    const probe = await openModelProbe(
      probeOptions(await driver(), { sampleCostNs: 20_000, stepTimeNs: 500_000 }),
    );
    expect(probe.facts.stepNs).toBeGreaterThan(499_000);
    expect(probe.facts.link?.pinnedBytesPerSecond).toBeGreaterThan(0);
    for (const each of [
      setting({ numWorkers: 0, prefetchFactor: null, pinMemory: false, nonBlocking: false }),
      setting(),
      setting({ numWorkers: 1, pinMemory: false }),
    ]) {
      const trial = await probe.measure(each, control(8));
      expect(trial).toMatchObject({ setting: each, failure: null, aborted: false });
      expect(trial.arrivalsNs.length).toBeGreaterThanOrEqual(8);
      expect(trial.arrivalsNs).toEqual([...trial.arrivalsNs].sort((a, b) => a - b));
      expect(trial.storageReadBytes === null || trial.storageReadBytes >= 0).toBe(true);
    }
    await probe.close();
  });

  it("adds the time to make a batch to that of the step without workers", async () => {
    const [stepNs, batchCostNs] = [5e6, 4 * 1e6];
    const probe = await openModelProbe(
      probeOptions(await driver(), { sampleCostNs: batchCostNs / 4, stepTimeNs: stepNs }),
    );
    const alone = setting({ numWorkers: 0, prefetchFactor: null });
    const { arrivalsNs, makeNsPerBatch } = await probe.measure(alone, control(12));
    // Samples may cost a little less than their calibrated time; a busy machine only makes all of it longer.
    expect(makeNsPerBatch).toBeGreaterThan(0.7 * batchCostNs);
    expect((arrivalsNs[11]! - arrivalsNs[1]!) / 10).toBeGreaterThan(stepNs + 0.7 * batchCostNs);
    await probe.close();
  });

  it("reads a folder, and says which file it could not read", async () => {
    for (const name of ["a", "b", "c"]) writeFileSync(join(folder, name), name.repeat(3000));
    const data = await listDataFolder(folder);
    const probe = await openModelProbe(probeOptions(await driver(), { data, sampleBytes: 3000 }));
    expect(probe.facts).toMatchObject({ source: `3 files of ${folder}, each read whole`, epochBatches: 1 });
    expect(probe.facts.notes.join(" ")).toMatch(/sample of 3000 B.*Decoding.*not part.*page cache/);
    expect((await probe.measure(setting(), control(4))).failure).toBeNull();
    rmSync(join(folder, "b"));
    const { failure } = await probe.measure(setting(), control(1000));
    expect(failure).toMatchObject({
      fault: "dataset-raised",
      message: `${join(folder, "b")} cannot be read: No such file or directory.`,
      everywhere: true,
    });
    await probe.close();
  });

  it("reads from storage in every trial that is cold, and from the page cache in the others", async () => {
    const file = 300_000;
    for (let i = 0; i < 16; ++i) writeFileSync(join(folder, `${i}`), Buffer.alloc(file, i), { flush: true });
    const data = await listDataFolder(folder);
    // Elsewhere (in memory, over a network) the kernel counts nothing as read from storage.
    const isOnStorage = [0xef53, 0x58465342, 0x9123683e].includes((await statfs(folder)).type);
    const dropFiles = (files: readonly string[]) => loadAddon().addon.dropFromPageCache(files);
    for (const isCold of [false, true]) {
      const probe = await openModelProbe(
        probeOptions(await driver(), { data, sampleBytes: 1000, dropFiles: isCold ? dropFiles : null }),
      );
      for (const numWorkers of [0, 2]) {
        const trial = await probe.measure(setting({ numWorkers }), control(8));
        const leastBytes = isCold && isOnStorage ? 8 * 4 * file : 0;
        expect(trial.storageReadBytes ?? 0).toBeGreaterThanOrEqual(leastBytes);
        if (!isCold) expect(trial.storageReadBytes ?? 0).toBeLessThan(file);
        expect(trial.makeNsPerBatch).toBeGreaterThan(0);
      }
      await probe.close();
    }
  });

  it("ends a trial that is aborted, by its own signal or the probe's", async () => {
    const all = new AbortController();
    const probe = await openModelProbe(
      probeOptions(await driver(), { sampleCostNs: 60e9, signal: all.signal }),
    );
    const one = new AbortController();
    setTimeout(() => one.abort(), 30);
    expect(await probe.measure(setting(), control(1, { signal: one.signal }))).toMatchObject({
      aborted: true,
      arrivalsNs: [],
      failure: null,
    });
    setTimeout(() => all.abort(), 30);
    expect(await probe.measure(setting({ numWorkers: 0 }), control(1))).toMatchObject({ aborted: true });
    await probe.close();
    await expect(openModelProbe(probeOptions(await driver(), { signal: all.signal }))).rejects.toMatchObject({
      message: "Opening the loader was interrupted.",
    });
  });
});
