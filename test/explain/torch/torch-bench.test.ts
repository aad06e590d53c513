import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { explainMachine, openDevices } from "../../../src/explain/experiment-tools.js";
import type { Question } from "../../../src/explain/question.js";
import { TorchBench } from "../../../src/explain/torch/torch-bench.js";
import { testPython } from "../../helpers/test-python.js";
import { expectNothingLeft, marked } from "../../tune/torch/support.js";

/** A torch whose GPU and whose clock are played: figures are the same each time. */
const playedTorch = fileURLToPath(new URL("../../fixtures/explain", import.meta.url));

/** A bench on the played torch, which `words` have behave differently; closed when the test ends. */
function benchOn(words = "", python = testPython): TorchBench {
  vi.stubEnv("PYTHONPATH", playedTorch);
  vi.stubEnv("FAKE_TORCH", words);
  const bench = new TorchBench(python, 0);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await bench.close();
    await expectNothingLeft();
  });
  return bench;
}

const never = new AbortController().signal;
const few = { bytes: 1 << 20, rounds: 6 };
const rateOf = (timesNs: number[]) => timesNs.map((ns) => Math.round(few.bytes / ns));

describe("which torch there is", () => {
  it("is described with the path of its Python and the GPU it sees", async () => {
    const facts = await benchOn().facts(never);
    expect(facts).toMatchObject({ torch: "2.11.0", deviceName: "a GPU that is played", gpuMissing: null });
    expect(existsSync(facts.python)).toBe(true);
  });

  it.each([
    ["no-cuda", /^torch 2\.11\.0 of \/.+ is built without CUDA$/],
    ["no-gpu", /^torch 2\.11\.0 of \/.+ sees no GPU$/],
    ["broken-gpu", /^torch cannot use the GPU: CUDA error: system not yet initialized$/],
  ])("is described with the reason why it has no GPU: %s", async (words, reason) => {
    const { deviceName, gpuMissing } = await benchOn(words).facts(never);
    expect(deviceName).toBeNull();
    expect(gpuMissing).toMatch(reason);
  });

  it("is asked for the first of the chosen devices", async () => {
    vi.stubEnv("PYTHONPATH", playedTorch);
    onTestFinished(expectNothingLeft);
    const { backend, devices } = await openDevices({ backend: "emulated", devices: "all" });
    const missing: (string | null)[] = [];
    const asked: Question = {
      ...{ name: "overlap", title: "which?", claim: "It is this.", needs: "torch", mostMs: 20_000 },
      answer: async (tools) => {
        missing.push((await tools.torch.facts(tools.signal)).gpuMissing);
        return { verdict: "true", figures: [], sentences: [], command: "" };
      },
    };
    await explainMachine({
      ...{ questions: [asked], sharing: null, signal: never, onActivity: () => undefined },
      ...{ startedAt: new Date(), startedMs: performance.now() },
      prepared: { backend, devices: devices.map((device) => ({ ...device, ordinal: 1 })) },
      settings: { backend: "emulated", python: testPython },
    });
    expect(missing).toEqual(["torch sees 1 GPU, and device 1 is not among them"]);
  });

  it("is unavailable without such a Python, and is not looked for again", async () => {
    const bench = benchOn("", "/nowhere/python3");
    const first = await bench.facts(never).catch((error: unknown) => error);
    expect(first).toMatchObject({ kind: "unavailable", message: "There is no /nowhere/python3." });
    expect(await bench.facts(never).catch((error: unknown) => error)).toBe(first);
  });

  it("is unavailable in a Python without torch", async () => {
    const noTorch = fileURLToPath(new URL("../../fixtures/tune/no_torch.sh", import.meta.url));
    await expect(benchOn("", noTorch).facts(never)).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringMatching(/has no torch\.$/),
    });
  });
});

it("a torch whose importing takes longer than a question may is not waited for again", async () => {
  const bench = benchOn("never-imported");
  const end = new AbortController();
  const first = bench.facts(end.signal).catch((error: unknown) => error);
  await vi.waitFor(() => expect(marked().length).toBeGreaterThan(1), { timeout: 20_000 });
  end.abort(new Error("its time is up"));
  expect(await first).toMatchObject({ message: "its time is up" });
  await expect(bench.facts(never)).rejects.toMatchObject({
    kind: "measurement",
    message: `${testPython} had not imported torch within the first question's time.`,
  });
});

it("a torch that ends its process is told with its exit code and its last words", async () => {
  await expect(benchOn("dies").facts(never)).rejects.toMatchObject({
    kind: "measurement",
    message: `${testPython} ended with exit code 9. Its last output: a library gives up`,
  });
});

