import { describe, expect, it } from "vitest";
import type { Evidence } from "../../src/compare/cell-evidence.js";
import type { Series } from "../../src/compare/series.js";
import { findSlowRuns, isMoreOften, runsToConfirm } from "../../src/compare/slow-runs.js";

const startedAt = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ startedAt: `${prefix}${i}` }));

/** Of a cell whose runs deviate by 1 %: logarithms of speed about 0. */
function slowRuns(
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
  it("are those more than ten deviations below the baseline, of steady memory", () => {
    expect(slowRuns({ baseline: [0, -0.2], first: [0, -0.11, -0.1], fresh: [-0.3, 0] })).toEqual({
      baseline: { slow: 1, runs: 2 },
      first: { slow: 1, runs: 3 },
      fresh: { slow: 1, runs: 2 },
      worst: -0.3,
      startedAt: ["first1", "fresh0"],
    });
    expect(slowRuns({ first: [0, -0.1] })).toBeNull();
  });

  it("are those more than forty below, of other memory", () => {
    expect(slowRuns({ first: [-0.39] }, { memory: "pageable" })).toBeNull();
    expect(slowRuns({ first: [-0.41] }, { memory: "pageable" })).toMatchObject({ worst: -0.41 });
  });

  it("lost more than what counts as a drop", () => {
    expect(slowRuns({ first: [-0.19] }, { drop: 0.2 })).toBeNull();
    expect(slowRuns({ first: [-0.21] }, { drop: 0.2 })).not.toBeNull();
  });

  it("are told about where the baseline lies", () => {
    expect(slowRuns({ first: [0.85] }, { baseline: 1 })).toMatchObject({ worst: expect.closeTo(-0.15) });
    expect(slowRuns({ first: [0.95] }, { baseline: 1 })).toBeNull();
  });

  it("go by the robust spread of all where the cell has none of its own, and are unknown without any", () => {
    const noise = { robustVariance: 0.02 ** 2 };
    expect(slowRuns({ first: [-0.19] }, { noise, baselineVariance: null })).toBeNull();
    expect(slowRuns({ first: [-0.21] }, { noise, baselineVariance: null })).not.toBeNull();
    expect(slowRuns({ first: [-9] }, { noise: null })).toBeNull();
  });
});

describe("slow runs come more often", () => {
  const isMore = (first: [number, number], fresh: [number, number], baseline: [number, number]) => {
    const of = ([slow, runs]: [number, number]) => ({ slow, runs });
    return isMoreOften({
      ...{ first: of(first), fresh: of(fresh), baseline: of(baseline) },
      ...{ worst: -1, startedAt: [] },
    });
  };

  it("than in a baseline that had none, with the first", () => {
    expect(isMore([1, 100], [0, 0], [0, 5])).toBe(true);
  });

  it("by Fisher's exact test at 5 %", () => {
    // 5 of 5 against 1 of 5: C(5,5) C(5,1) / C(10,6) = 5/210.
    expect(isMore([3, 3], [2, 2], [1, 5])).toBe(true);
    // 4 of 5 against 1 of 5: (25 + 1) / 252 = 10 %.
    expect(isMore([2, 3], [2, 2], [1, 5])).toBe(false);
    // 2 of 2 against 1 of 20: 20/1540.
    expect(isMore([2, 2], [0, 0], [1, 20])).toBe(true);
    expect(isMore([5, 5], [0, 0], [1, 1])).toBe(false);
  });
});

it("as many runs confirm as meet again with 99.5 % what came before, at most 24", () => {
  const needed = (slow: number, runs: number) => runsToConfirm({ slow, runs });
  expect([needed(5, 5), needed(4, 5), needed(2, 5), needed(1, 5), needed(1, 10)]).toEqual([1, 4, 11, 24, 24]);
});
