import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, it, onTestFinished } from "vitest";
import { tune } from "../../src/library/tune-loading.js";
import { isSaturated, storageRate } from "../../src/tune/storage-rate.js";
import type { Reading } from "../../src/tune/storage-reader.js";
import { withTimeEnough } from "../helpers/run-cli.js";

/** Of what is in memory alone, nothing ever comes from storage. */
const memoryFileSystems = [0x01021994, 0x858458f6];

/** So many files of 8 MiB. */
function folderOf(files: number): string {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-storage-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "below"));
  const contents = Buffer.alloc(2 ** 23, 1);
  for (let file = 0; file < files; ++file) writeFileSync(join(folder, "below", String(file)), contents);
  return folder;
}

const areInMemory = memoryFileSystems.includes(statfsSync(tmpdir()).type);
const never = new AbortController().signal;

describe("what storage gives", () => {
  it("is measured with more threads until they gain nothing", () => {
    const rates = (...gbps: number[]) =>
      gbps.map((one, at) => ({ bytesPerSecond: one * 1e9, threads: 2 ** at }));
    expect(isSaturated(rates(1))).toBe(false);
    expect(isSaturated(rates(1, 1.9))).toBe(false);
    expect(isSaturated(rates(1, 1.9, 1.92))).toBe(true);
    expect(isSaturated(rates(1, 0.9))).toBe(true);
  });

  it("is read from files that have left the page cache", async ({ skip }) => {
    skip(areInMemory, "temporary files are in memory here");
    const rate = await storageRate(folderOf(9), never);
    expect(rate?.bytesPerSecond).toBeGreaterThan(0);
    expect([1, 2, 4, 8, 16]).toContain(rate?.threads);
  });

  it("is not known of too few bytes, of no files, and after an abort", async () => {
    expect(await storageRate(folderOf(1), never)).toBeNull();
    expect(await storageRate("/nowhere", never)).toBeNull();
    expect(await storageRate(folderOf(9), AbortSignal.abort())).toBeNull();
  });

  it("stands in the document of a cold search alone", async ({ skip }) => {
    skip(areInMemory, "temporary files are in memory here");
    const data = folderOf(9);
    const asked = { backend: "emulated", data, batchSize: 1, maxWorkers: 1 } as const;
    const storage = await withTimeEnough(async (seconds) => {
      const { storage } = await tune({ ...asked, cold: true, budget: `${seconds}s` });
      return storage ?? null;
    }, 0.5);
    expect(storage.bytesPerSecond).toBeGreaterThan(0);
    expect(await tune({ ...asked, budget: "500ms" })).not.toHaveProperty("storage");
  });
});

it("a thread counts each of its readings alone", async () => {
  const thread = new Worker(new URL("../../dist/program/storage-reader.js", import.meta.url));
  onTestFinished(async () => void (await thread.terminate()));
  await once(thread, "message");
  const pieces = [{ file: join(folderOf(1), "below/0"), start: 2 ** 20, bytes: 5000 }];
  for (let reading = 0; reading < 2; ++reading) {
    const turn = new Int32Array(new SharedArrayBuffer(4));
    thread.postMessage({ pieces, turn, ms: 50_000 } satisfies Reading);
    expect(await once(thread, "message")).toEqual([5000]);
  }
});
