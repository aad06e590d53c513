import { describe, expect, it } from "vitest";
import { findUnevenRuns, lostShares, usualUnevenness } from "../../src/compare/evidence/uneven-runs.js";
import { type CasePart, caseOf, times } from "./evidence-case.js";

/** The uneven runs of shares of lost time, five runs of the baseline without any, at a threshold of 5 %. */
function unevenOf(first: readonly number[], part: CasePart = {}, threshold = 0.05) {
  const { series, evidence } = caseOf({ ...part, lost: { first, ...part.lost } });
  return findUnevenRuns(series, evidence, threshold);
}

describe("uneven runs of pinned memory", () => {
  it("lost more than the threshold, and as much on average", () => {
    expect(unevenOf(times(5, 0.1))).toMatchObject({
      baseline: { slow: 0, runs: 5 },
      first: { slow: 5, runs: 5 },
      fresh: { slow: 0, runs: 0 },
      lost: { baseline: 0, candidate: expect.closeTo(0.1, 12) },
      ...{ rate: "more", isByMean: false, isMetAgain: false },
    });
    expect(unevenOf([0.3, 0, 0, 0, 0])).toMatchObject({ first: { slow: 1 }, rate: "more" });
    expect(unevenOf([0.2, 0, 0, 0, 0])).toBeNull();
    // 5 % on average is enough.
    expect(unevenOf([0.25, 0, 0, 0, 0], { first: times(5, 0.99) })).toMatchObject({ first: { slow: 1 } });
    expect(unevenOf(times(5, 0.06), {}, 0.1)).toBeNull();
    expect(unevenOf(times(5, 0.04), {}, 0.01)).toBeNull();
  });

  it("are held against what the baseline's runs lose", () => {
    const lost = { baseline: times(5, 0.1) };
    expect(unevenOf(times(5, 0.14), { lost })).toBeNull();
    expect(unevenOf(times(5, 0.16), { lost })).toMatchObject({ first: { slow: 5 } });
  });

  it("may be less frequent than those of the baseline, or as frequent", () => {
    const lost = { baseline: [...times(6, 0), ...times(4, 0.1)] };
    expect(unevenOf([...times(3, 0), ...times(2, 0.5)], { lost })).toMatchObject({
      ...{ baseline: { slow: 4, runs: 10 }, first: { slow: 2, runs: 5 }, rate: "open" },
    });
  });

  it("do not count if copies are faster by more than slow ones take", () => {
    const lost = { baseline: times(5, 0.1) };
    // The time of 0.84 instead of 0.9 of the copies is 6.9 % more.
    expect(unevenOf(times(5, 0.16), { lost, first: times(5, 1.01) })).not.toBeNull();
    expect(unevenOf(times(5, 0.16), { lost, first: times(5, 1.05) })).toBeNull();
  });

  it("are met again if the confirming runs lost half of what counts", () => {
    const again = (fresh: number, baseline = 0) =>
      unevenOf(times(5, 0.3), { lost: { baseline: times(5, baseline), fresh: [fresh] } })!.isMetAgain;
    expect(again(0.025)).toBe(true);
    expect(again(0.024)).toBe(false);
    expect(again(0.12, 0.1)).toBe(false);
    expect(again(0.13, 0.1)).toBe(true);
  });

  it("are none without shares on one of the sides", () => {
    for (const group of ["baseline", "first"] as const) {
      const { series, evidence } = caseOf({ lost: { first: times(5, 0.3) } });
      const unknown = { ...series, [group]: series[group].map((run) => ({ ...run, lostShare: null })) };
      expect(findUnevenRuns(unknown, evidence, 0.05)).toBeNull();
    }
  });
});

describe("uneven runs of memory that is not steady", () => {
  const pageable = { memory: "pageable", usualUnevenness: 0.2 } as const;

  it("are two at least, each more uneven than the baseline's usually are", () => {
    expect(unevenOf(times(5, 0.3), pageable)).toMatchObject({ first: { slow: 5 }, rate: "more" });
    expect(unevenOf([0.3, 0.3, 0, 0, 0], pageable)).toMatchObject({ first: { slow: 2 }, rate: "open" });
    expect(unevenOf([0.5, 0, 0, 0, 0], pageable)).toBeNull();
    expect(unevenOf([0.3, 0.3, 0, 0, 0], { ...pageable, usualUnevenness: 0.01 })).toMatchObject({
      first: { slow: 2 },
    });
  });

  it.each([
    ["pageable memory", { memory: "pageable" }],
    ["latencies", { unit: "us" }],
  ] as const)("are unknown of %s whose baseline shows no usual ones", (_, part) => {
    expect(unevenOf(times(5, 0.3), part)).toBeNull();
    expect(unevenOf(times(5, 0.3), { ...part, usualUnevenness: 0.2 })).not.toBeNull();
  });

  it("may show in the means of three runs or more, without one that is uneven by itself", () => {
    expect(unevenOf(times(5, 0.1), pageable)).toMatchObject({
      ...{ first: { slow: 0 }, rate: "more", isByMean: true },
    });
    expect(unevenOf(times(3, 0.1), pageable)).toMatchObject({ isByMean: true });
    expect(unevenOf(times(2, 0.1), pageable)).toBeNull();
    // Student's t of 8 degrees of freedom is 0.1 / 0.0141 = 7.1: 5e-5.
    expect(unevenOf([0.06, 0.08, 0.1, 0.12, 0.14], pageable)).toMatchObject({
      ...{ first: { slow: 0 }, rate: "open", isByMean: false },
    });
    // And 0.1 / 0.0447 = 2.2: 0.03.
    expect(unevenOf([0, 0, 0.1, 0.2, 0.2], pageable)).toBeNull();
    expect(
      unevenOf(times(5, 0.1), { ...pageable, lost: { baseline: [0, 0.02, 0, 0.02, 0.01] } }),
    ).toMatchObject({
      isByMean: true,
    });
  });

  it("usually differ by the largest distance of a run to its cell's median", () => {
    const baselines = (...shares: number[][]) =>
      shares.map((baseline) => ({ baseline: caseOf({ lost: { baseline } }).series.baseline }));
    expect(usualUnevenness(baselines([0.1, 0.25, 0.1], [0, 0, 0.1, 0]))).toBeCloseTo(0.15, 12);
    expect(usualUnevenness(baselines([0.1, 0.9], [0, 0, 0.1]))).toBeCloseTo(0.1, 12);
    expect(usualUnevenness(baselines([0.1, 0.9]))).toBeNull();
  });

  it("are counted of runs that record their share alone", () => {
    const { baseline } = caseOf({ lost: { baseline: [0.1, 0.2] } }).series;
    expect(lostShares([...baseline, { ...baseline[0]!, lostShare: null }])).toEqual([0.1, 0.2]);
  });
});
