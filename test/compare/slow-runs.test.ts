import { describe, expect, it } from "vitest";
import { needsMoreRuns, rateAgainstBaseline, runsToConfirm } from "../../src/compare/slow-runs.js";

const share = (slow: number, runs: number) => ({ slow, runs });
const none = share(0, 0);
const slowRuns = (baseline: ReturnType<typeof share>, first: ReturnType<typeof share>, fresh = none) => ({
  ...{ baseline, first, fresh },
  ...{ worst: -1, startedAt: [] },
});

describe("how often slow runs come against the baseline", () => {
  // The 95 % intervals of the difference: -0.21 to 0.72, 0.03 to 0.80, -0.47 to 0.47, -0.41 to -0.02.
  it.each([
    [share(2, 10), share(3, 5), "open"],
    [share(2, 10), share(9, 10), "more"],
    [share(1, 5), share(1, 5), "open"],
    [share(5, 10), share(1, 24), "less"],
  ])("is told by the interval of the difference: %j before, %j after is %s", (baseline, first, expected) => {
    expect(rateAgainstBaseline(slowRuns(baseline, first))).toBe(expected);
  });

  it("is that of the first runs and the fresh ones together", () => {
    expect(rateAgainstBaseline(slowRuns(share(2, 10), share(5, 5), share(4, 5)))).toBe("more");
    expect(rateAgainstBaseline(slowRuns(share(2, 10), share(5, 5), share(0, 5)))).toBe("open");
  });

  it("is more if the baseline had none, however many runs the candidate has", () => {
    expect(rateAgainstBaseline(slowRuns(share(0, 3), share(1, 50)))).toBe("more");
  });
});

describe("slow runs need more fresh processes", () => {
  it.each([
    ["until one of these is slow too", slowRuns(share(0, 10), share(1, 5), share(0, 9)), true],
    ["no longer then, if the baseline had none", slowRuns(share(0, 10), share(1, 5), share(1, 10)), false],
    ["until both rates can be told apart", slowRuns(share(2, 10), share(1, 5), share(2, 10)), true],
    ["no longer then", slowRuns(share(2, 10), share(4, 5), share(9, 10)), false],
    ["if a fresh process was the first slow one", slowRuns(share(0, 10), share(0, 5), share(1, 5)), false],
  ])("%s", (_, slow, expected) => {
    expect(needsMoreRuns(slow)).toBe(expected);
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
