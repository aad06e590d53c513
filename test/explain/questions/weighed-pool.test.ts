import { expect, it, onTestFinished, vi } from "vitest";
import type { Tools } from "../../../src/explain/question.js";
import { tooMuchPinned } from "../../../src/explain/questions/too-much-pinned.js";
import type { NativeSession } from "../../../src/native/contract.js";
import { MiB } from "../../../src/settings/units.js";

/* A machine of which pools take nine tenths of their size, and give back two thirds of that. */

const memory = vi.hoisted(() => ({ availableBytes: 0, overcommits: "0\n" }));
vi.mock("node:timers/promises", () => ({ setTimeout: async () => undefined }));
// The kernel promises no more memory than it has, unless it is set to.
vi.mock("../../../src/host/files.js", async (original) => ({
  ...(await original<object>()),
  readText: () => memory.overcommits,
}));
vi.mock("../../../src/host/memory.js", () => ({
  memoryAvailableBytes: () => memory.availableBytes,
  memoryTotalBytes: () => 2 * memory.availableBytes,
  systemAvailableBytes: () => (Number.isNaN(memory.availableBytes) ? null : memory.availableBytes),
}));

async function weighed(
  availableBytes: number,
  refusal = { code: "CUDA_ERROR_OUT_OF_MEMORY", sticky: false },
  measureFirstCopy: () => Promise<number> = async () => 1,
  signal = new AbortController().signal,
) {
  memory.availableBytes = availableBytes;
  const obtained: number[] = [];
  const copied: unknown[] = [];
  const session = {
    obtainPool: async ({ bytes }: { bytes: number }) => {
      obtained.push(bytes);
      memory.availableBytes -= 0.9 * bytes;
      return {
        copy: async (...copy: unknown[]) => {
          copied.push(copy);
          return [];
        },
        release: async () => {
          memory.availableBytes += 0.6 * bytes;
        },
      };
    },
    measurePinning: async () => Promise.reject(refusal),
    measureFirstCopy,
  } as unknown as NativeSession;
  const tools: Pick<Tools, "inSession" | "signal"> = {
    inSession: (work) => work(session),
    signal,
  };
  const command = { backend: { name: "cuda" }, devices: [], torch: { python: "python3" } };
  const { figures, sentences } = await tooMuchPinned.answer({ ...tools, ...command } as unknown as Tools);
  // All of a pool is written to.
  expect(copied).toEqual(obtained.map((bytes) => ["d2h", MiB, bytes / MiB]));
  return {
    obtained,
    figures: figures.map(({ value }) => Number(value.toFixed(3))),
    said: sentences.join(" "),
  };
}

it("a pool takes what is missing while it is there, and gives back what there is again after it", async () => {
  expect((await weighed(2 ** 36)).figures).toEqual([0.9, 0.6]);
});

it("a pool has a fiftieth of what is available, in whole MiB, and 512 MiB at most", async () => {
  expect((await weighed(2 ** 36)).obtained).toEqual(Array(6).fill(512 * MiB));
  expect((await weighed(1040 * MiB)).obtained).toEqual(Array(6).fill(20 * MiB));
  expect((await weighed(49 * MiB)).obtained).toEqual([]);
});

it("a driver that a request beyond all memory has broken has refused nothing", async () => {
  const broken = { code: "CUDA_ERROR_ILLEGAL_ADDRESS", sticky: true };
  await expect(weighed(2 ** 36, broken)).rejects.toEqual(broken);
  const aborted = { code: "ABORTED", sticky: false };
  await expect(weighed(2 ** 36, aborted)).rejects.toEqual(aborted);
});

it("after the refusal it is tried whether copies still work; a machine has more memory than is available", async () => {
  expect((await weighed(2 ** 36)).said).toMatch(
    /copies work as before.+This machine has 126\.1 GiB, of which 64 GiB are/,
  );
  const fails = () => Promise.reject(new Error("it broke"));
  expect((await weighed(2 ** 36, undefined, fails)).said).toContain("copies no longer work");
});

it("no more is asked for than there is where the kernel would promise it", async () => {
  memory.overcommits = "1\n";
  onTestFinished(() => {
    memory.overcommits = "0\n";
  });
  expect((await weighed(2 ** 36)).said).toContain("was not tried: the kernel is set to promise any amount");
});

it("nothing is weighed once the time is up", async () => {
  const ended = AbortSignal.abort(new Error("its time is up"));
  await expect(weighed(2 ** 36, undefined, undefined, ended)).rejects.toThrow("its time is up");
});

it("nothing is weighed where the system does not show what is available", async () => {
  expect(await weighed(Number.NaN)).toMatchObject({
    obtained: [],
    figures: [],
    said: expect.stringContaining("MemAvailable"),
  });
});
