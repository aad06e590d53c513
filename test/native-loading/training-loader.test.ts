import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBackend } from "../../src/native/backend.js";
import type { NativeDriver, NativeSession } from "../../src/native/contract.js";
import { loadAddon } from "../../src/native/load.js";
import type { LoaderOptions, NativeLoader } from "../../src/native/loader-contract.js";
import { temporaryFolder } from "../helpers/run-cli.js";

let driver: NativeDriver;
let session: NativeSession;
beforeAll(async () => {
  ({ driver } = await openBackend("emulated", loadAddon()));
  session = await openSession();
});
afterAll(() => session.close());

const openSession = () => driver.openSession({ device: 0, cpus: [], threads: 2, numaNode: null, seed: 1 });

const options: LoaderOptions = {
  workers: 2,
  pinMemory: true,
  prefetchFactor: 2,
  nonBlocking: true,
  batchSamples: 4,
  sampleBytes: 10_000,
  sampleCostNs: 10_000,
  files: [],
  firstSample: 0,
  sampleStride: 1,
  dropFiles: false,
  step: { durationNs: 0, multiplyAddsPerByte: 0 },
};

async function take(loader: NativeLoader, batches: number): Promise<number[]> {
  const arrivalsNs: number[] = [];
  while (arrivalsNs.length < batches) arrivalsNs.push(...(await loader.arrivals(20e9)).arrivalsNs);
  return arrivalsNs;
}

describe("openLoader", () => {
  it("reports arrivals, times and memory as plain numbers", async () => {
    const startedMs = performance.now();
    const loader = await session.openLoader(options);
    expect(loader.stepNs).toBeNull();
    const arrivalsNs = await take(loader, 20);
    expect(arrivalsNs).toEqual([...arrivalsNs].sort((a, b) => a - b));
    const { arrivalsNs: news, ...sums } = await loader.arrivals(20e9);
    expect(news).toBeInstanceOf(Float64Array);
    expect(sums).toEqual({
      waitNs: expect.any(Number),
      copyNs: expect.any(Number),
      sharedMemoryBytes: expect.any(Number),
      pinnedBytes: expect.any(Number),
      storageBytes: 0,
      batchesMade: expect.any(Number),
      makeNs: expect.any(Number),
    });
    expect(sums.sharedMemoryBytes).toBeGreaterThanOrEqual(40_000);
    expect(sums.pinnedBytes).toBeGreaterThanOrEqual(40_000);
    expect(sums.batchesMade).toBeGreaterThanOrEqual(20);
    expect(sums.makeNs).toBeGreaterThan(0);
    expect(sums.makeNs).toBeLessThan(options.workers * (performance.now() - startedMs) * 1e6);
    const samplesBegun = await loader.close();
    expect(samplesBegun).toBeGreaterThanOrEqual(80);
    expect(samplesBegun % 4).toBe(0);
  });

  it("reports no pinned memory, shared memory or storage reads if the loader uses none", async () => {
    const sums = async (change: Partial<LoaderOptions>) => {
      const loader = await session.openLoader({ ...options, ...change });
      await take(loader, 1);
      const told = await loader.arrivals(20e9);
      await loader.close();
      return told;
    };
    expect(await sums({ pinMemory: false })).toMatchObject({ pinnedBytes: 0 });
    expect(await sums({ workers: 0 })).toMatchObject({ sharedMemoryBytes: 0 });
    const file = join(temporaryFolder(), "file");
    writeFileSync(file, "0123456789");
    expect(await sums({ files: [file] })).toMatchObject({ storageBytes: 0 });
  });

  it.each([
    { durationNs: 2e6, multiplyAddsPerByte: 0 },
    { durationNs: 0, multiplyAddsPerByte: 2e10 / 40_000 },
  ])("measures the time of a training step: %o", async (step) => {
    const loader = await session.openLoader({ ...options, step });
    expect(loader.stepNs).toBeGreaterThan(1.9e6);
    await take(loader, 3);
    await loader.close();
  });

  it("rejects with the error code and message of a worker that failed", async () => {
    const files = ["/there/is/no/such/file"];
    const loader = await session.openLoader({ ...options, files });
    await expect(take(loader, 1)).rejects.toMatchObject({
      code: "FILE_UNREADABLE",
      message: "/there/is/no/such/file cannot be read: No such file or directory",
      cudaResult: null,
      sticky: false,
    });
    await loader.close();
  });

  it("ends a waiting call after its time, and when the loader is closed; closing it twice works", async () => {
    const loader = await session.openLoader({ ...options, sampleCostNs: 3600e9 });
    expect((await loader.arrivals(0.4e9)).arrivalsNs).toHaveLength(0);
    const waiting = loader.arrivals(60e9);
    await loader.close();
    expect((await waiting).arrivalsNs).toHaveLength(0);
    await loader.close();
  });

  it("opens only one loader of a session at a time", async () => {
    const loader = await session.openLoader(options);
    await expect(session.openLoader(options)).rejects.toMatchObject({ code: "LOADER_OPEN" });
    await loader.close();
    await (await session.openLoader(options)).close();
  });

  it("opens a loader that outlives the closing of its session, and ends with an abort", async () => {
    const other = await openSession();
    const loader = await other.openLoader({ ...options, sampleCostNs: 1e6 });
    const arrived = (await take(loader, 3)).length;
    other.abort();
    await other.close();
    let news = 0;
    let left = 0;
    do {
      news = (await loader.arrivals(60e9)).arrivalsNs.length;
      left += news;
    } while (news > 0);
    const samplesBegun = await loader.close();
    // All batches that arrived were made, and a loader that has ended begins no further sample.
    expect(samplesBegun).toBeGreaterThanOrEqual((arrived + left) * options.batchSamples);
    expect((await loader.arrivals(60e9)).arrivalsNs).toHaveLength(0);
    expect(await loader.close()).toBe(samplesBegun);
  });

  it.each([
    [{ workers: -1 }, "workers must be a whole number"],
    [{ pinMemory: 1 }, "pinMemory must be a boolean"],
    [{ files: "a" }, "files must be an array"],
    [{ files: [1] }, "files must be a string"],
    [{ firstSample: -1 }, "firstSample must be a whole number"],
    [{ sampleStride: "1" }, "sampleStride must be a whole number"],
    [{ dropFiles: 1 }, "dropFiles must be a boolean"],
    [{ step: {} }, "durationNs must be a whole number"],
    [{ step: undefined }, "step must be an object"],
  ])("names the field that is wrong in %o", (change, message) => {
    expect(() => session.openLoader({ ...options, ...change } as LoaderOptions)).toThrow(message);
  });

  it("refuses batches without samples, a stride of 0 and a negative wait", async () => {
    await expect(session.openLoader({ ...options, batchSamples: 0 })).rejects.toMatchObject({
      code: "INVALID_REQUEST",
    });
    await expect(session.openLoader({ ...options, sampleStride: 0 })).rejects.toMatchObject({
      code: "INVALID_REQUEST",
    });
    const loader = await session.openLoader(options);
    expect(() => loader.arrivals(-1)).toThrow("waitNs must be");
    await loader.close();
  });
});
