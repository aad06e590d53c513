import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { choosePlacement } from "../../src/host/topology.js";
import type { Backend } from "../../src/native/backend.js";
import type { NativeSession } from "../../src/native/contract.js";
import type { LoaderArrivals, LoaderOptions } from "../../src/native/loader-contract.js";
import { openModelProbe } from "../../src/tune/model/model-probe.js";
import { isEmulated, openTestBackend } from "./backend.js";
import { KiB, MiB, openTestSession } from "./session.js";

let backend: Backend;
let session: NativeSession;
let folder = "";
beforeAll(async () => {
  backend = await openTestBackend();
  session = await openTestSession(backend);
  folder = mkdtempSync(join(tmpdir(), "pinbench-loader-"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await session.close();
});

const options: LoaderOptions = {
  workers: 4,
  pinMemory: true,
  prefetchFactor: 2,
  nonBlocking: true,
  batchSamples: 64,
  sampleBytes: 602_112,
  sampleCostNs: 50_000,
  files: [],
  firstSample: 0,
  sampleStride: 1,
  dropFiles: false,
  step: { durationNs: 0, multiplyAddsPerByte: 0 },
};

/** All arrivals of a loader that is closed afterwards, and its last sums. */
async function load(changes: Partial<LoaderOptions>, batches: number) {
  const loader = await session.openLoader({ ...options, ...changes });
  const arrivalsNs: number[] = [];
  let last: LoaderArrivals | null = null;
  while (arrivalsNs.length < batches) {
    last = await loader.arrivals(30e9);
    arrivalsNs.push(...last.arrivalsNs);
  }
  await loader.close();
  return { stepNs: loader.stepNs, arrivalsNs, last: last! };
}

describe("a loader", () => {
  for (const workers of [0, 1, 8]) {
    for (const pinMemory of [false, true]) {
      it.each([false, true])(
        `${workers} workers, pinMemory ${pinMemory}, nonBlocking %s`,
        async (nonBlocking) => {
          const { arrivalsNs, last } = await load({ workers, pinMemory, nonBlocking }, 20);
          expect(arrivalsNs).toEqual([...arrivalsNs].sort((a, b) => a - b));
          expect(last.pinnedBytes > 0).toBe(pinMemory);
          expect(last.sharedMemoryBytes > 0).toBe(workers > 0);
        },
      );
    }
  }

  it("gives all of its memory back", async () => {
    const before = session.memoryInfo().freeBytes;
    for (let i = 0; i < 5; ++i) await load({}, 5);
    expect(Math.abs(session.memoryInfo().freeBytes - before)).toBeLessThan(64 * MiB);
  });

  it("reads files", async () => {
    const files = Array.from({ length: 100 }, (_, i) => {
      const path = join(folder, `${i}.bin`);
      writeFileSync(path, Buffer.alloc(100 * KiB, i));
      return path;
    });
    const { arrivalsNs } = await load({ files }, 20);
    expect(arrivalsNs.length).toBeGreaterThanOrEqual(20);
  });
});

describe("a step", () => {
  it.each([1e6, 20e6])("of %d ns takes that long, and holds back the batches", async (durationNs) => {
    const { stepNs, arrivalsNs } = await load(
      { step: { durationNs, multiplyAddsPerByte: 0 }, workers: 8, sampleCostNs: 0 },
      20,
    );
    expect(stepNs).toBeGreaterThan(0.99 * durationNs);
    // An emulated step is a thread that sleeps, for longer where the machine is busy.
    if (!isEmulated) expect(stepNs).toBeLessThan(1.1 * durationNs + 50_000);
    const stepsNs = arrivalsNs[19]! - arrivalsNs[3]!;
    expect(stepsNs).toBeGreaterThan(15 * 0.98 * durationNs);
  });

  it("of multiply-adds takes time in proportion", async () => {
    const stepNs = async (multiplyAddsPerByte: number) =>
      (await load({ step: { durationNs: 0, multiplyAddsPerByte } }, 2)).stepNs!;
    const [one, four] = [await stepNs(10_000), await stepNs(40_000)];
    expect(four / one).toBeGreaterThan(3);
    expect(four / one).toBeLessThan(5);
    // 385 G multiply-adds: more than a hundredth of a millisecond on anything, less than 2 s on any GPU.
    expect(one).toBeGreaterThan(1e4);
    expect(one).toBeLessThan(2e9);
  });
});

describe("the native probe", () => {
  it("runs trials, pinned and not, with the usual step", async () => {
    const device = backend.facts.devices[0]!;
    const signal = new AbortController().signal;
    const { batchSamples, sampleBytes, sampleCostNs } = options;
    const probe = await openModelProbe({
      driver: backend.driver,
      device,
      placement: choosePlacement(device.pciBusId, "local"),
      batchSize: batchSamples,
      sampleBytes,
      sampleCostNs,
      data: null,
      dropFiles: null,
      rank: { index: 0, count: 1 },
      stepTimeNs: "auto",
      signal,
    });
    expect(probe.facts.stepNs).toBeGreaterThan(0);
    if (backend.name === "cuda") {
      expect(probe.facts.link!.pinnedBytesPerSecond).toBeGreaterThan(
        probe.facts.link!.pageableBytesPerSecond,
      );
    }
    for (const numWorkers of [0, 4]) {
      for (const pinMemory of [false, true]) {
        const trial = await probe.measure(
          {
            numWorkers,
            pinMemory,
            prefetchFactor: numWorkers === 0 ? null : 2,
            persistentWorkers: false,
            nonBlocking: pinMemory,
          },
          { enough: (arrivalsNs) => arrivalsNs.length >= 15, signal, timeoutNs: 30e9 },
        );
        expect(trial).toMatchObject({ failure: null, aborted: false });
        expect(trial.arrivalsNs.length).toBeGreaterThanOrEqual(15);
      }
    }
    await probe.close();
  });
});
