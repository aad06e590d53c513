import { describe, expect, it } from "vitest";
import { isMoreOften, runsToConfirm } from "../../src/compare/slow-runs.js";

const share = (slow: number, runs: number) => ({ slow, runs });
const none = share(0, 0);
const slowRuns = (baseline: ReturnType<typeof share>, first: ReturnType<typeof share>, fresh = none) => ({
  ...{ baseline, first, fresh },
  ...{ worst: -1, startedAt: [] },
});

describe("slow runs come more often than the baseline's", () => {
  // One-sided p-values: 0.167 and 0.047, 0.070 and 0.029, 0.778.
  it.each([
    [share(2, 10), share(3, 5), false],
    [share(2, 10), share(4, 5), true],
    [share(1, 10), share(5, 10), false],
    [share(1, 10), share(6, 10), true],
    [share(1, 5), share(1, 5), false],
  ])(
    "where Fisher's exact test says so at the level 0.05: %j before, %j after is %s",
    (baseline, first, expected) => {
      expect(isMoreOften(slowRuns(baseline, first))).toBe(expected);
    },
  );

  it("by the first runs and the fresh ones together", () => {
    expect(isMoreOften(slowRuns(share(2, 10), share(2, 3), share(2, 2)))).toBe(true);
    expect(isMoreOften(slowRuns(share(2, 10), share(4, 5), share(0, 5)))).toBe(false);
  });

  it("where it had none, however many runs the candidate has", () => {
    expect(isMoreOften(slowRuns(share(0, 3), share(1, 50)))).toBe(true);
  });
});

describe("the fresh processes that it takes to meet slow runs again", () => {
  it.each([
    [share(5, 5), 1],
    [share(1, 2), 8],
    [share(1, 4), 19],
    [share(1, 5), 24],
  ])("with %j are %d", (first, runs) => {
    expect(runsToConfirm(first)).toBe(runs);
  });
});
