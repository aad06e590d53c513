import { EventEmitter } from "node:events";
import { beforeEach, expect, it, vi } from "vitest";
import { storageRate } from "../../src/tune/storage-rate.js";
import type { FilePiece, Reading } from "../../src/tune/storage-reader.js";

/** Storage in a time of its own: what each reading delivers depends on the number of threads. */
const storage = vi.hoisted(() => ({
  rates: {} as Record<number, number>,
  delivered: 0,
  threads: 0,
  /** What the page cache delivers beside, of each byte from storage. */
  cached: 0,
  /** Bytes of each file. */
  sizes: {} as Record<string, number>,
  /** What each reading was to read, and which files had left the page cache before it. */
  readings: [] as { pieces: readonly FilePiece[]; dropped: readonly string[] }[],
  dropped: [] as readonly string[],
}));

vi.mock("node:worker_threads", () => ({
  Worker: class extends EventEmitter {
    constructor() {
      super();
      storage.threads += 1;
      setImmediate(() => this.emit("message", "ready"));
    }
    postMessage({ pieces }: Reading): void {
      const { dropped, readings } = storage;
      if (readings.at(-1)?.pieces !== pieces) readings.push({ pieces, dropped });
      const bytes = storage.rates[storage.threads]! / storage.threads;
      storage.delivered += bytes;
      setImmediate(() => this.emit("message", bytes * (1 + storage.cached)));
    }
    terminate(): void {
      storage.threads -= 1;
    }
  },
}));
vi.mock("../../src/host/files.js", () => ({ readText: () => `read_bytes: ${storage.delivered}\n` }));
vi.mock("../../src/native/load.js", () => ({
  loadAddon: () => ({
    addon: {
      dropFromPageCache: async (files: readonly string[]) => {
        storage.dropped = files;
      },
    },
  }),
}));
vi.mock("node:fs/promises", () => ({ lstat: async (file: string) => ({ size: storage.sizes[file] }) }));
vi.mock("../../src/tune/model/data-folder.js", () => ({
  listDataFolder: async () => ({ files: Object.keys(storage.sizes), totalBytes: 1e9 }),
}));

beforeEach(() => {
  Object.assign(storage, { cached: 0, sizes: {}, readings: [], dropped: [] });
});

/** The best rate, by a clock that shows half a second for each reading. */
async function rateOf(rates: Record<number, number>) {
  let nowMs = 0;
  const now = vi.spyOn(performance, "now").mockImplementation(() => (nowMs += 500));
  storage.rates = rates;
  const best = await storageRate("data", new AbortController().signal);
  now.mockRestore();
  return best;
}

it.each([
  ["all five", { 1: 1e8, 2: 2e8, 4: 4e8, 8: 8e8, 16: 16e8 }, 16, 16e8],
  ["as many as gain something", { 1: 1e8, 2: 2e8, 4: 2.08e8 }, 4, 2.08e8],
  ["the one that is faster alone", { 1: 1e8, 2: 0.5e8 }, 1, 1e8],
])("storage is read at its best by %s, and none of them stays", async (_, rates, threads, bytes) => {
  expect(await rateOf(rates)).toEqual({ threads, bytesPerSecond: bytes / 0.5 });
  expect(storage.threads).toBe(0);
});

it("what comes from memory counts for nothing, and half of it at most may", async () => {
  storage.cached = 0.9;
  expect(await rateOf({ 1: 1e8, 2: 0.5e8 })).toEqual({ threads: 1, bytesPerSecond: 2e8 });
  storage.cached = 1.1;
  expect(await rateOf({ 1: 1e8, 2: 0.5e8 })).toBeNull();
});

it("each reading has other files, in pieces, which have left the page cache: 400 MB at most, or all", async () => {
  const MiB = 2 ** 20;
  const readingsOf = async (files: number, bytes: number) => {
    storage.readings = [];
    storage.sizes = Object.fromEntries(Array.from({ length: files }, (_, i) => [`file-${i}`, bytes]));
    await rateOf({ 1: 1e8, 2: 0.5e8 });
    return storage.readings.map(({ pieces, dropped }) => {
      const names = [...new Set(pieces.map(({ file }) => file))];
      expect(dropped).toEqual(names);
      return { names, pieces };
    });
  };
  const [first, second] = await readingsOf(20, 40 * MiB);
  const ofOne = first!.pieces.filter(({ file }) => file === first!.names[0]);
  expect(ofOne.map(({ start, bytes }) => [start / MiB, bytes / MiB])).toEqual([
    [0, 16],
    [16, 16],
    [32, 8],
  ]);
  for (const { names, pieces } of [first!, second!]) {
    expect(names).toHaveLength(10);
    const total = pieces.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(total).toBeGreaterThanOrEqual(400e6);
    expect(total).toBeLessThan(400e6 + 16 * MiB);
  }
  expect(first!.names.filter((name) => second!.names.includes(name))).toEqual([]);
  // Of few files, each reading has all.
  const few = await readingsOf(2, MiB);
  expect(few.map(({ names }) => names.toSorted())).toEqual(Array(2).fill(["file-0", "file-1"]));
});
