import { expect, it, onTestFinished } from "vitest";
import { openBackend } from "../../src/native/backend.js";
import { loadAddon } from "../../src/native/load.js";

const KiB = 1024;
const MiB = 1024 * KiB;
const { addon, emulatedLibraryPath } = loadAddon();

it("a driver says why it has no NVML", async () => {
  const errorWith = async (nvml: string | null) =>
    (await addon.openDriver({ driver: emulatedLibraryPath, nvml }).initialize()).nvmlError;
  expect(await errorWith(null)).toBe("not asked for");
  expect(await errorWith("/no/such/nvml.so")).toContain("/no/such/nvml.so");
});

it("a pool's number of threads does not depend on its number of pieces", async () => {
  const { driver } = await openBackend("emulated", loadAddon());
  const session = await driver.openSession({ device: 0, cpus: [0], threads: 2, numaNode: null, seed: 3 });
  onTestFinished(() => session.close());
  const pool = { way: "register-huge", bytes: 1 << 20, pieces: 1 } as const;
  await (await session.obtainPool({ ...pool, threads: 2 })).release();
  await expect(session.obtainPool({ ...pool, threads: 10_000 })).rejects.toThrow("thread");
});

it("a session reports less free device memory after it has reserved some", async () => {
  const { driver } = await openBackend("emulated", loadAddon());
  const session = await driver.openSession({ device: 0, cpus: [], threads: 1, numaNode: null, seed: 3 });
  onTestFinished(() => session.close());
  const { freeBytes, totalBytes } = session.memoryInfo();
  const arena = { chunksOfWorker: [1], chunkBytes: MiB };
  await session.reserveDevice(arena, 2);
  expect(session.memoryInfo()).toEqual({ freeBytes: freeBytes - 2 * MiB, totalBytes });
});
