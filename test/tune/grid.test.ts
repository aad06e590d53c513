import { describe, expect, it } from "vitest";
import { settingKey, spread, usualSetting } from "../../src/results/loader-setting.js";
import { measureGrid } from "../../src/tune/tune-loader.js";
import { SimulatedProbe, simulatedFacts } from "../helpers/simulated-loader.js";
import { signalWhen, trialsOf } from "../helpers/tune.js";

const loader = { makeMs: 10, handOverMs: 2, handOverPinnedMs: 1, copyMs: 2, copyPinnedMs: 1 };

async function grid(
  maxWorkers: number,
  { facts = {} as Partial<typeof simulatedFacts>, signal = new AbortController().signal } = {},
) {
  const probe = new SimulatedProbe(loader, { ...simulatedFacts, ...facts });
  await measureGrid(trialsOf(probe, { maxWorkers, signal }));
  return probe.order;
}

describe("the counts of workers", () => {
  it.each([0, 1, 4, 13])("are all of them up to %i", (most) => {
    expect(spread(most)).toEqual(Array.from({ length: most + 1 }, (_, count) => count));
  });

  it.each([14, 16, 24, 32, 64, 128, 192, 256])("are 14 up to %i, denser among the few", (most) => {
    const counts = spread(most);
    expect(counts).toHaveLength(14);
    expect(counts.slice(0, 3)).toEqual([0, 1, 2]);
    expect(counts.at(-1)).toBe(most);
    const steps = counts.slice(1).map((count, index) => count - counts[index]!);
    expect(Math.min(...steps)).toBe(1);
    // But for rounding, steps grow.
    for (const [index, step] of steps.slice(1).entries()) {
      expect(step).toBeGreaterThanOrEqual(steps[index]! - 1);
      expect(step).toBeLessThanOrEqual(2 * steps[index]! + 1);
    }
  });
});

describe("the grid", () => {
  it.each([
    [16, 28],
    [64, 28],
    [2, 6],
    [0, 2],
  ])("up to %i workers has %i settings, none twice", async (most, settings) => {
    const order = await grid(most);
    expect(order).toHaveLength(settings);
    expect(new Set(order.map(settingKey)).size).toBe(settings);
  });

  it("begins with the user's own setting, and without workers", async () => {
    const startingPoint = { ...usualSetting(3, true, 4), persistentWorkers: false };
    const order = await grid(16, { facts: { startingPoint } });
    expect(order[0]).toEqual(startingPoint);
    expect(order[1]).toEqual(usualSetting(0, false));
    expect(order).toHaveLength(29);
  });

  it("has no pinned settings and no workers if they are useless", async () => {
    const unpinned = await grid(16, { facts: { pinningOff: "torch sees no GPU" } });
    expect(unpinned).toHaveLength(14);
    expect(unpinned.some(({ pinMemory }) => pinMemory)).toBe(false);
    expect(await grid(16, { facts: { workersOff: "batches are CUDA tensors" } })).toHaveLength(2);
  });

  it("measures slow settings to the end as well", async () => {
    const probe = new SimulatedProbe(loader);
    const trials = trialsOf(probe, { maxWorkers: 16 });
    await measureGrid(trials);
    for (const { score } of trials.tried) {
      expect((score!.high - score!.low) / score!.batchesPerSecond).toBeLessThan(0.07);
    }
  });

  it("ends when its time is up, or it is aborted", async () => {
    const probe = new SimulatedProbe(loader);
    await measureGrid(trialsOf(probe, { signal: signalWhen(() => probe.order.length === 5) }));
    expect(probe.order).toHaveLength(5);
    expect(await grid(16, { signal: AbortSignal.abort() })).toEqual([]);
  });
});
