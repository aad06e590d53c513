import { describe, expect, it } from "vitest";
import { CellProgress } from "../../src/measure/cell-progress.js";
import { measureInWaves } from "../../src/measure/waves.js";
import { h200, planOf } from "../plan/support.js";
import { deviceFacts, FakeSession, measureWith, nativeError, withStoppedClock } from "./support.js";

withStoppedClock();

const numaPlacements = [
  { cpuNode: 0, memoryNode: 0 },
  { cpuNode: 1, memoryNode: 1 },
  { cpuNode: 1, memoryNode: 0 },
  { cpuNode: 0, memoryNode: 1 },
];

/** Kinds of copies of two devices with two nodes, each with its outcome within this budget. */
async function outcomesWithin(budgetMs: number, session = new FakeSession()) {
  const devices = [h200, { ...h200, ordinal: 1 }];
  const plan = planOf(
    { numa: "all", directions: ["h2d"], budgetNs: budgetMs * 1e6 },
    { devices, numaPlacements },
  );
  const cells = plan.cells.map((cell) => new CellProgress(cell, deviceFacts));
  const begun = performance.now();
  const { signal } = new AbortController();
  const budgetNs = plan.stopping.budgetNs;
  for await (const _ of measureInWaves(measureWith(session), cells, { plan, budgetNs, signal }));
  const outcomes: Record<string, Set<string | null>> = {};
  for (const { cell, outcome, skipReason } of cells) {
    const { memory, together, cpuNode, memoryNode } = cell;
    const isCrossed = cpuNode !== memoryNode;
    const kind = `${memory} ${together === undefined ? "alone" : "at once"}${isCrossed ? ", crossed" : ""}`;
    outcomes[kind] = (outcomes[kind] ?? new Set()).add(skipReason ?? outcome);
  }
  return {
    outcomes: Object.fromEntries(Object.entries(outcomes).map(([kind, set]) => [kind, [...set].join()])),
    tookMs: performance.now() - begun,
    mostTaken: Math.max(...cells.map(({ taken }) => taken)),
  };
}

const skipped = "the budget ended before its turn";

describe("kinds of copies of several NUMA nodes", () => {
  it("are all measured if the budget suffices", async () => {
    const { outcomes } = await outcomesWithin(60_000);
    expect(Object.values(outcomes)).toEqual(Array(6).fill("converged"));
  });

  it("take further samples if some of the budget is left", async () => {
    const unsteady = new FakeSession((_, sample) => 100_000 * (1 + (sample % 7)));
    expect((await outcomesWithin(60_000, unsteady)).mostTaken).toBeGreaterThan(6);
  });

  it("begin with pinned copies on all devices at the same time, however small the budget is", async () => {
    const { outcomes } = await outcomesWithin(1);
    const { "pinned at once": first, ...others } = outcomes;
    expect(first).toBe("converged");
    expect(Object.values(others)).toEqual(Array(5).fill(skipped));
  });

  it("end with the budget, for all devices and nodes alike", async () => {
    const first = await outcomesWithin(1);
    const all = await outcomesWithin(60_000);
    const budgetMs = (first.tookMs + all.tookMs) / 2;
    const { outcomes, tookMs } = await outcomesWithin(budgetMs);
    expect(tookMs).toBeGreaterThan(first.tookMs);
    // A visit under way is not cut short.
    expect(tookMs).toBeLessThan(budgetMs + first.tookMs / 4);
    expect(outcomes).toMatchObject({ "pinned at once": "converged", "pageable alone, crossed": skipped });
  });

  it("are skipped once a device's context is lost", async () => {
    const session = new FakeSession();
    session.measure = async () => {
      throw Object.assign(nativeError("CUDA_ERROR_ECC_UNCORRECTABLE"), { sticky: true });
    };
    const { outcomes } = await outcomesWithin(60_000, session);
    expect(outcomes["pageable alone"]).toMatch(/^the context was lost with CUDA_ERROR_ECC_UNCORRECTABLE/);
  });
});
