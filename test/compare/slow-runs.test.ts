import { describe, expect, it } from "vitest";
import type { Evidence } from "../../src/compare/evidence/cell-evidence.js";
import {
  findSlowRuns,
  needsMoreRuns,
  rateAgainstBaseline,
  runsToConfirm,
} from "../../src/compare/evidence/uneven-runs.js";
import type { Series } from "../../src/compare/series.js";

const startedAt = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ startedAt: `${prefix}${i}` }));

/** Of a cell whose runs deviate by 1 %: logarithms of speed about 0. */
function found(
  logs: { baseline?: number[]; first: number[]; fresh?: number[] },
  {
    drop = 0.05,
    memory = "pinned",
    ...evidence
  }: { drop?: number; memory?: string; [key: string]: unknown } = {},
) {
  const { baseline = [0, 0], first, fresh = [] } = logs;
  const series = {
    cell: { memory },
    first: startedAt("first", first.length),
    fresh: startedAt("fresh", fresh.length),
  } as unknown as Series;
  const known = {
    ...{ noise: { robustVariance: 1 }, baselineVariance: 0.01 ** 2, baseline: 0 },
    ...{ runs: { baseline, first, fresh }, ...evidence },
  } as unknown as Evidence;
  return findSlowRuns(series, known, drop);
}

describe("the slow runs of a cell", () => {
  it("are more than ten deviations below the baseline for steady memory", () => {
    expect(found({ baseline: [0, -0.2], first: [0, -0.11, -0.1], fresh: [-0.3, 0] })).toEqual({
      baseline: { slow: 1, runs: 2 },
      first: { slow: 1, runs: 3 },
      fresh: { slow: 1, runs: 2 },
      worst: -0.3,
      startedAt: ["first1", "fresh0"],
    });
    expect(found({ first: [0, -0.1] })).toBeNull();
  });

  it("are more than forty deviations below it for other memory", () => {
    expect(found({ first: [-0.39] }, { memory: "pageable" })).toBeNull();
    expect(found({ first: [-0.41] }, { memory: "pageable" })).toMatchObject({ worst: -0.41 });
  });

  it("lost more than what counts as a drop", () => {
    expect(found({ first: [-0.19] }, { drop: 0.2 })).toBeNull();
    expect(found({ first: [-0.21] }, { drop: 0.2 })).not.toBeNull();
  });

  it("are relative to the baseline's centre", () => {
    expect(found({ first: [0.85] }, { baseline: 1 })).toMatchObject({ worst: expect.closeTo(-0.15) });
    expect(found({ first: [0.95] }, { baseline: 1 })).toBeNull();
  });

  it("use the spread of the kind if the cell has none, and are unknown without any", () => {
    const noise = { robustVariance: 0.02 ** 2 };
    expect(found({ first: [-0.19] }, { noise, baselineVariance: null })).toBeNull();
    expect(found({ first: [-0.21] }, { noise, baselineVariance: null })).not.toBeNull();
    expect(found({ first: [-9] }, { noise: null })).toBeNull();
  });
});

const share = (slow: number, runs: number) => ({ slow, runs });
const none = share(0, 0);
const slowRuns = (baseline: ReturnType<typeof share>, first: ReturnType<typeof share>, fresh = none) => ({
  ...{ baseline, first, fresh },
  ...{ worst: -1, startedAt: [] },
});

describe("the frequency of slow runs against the baseline's", () => {
  // The 95 % intervals of the difference: -0.21 to 0.72, 0.03 to 0.80, -0.47 to 0.47, -0.41 to -0.02.
  it.each([
    [share(2, 10), share(3, 5), "open"],
    [share(2, 10), share(9, 10), "more"],
    [share(1, 5), share(1, 5), "open"],
    [share(5, 10), share(1, 24), "less"],
  ])(
    "is decided by the interval of the difference: %j before, %j after is %s",
    (baseline, first, expected) => {
      expect(rateAgainstBaseline(slowRuns(baseline, first))).toBe(expected);
    },
  );

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

describe("the number of fresh processes needed to find slow runs again", () => {
  it.each([
    [share(5, 5), 1],
    [share(1, 2), 8],
    [share(1, 4), 19],
    [share(1, 5), 24],
  ])("with %j are %d", (first, runs) => {
    expect(runsToConfirm(first)).toBe(runs);
  });
});
