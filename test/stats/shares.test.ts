import { describe, expect, it } from "vitest";
import { differenceOfShares, intervalOfShare } from "../../src/stats/hypothesis-tests.js";

describe("intervalOfShare", () => {
  // R. G. Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17, 1998, table I, method 3.
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])("is Wilson's interval: %i of %i are %f to %f", (slow, runs, low, high) => {
    const interval = intervalOfShare({ slow, runs });
    expect(interval.low).toBeCloseTo(low, 4);
    expect(interval.high).toBeCloseTo(high, 4);
  });

  it("reaches 1 if all are, and never more", () => {
    expect(intervalOfShare({ slow: 7, runs: 7 }).high).toBe(1);
  });
});

describe("differenceOfShares", () => {
  // R. G. Newcombe, "Interval estimation for the difference between independent proportions", Statistics in Medicine 17,
  // 1998, table II, method 10.
  it.each([
    [56, 70, 48, 80, 0.0524, 0.3339],
    [9, 10, 3, 10, 0.1705, 0.809],
    [6, 7, 2, 7, 0.0582, 0.8062],
    [5, 56, 0, 29, -0.0381, 0.1926],
    [0, 10, 0, 10, -0.2775, 0.2775],
  ])("is Newcombe's interval: %i of %i less %i of %i", (slow, runs, otherSlow, otherRuns, low, high) => {
    const interval = differenceOfShares({ slow: otherSlow, runs: otherRuns }, { slow, runs });
    expect(interval.low).toBeCloseTo(low, 4);
    expect(interval.high).toBeCloseTo(high, 4);
  });
});