describe("a pinned tensor that is sent", () => {
  it("arrives unpinned, is unpinned in the sender as well, and is fast again once it is registered", async () => {
    const sent = await benchOn().measure("sent", few, never);
    expect(sent).toMatchObject({
      bytes: few.bytes,
      isPinnedBefore: true,
      isPinnedAfter: false,
      isPinnedInChild: false,
      isPinnedInObject: false,
      isPinnedRegistered: true,
      registerRefused: null,
    });
    expect(rateOf(sent.parentPinned)).toEqual(Array(6).fill(40));
    for (const slow of [sent.parentPageable, sent.childPinned, sent.childInObject, sent.childPageable]) {
      expect(rateOf(slow)).toEqual(Array(6).fill(12));
    }
    expect(rateOf(sent.childRegistered)).toEqual(Array(6).fill(40));
  });

  it("is measured without registering if CUDA refuses that", async () => {
    const sent = await benchOn("refuses-registering").measure("sent", few, never);
    expect(sent).toMatchObject({ registerRefused: 801, isPinnedRegistered: false, childRegistered: [] });
  });

  it("is an error if the process ends that it was sent to, and the next experiment goes on", async () => {
    const bench = benchOn("child-dies");
    await expect(bench.measure("sent", few, never)).rejects.toThrow(
      "the process that the tensors were sent to ended (exit code 9).",
    );
    const { batches } = await bench.measure(
      "loader",
      { rows: 300, columns: 4, batch: 128, rounds: 1 },
      never,
    );
    expect(batches).toBe(3);
  });
});

it("copies and a computation are timed apart and together", async () => {
  const overlap = await benchOn().measure("overlap", few, never);
  const last = (timesNs: number[]) => timesNs.at(-1)!;
  const { compute, pinnedCopy, pageableCopy } = overlap;
  expect(last(overlap.pinnedCall)).toBeLessThan(last(pinnedCopy) / 2);
  expect(last(overlap.pageableCall)).toBe(last(pageableCopy));
  // One after the other in one stream, beside each other in two.
  expect(last(overlap.pinnedOneStream)).toBeGreaterThan(last(compute) + 0.7 * last(pinnedCopy));
  expect(last(overlap.pinnedOwnStream)).toBeLessThan(last(compute) + 0.3 * last(pinnedCopy));
  expect(last(overlap.pageableOneStream)).toBeGreaterThan(last(compute) + 0.7 * last(pageableCopy));
  for (const timesNs of Object.values(overlap))
    if (Array.isArray(timesNs)) expect(timesNs).toHaveLength(few.rounds);
});

it("epochs of a loader are timed with pinning, without, and without copying", async () => {
  const loader = await benchOn().measure("loader", { rows: 256, columns: 256, batch: 128, rounds: 2 }, never);
  expect(loader.batches).toBe(2);
  // Played: 300 µs to make a batch, 20 more to pin it; a copy of 128 KiB takes 10.5 µs from pageable memory, and 2.6.
  expect(loader.uncopied).toEqual([600_000, 600_000]);
  expect(loader.unpinned[1]).toBeCloseTo(2 * (300_000 + 5_000 + 131_072 / 12.5), -1);
  expect(loader.pinned[1]).toBeCloseTo(2 * (320_000 + 5_000) + 131_072 / 50, -1);
});

describe("what torch pins for a tensor above a power of two", () => {
  const sizes = { bytes: 17 << 20, evenBytes: 16 << 20, rounds: 2 };

  it.each([
    ["", 32],
    ["rounds-nothing", 17],
  ])("is taken from its statistics, and timed: %s", async (words, mebibytes) => {
    expect(await benchOn(words).measure("rounded", sizes, never)).toEqual({
      ...{ bytes: 17 << 20, evenBytes: 16 << 20, hasStatistics: true },
      pinned: Array(2).fill(mebibytes << 20),
      // Played: 4 GB/s.
      ...{ uneven: Array(2).fill((mebibytes << 20) / 4), even: Array(2).fill((16 << 20) / 4) },
    });
  });

  it("is the growth of resident memory with a torch that has none", async () => {
    const { pinned, hasStatistics } = await benchOn("no-statistics").measure("rounded", sizes, never);
    expect(hasStatistics).toBe(false);
    for (const bytes of pinned) expect(Math.abs(bytes / 2 ** 20 - 32)).toBeLessThan(1);
  });

  it.each([
    ["reserves", "torch.cuda.host_memory_stats() does not show"],
    ["reserves no-statistics", "The process' resident memory does not show"],
  ])("is unavailable if it was pinned in advance: %s", async (words, message) => {
    await expect(benchOn(words).measure("rounded", sizes, never)).rejects.toMatchObject({
      ...{ kind: "unavailable", message: expect.stringContaining(message) },
    });
  });
});

it("an experiment that hangs ends with its signal, the process that it has started as well", async () => {
  const bench = benchOn("child-hangs");
  const end = new AbortController();
  const measured = bench.measure("sent", few, end.signal).catch((error: unknown) => error);
  const isSpawned = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("spawn_main");
  await vi.waitFor(() => expect(marked().filter(isSpawned)).toHaveLength(1), { timeout: 20_000 });
  end.abort(new Error("its time is up"));
  expect(await measured).toMatchObject({ message: "its time is up" });
  await expectNothingLeft();
});
