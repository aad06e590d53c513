import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Torch } from "../../src/explain/torch.js";
import type { QuestionName } from "../../src/settings/choices.js";
import { skipWithoutTorch, testPython } from "../helpers/test-python.js";
import { expectNothingLeft, marked } from "../tune/torch/support.js";

/** A torch whose GPU and whose clock are played: times are the same each time. */
const playedTorch = fileURLToPath(new URL("../fixtures/explain", import.meta.url));

/** The played torch, which `words` have behave differently; closed when the test ends. */
function torchOf(words = "", { python = testPython, device = 0 } = {}): Torch {
  vi.stubEnv("PYTHONPATH", playedTorch);
  vi.stubEnv("FAKE_TORCH", words);
  return closedAtEnd(new Torch(python, device));
}

function closedAtEnd(torch: Torch): Torch {
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await torch.close();
    await expectNothingLeft();
  });
  return torch;
}

const never = new AbortController().signal;

/** The last time of each, in µs: the clock rounds the first ones. */
async function lastTimes(torch: Torch, question: QuestionName) {
  const { times, facts } = await torch.measure(question, never);
  const last = Object.entries(times).map(([name, ns]) => [name, Math.round(ns.at(-1)! / 1e3)]);
  return { times, facts, us: Object.fromEntries(last) as Record<string, number> };
}

describe("a question is unavailable", () => {
  it.each([
    ["no-cuda", 0, /^This needs a GPU, and torch 2\.11\.0 of \/.+ is built without CUDA\.$/],
    ["no-gpu", 0, /^This needs a GPU, and torch 2\.11\.0 of \/.+ sees no GPU\.$/],
    ["broken-gpu", 0, /cannot use it: CUDA error: system not yet initialized\.$/],
    ["", 1, /sees only 1 of them\.$/],
  ])("if torch has no such GPU: %j, device %i", async (words, device, message) => {
    await expect(torchOf(words, { device }).measure("converting-copy", never)).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringMatching(message),
      hint: "Name a Python whose torch has CUDA with --python.",
    });
  });

  it("if that Python has no torch", async () => {
    const python = fileURLToPath(new URL("../fixtures/tune/no_torch.sh", import.meta.url));
    await expect(torchOf("", { python }).measure("converting-copy", never)).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringMatching(/has no torch\.$/),
    });
  });
});

it("a torch that ends its process fails with its exit code and its last words", async () => {
  await expect(torchOf("dies").measure("converting-copy", never)).rejects.toMatchObject({
    kind: "measurement",
    message: `${testPython} ended with exit code 9. Its last output: a library gives up`,
  });
});

describe("a pinned tensor that is sent in an object", () => {
  it("arrives unpinned, and is fast again once it is registered", async () => {
    const { us, facts } = await lastTimes(torchOf(), "pinned-in-a-class");
    expect(facts).toEqual({ isPinned: false, registerRefused: 0 });
    const [slow, fast] = [1347, 341];
    expect(us).toEqual({
      ...{ senderPinned: fast, senderPageable: slow },
      ...{ receiverPinned: slow, receiverPageable: slow, registered: fast },
    });
  });

  it("is timed too if it arrives pinned and cannot be registered", async () => {
    const { us, facts } = await lastTimes(torchOf("arrives-pinned refuses-registering"), "pinned-in-a-class");
    expect(facts).toEqual({ isPinned: true, registerRefused: 801 });
    expect(us.receiverPinned).toBe(us.senderPinned);
    expect(us).not.toHaveProperty("registered");
  });
});

it("copies and a kernel are timed apart and together, and calls until they return", async () => {
  const { times, us } = await lastTimes(torchOf(), "non-blocking");
  expect(us.pinnedCall).toBeLessThan(us.pinnedCopy! / 2);
  expect(us.pageableCall).toBe(us.pageableCopy);
  // One after the other in one stream, beside each other in two.
  expect(us.pinnedOneStream).toBeGreaterThan(us.compute! + 0.7 * us.pinnedCopy!);
  expect(us.pinnedOwnStream).toBeLessThan(us.compute! + 0.3 * us.pinnedCopy!);
  expect(us.pageableOneStream).toBeGreaterThan(us.compute! + 0.7 * us.pageableCopy!);
  expect(new Set(Object.values(times).map(({ length }) => length))).toEqual(new Set([15]));
});

it("epochs of a loader are timed with pinning, without, and without copying", async () => {
  const { us } = await lastTimes(torchOf(), "loader-pin-memory");
  // Played: 300 µs to make each of 79 batches, 20 more to pin it; a copy of 128 KiB takes 10.5 µs from pageable memory.
  expect(us.uncopied).toBe(79 * 300);
  expect(us.unpinned! / 79).toBeCloseTo(300 + 5 + 10.5, 0);
  expect(us.pinned! / 79).toBeCloseTo(300 + 20 + 5, 0);
});

it("a copy that converts on the CPU is timed, and one that converts on the GPU", async () => {
  const { us } = await lastTimes(torchOf(), "converting-copy");
  // Played: the CPU converts 64 MiB at 10 GB/s, and copies half of it at 12.5; the GPU hardly takes time.
  expect(us.converting).toBeCloseTo(6711 + 5 + 2684, -2);
  expect([us.plain, us.nonBlocking, us.after].map((time) => Math.round(time! / 100))).toEqual([13, 14, 14]);
});

it("a batch is timed with pin_memory() in the loop, without, through a kept buffer and pinned before", async () => {
  const { us } = await lastTimes(torchOf(), "pinning-in-the-loop");
  const each = [us.pageable, us.eachTime, us.kept, us.before].map((time) => Math.round(time! / 100));
  expect(each).toEqual([54, 81, 81, 13]);
});

it("the call of a pageable copy waits for queued kernels, and that of a pinned one does not", async () => {
  const { us } = await lastTimes(torchOf(), "forgotten-pageable");
  expect(us.queue).toBeGreaterThan(19_000);
  expect(us.pageable).toBeGreaterThan(0.9 * us.queue!);
  expect(us.labels).toBeGreaterThan(0.9 * us.queue!);
  expect(us.pinned).toBeLessThan(100);
});

describe("with a real torch", () => {
  skipWithoutTorch();

  it("batches are timed with several numbers of workers, without a GPU", async () => {
    const { times, facts } = await closedAtEnd(new Torch(testPython, 0)).measure("too-many-workers", never);
    expect(facts.cpus).toBeGreaterThan(0);
    expect(Object.keys(times)).toEqual(["none", "half", "each", "twice"]);
    for (const [name, ns] of Object.entries(times)) {
      expect(ns).toHaveLength(6);
      // A batch unpacks 4 MiB, which no CPU does in 3 ms.
      expect(Math.min(...ns)).toBeGreaterThan(3e6 / (name === "none" ? 1 : (facts.cpus as number)));
    }
  });
});

it("an abort ends an experiment that hangs, with the process that it has started", async () => {
  const torch = torchOf("child-hangs");
  const end = new AbortController();
  const measured = torch.measure("pinned-in-a-class", end.signal).catch((error: unknown) => error);
  const isSpawned = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("spawn_main");
  await vi.waitFor(() => expect(marked().some(isSpawned)).toBe(true), { timeout: 60_000 });
  end.abort(new Error("its time is up"));
  expect(await measured).toMatchObject({ message: "its time is up" });
  await expectNothingLeft();
});
