import { beforeAll, describe, expect, it, vi } from "vitest";
import { openDevices, toolsOn } from "../../src/explain/explain-machine.js";
import type { Tools } from "../../src/explain/question.js";
import { questions } from "../../src/explain/questions.js";
import { Torch } from "../../src/explain/torch.js";

/*
 * The experiments themselves, on an emulated device: each finds the figures that it concludes from. Few samples are taken,
 * all fresh processes are one run, and nobody waits for the kernel's counts. The verdicts are not looked at.
 */

vi.mock("node:timers/promises", () => ({ setTimeout: async () => undefined }));
vi.mock("../../src/host/memory.js", async (original) => ({
  ...(await original<object>()),
  memoryAvailableBytes: () => 2 ** 30,
}));

let tools: Tools;
beforeAll(async () => {
  const prepared = await openDevices({ backend: "emulated", devices: "all" });
  const settings = { backend: "emulated", python: null } as const;
  const torch = new Torch("python3", 0);
  const experiments = { prepared, sharing: null, torch, settings, onActivity: () => undefined };
  const real = toolsOn(experiments, new AbortController().signal);
  const run: Tools["run"] = ({ budgetNs, ...request }) => real.run({ ...request, samplesPerCell: 6 });
  let ofProcess: ReturnType<Tools["run"]> | null = null;
  tools = { ...real, run, runInFreshProcess: (request) => (ofProcess ??= run(request)) };
});

describe("the experiment for the question", () => {
  const ofDevice = questions.filter(({ needs }) => needs === "device");
  it.each(ofDevice)("$name reports all of its figures, and a summary of one line", async (question) => {
    const { figures, summary } = await question.answer(tools);
    expect(figures.length).toBeGreaterThan(1);
    for (const { value } of figures) expect(value).toEqual(expect.any(Number));
    expect(summary).toMatch(/^[A-Z0-9][^\n]+\.$/);
  });
});
