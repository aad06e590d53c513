import { expect, it, vi } from "vitest";
import type { Tools } from "../../src/explain/question.js";
import { tooMuchPinned } from "../../src/explain/questions/too-much-pinned.js";
import type { NativeSession } from "../../src/native/contract.js";
import type { NativePool } from "../../src/native/loader-contract.js";
import { MiB } from "../../src/settings/units.js";

/* A machine on which a pool takes 90 % of its size from available memory, and later returns two thirds of that. */

const memory = vi.hoisted(() => ({ availableBytes: 0 }));
vi.mock("node:timers/promises", () => ({ setTimeout: async () => undefined }));
vi.mock("../../src/host/memory.js", () => ({
  memoryAvailableBytes: () => memory.availableBytes,
  systemAvailableBytes: () => (Number.isNaN(memory.availableBytes) ? null : memory.availableBytes),
}));

async function weighed(availableBytes: number, takenShare = 0.9, signal = new AbortController().signal) {
  memory.availableBytes = availableBytes;
  const obtained: number[] = [];
  const copied: unknown[] = [];
  let isClosed = false;
  const session: Partial<NativeSession> = {
    obtainPool: async ({ bytes }) => {
      obtained.push(bytes);
      memory.availableBytes -= takenShare * bytes;
      const pool: Partial<NativePool> = {
        copy: async (...copy) => {
          copied.push(copy);
          return new Float64Array();
        },
        release: async () => {
          memory.availableBytes += 0.6 * bytes;
          return 1;
        },
      };
      return pool as NativePool;
    },
    abort: () => undefined,
    close: async () => {
      isClosed = true;
    },
  };
  const tools = {
    backend: { driver: { openSession: async () => session } },
    devices: [{ ordinal: 0, pciBusId: "0000:00:00.0" }],
    signal,
  } as unknown as Tools;
  const answer = await tooMuchPinned.answer(tools).finally(() => {
    expect(isClosed).toBe(availableBytes > 2 ** 30);
  });
  // All of a pool is written to.
  expect(copied).toEqual(obtained.map((bytes) => ["d2h", MiB, bytes / MiB]));
  return { ...answer, obtained, shares: answer.figures.map(({ value }) => Number(value.toFixed(3))) };
}

it("the verdict is true if a pool takes 90 % of its size from available memory, and false with 10 %", async () => {
  const { shares, holds, summary } = await weighed(2 ** 36);
  expect([shares, holds]).toEqual([[0.9, 0.6], true]);
  expect(summary).toMatch(/^A pinned pool of 512 MiB takes (89\.9|90\.0) % of its size from all programs\./);
  expect((await weighed(2 ** 36, 0.1)).holds).toBe(false);
});

it("a pool takes a fiftieth of the available memory, in whole MiB, and 512 MiB at most", async () => {
  expect((await weighed(2 ** 36)).obtained).toEqual(Array(6).fill(512 * MiB));
  expect((await weighed(1040 * MiB)).obtained).toEqual(Array(6).fill(20 * MiB));
});

it("the experiment is skipped if too little memory is available, or if its amount is unknown", async () => {
  await expect(weighed(49 * MiB)).rejects.toMatchObject({ kind: "unavailable" });
  await expect(weighed(Number.NaN)).rejects.toThrow("/proc/meminfo does not show");
});

it("the experiment stops once its time is up", async () => {
  await expect(weighed(2 ** 36, 0.9, AbortSignal.abort(new Error("its time is up")))).rejects.toThrow(
    "its time is up",
  );
});
