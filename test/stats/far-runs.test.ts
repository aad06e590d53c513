import { describe, expect, it } from "vitest";
import { farDistances, farRuns, standardized } from "../../src/stats/far-runs.js";
import { studentQuantile } from "../../src/stats/hypothesis-tests.js";

/** So many values that alternate between this and its negative, and others at their indices. */
function distances(count: number, near: number, others: Readonly<Record<number, number>>): number[] {
  return Array.from({ length: count }, (_, i) => others[i] ?? (i % 2 === 0 ? near : -near));
}

const runs = (values: readonly number[]) => farRuns(values, 6, 10).map(({ first, end }) => [first, end]);

describe("farRuns", () => {
  it.each([
    ["10 deviations off, and ten times as far as the next one", 1, 10, [[4, 5]]],
    ["less than 10 deviations off", 0.5, 9.9, []],
    ["less than ten times as far as the next one", 1.01, 10, []],
    ["lower than the others", 1, -10, [[4, 5]]],
  ] as const)("knows a single value that is %s", (_, near, far, expected) => {
    expect(runs(distances(10, near, { 4: far }))).toEqual(expected);
  });

  it.each([
    ["6 deviations off, and three times as far as the next one", 2, [6, 6], [[4, 6]]],
    ["less than 6 deviations off", 1, [5.9, 5.9], []],
    ["less than three times as far as the next one", 2.01, [6, 6], []],
    ["of which one is half as far as the other", 1, [6, 12], [[4, 6]]],
    ["of which one is less than half as far as the other", 1, [6, 12.1], []],
    ["which are both far by themselves, also if one is farther", 1, [40, 10], [[4, 6]]],
    ["which are both far, but not from the next one", 1.01, [40, 10], []],
  ] as const)("knows two values that are %s", (_, near, [one, other], expected) => {
    expect(runs(distances(10, near, { 4: one, 5: other }))).toEqual(expected);
  });

  it("divides neighbours on two sides, each of which has to be far by itself", () => {
    expect(runs(distances(10, 1, { 4: 20, 5: -20 }))).toEqual([
      [4, 5],
      [5, 6],
    ]);
    expect(runs(distances(10, 1, { 4: 8, 5: -8 }))).toEqual([]);
  });

  it("finds several runs in the values' order", () => {
    expect(runs(distances(20, 1, { 2: -12, 3: -15, 11: 30 }))).toEqual([
      [2, 4],
      [11, 12],
    ]);
  });

  it("finds runs of three at most", () => {
    expect(runs(distances(20, 1, { 5: 20, 6: 20, 7: 20 }))).toEqual([[5, 8]]);
    expect(runs(distances(20, 1, { 5: 20, 6: 20, 7: 20, 8: 20 }))).toEqual([]);
  });

  it("takes no more than a fifth of the values to be far", () => {
    expect(runs(distances(10, 1, { 0: 20, 9: 20 }))).toEqual([
      [0, 1],
      [9, 10],
    ]);
    expect(runs(distances(9, 1, { 0: 20, 8: 20 }))).toEqual([]);
    expect(runs(distances(4, 1, { 1: 20 }))).toEqual([]);
  });

  it("leaves out a value that is not far enough, and keeps one that is far from it, too", () => {
    expect(runs(distances(10, 1, { 2: 100, 7: 7 }))).toEqual([[2, 3]]);
  });
});

describe("farDistances", () => {
  const upTo = (most: number) => Array.from({ length: 2 * most + 1 }, (_, i) => i - most);

  it("are 6 and 10 robust deviations if many residuals say what a deviation is", () => {
    const { deviation, ...far } = farDistances(upTo(100))!;
    // The median absolute deviation of -100 to 100 is 50.
    expect(deviation).toBeCloseTo((50 * 1.4826 * 201) / 200.2, 10);
    expect(far).toEqual({ inRun: 6, alone: 10 });
  });

  it("are larger if few residuals leave a deviation uncertain", () => {
    // Student's t of a tail of 0.001: a median absolute deviation has 0.37 degrees of freedom where a variance has one.
    const ofEleven = studentQuantile(0.001, 0.37 * 10);
    expect(farDistances(upTo(5))).toMatchObject({ inRun: ofEleven, alone: 10 });
    const ofSeven = studentQuantile(0.001, 0.37 * 6);
    expect(farDistances(upTo(3))).toMatchObject({ inRun: ofSeven, alone: ofSeven });
    expect(ofEleven).toBeGreaterThan(6);
    expect(ofSeven).toBeGreaterThan(10);
  });

  it("need 7 residuals", () => {
    expect(farDistances([1, 2, 3, 4, 5, 6])).toBeNull();
  });
});

describe("standardized", () => {
  it("counts in deviations, or in the value's own error if that is larger", () => {
    expect(standardized(-6, null, 2)).toBe(-3);
    expect(standardized(6, 1, 2)).toBe(3);
    expect(standardized(6, 3, 2)).toBe(2);
  });

  it("takes no deviation to be less than 0.01 %", () => {
    expect(standardized(0.001, 0, 0)).toBeCloseTo(10, 12);
  });
});
