import { EventEmitter } from "node:events";
import { expect, it, vi } from "vitest";
import { storageRate } from "../../src/tune/storage-rate.js";

/** Storage in a time of its own: what each reading delivers depends on the number of threads. */
const storage = vi.hoisted(() => ({ rates: {} as Record<number, number>, delivered: 0, threads: 0 }));

vi.mock("node:worker_threads", () => ({
  Worker: class extends EventEmitter {
    constructor() {
      super();
      storage.threads += 1;
      setImmediate(() => this.emit("message", "ready"));
    }
    postMessage(): void {
      const bytes = storage.rates[storage.threads]! / storage.threads;
      storage.delivered += bytes;
      setImmediate(() => this.emit("message", bytes));
    }
    terminate(): void {
      storage.threads -= 1;
    }
  },
}));
vi.mock("../../src/host/files.js", () => ({ readText: () => `read_bytes: ${storage.delivered}\n` }));
vi.mock("../../src/native/load.js", () => ({
  loadAddon: () => ({ addon: { dropFromPageCache: async () => undefined } }),
}));
vi.mock("../../src/tune/model/data-folder.js", () => ({
  listDataFolder: async () => ({ files: [], totalBytes: 1e9 }),
}));

it.each([
  ["all five", { 1: 1e8, 2: 2e8, 4: 4e8, 8: 8e8, 16: 16e8 }, 16, 16e8],
  ["as many as gain something", { 1: 1e8, 2: 2e8, 4: 2.08e8 }, 4, 2.08e8],
  ["the one that is faster alone", { 1: 1e8, 2: 0.5e8 }, 1, 1e8],
])("storage is read at its best by %s, and none of them stays", async (_, rates, threads, bytes) => {
  let nowMs = 0;
  const now = vi.spyOn(performance, "now").mockImplementation(() => (nowMs += 500));
  storage.rates = rates;
  const best = await storageRate("data", new AbortController().signal);
  now.mockRestore();
  expect(best).toEqual({ threads, bytesPerSecond: bytes / 0.5 });
  expect(storage.threads).toBe(0);
});
