import { factorial, gammaln } from "simple-statistics";
import { describe, expect, it } from "vitest";
import {
  hypergeometricTail,
  logGamma,
  studentQuantile,
  studentTail,
} from "../../src/stats/hypothesis-tests.js";

const relative = (value: number, expected: number) => Math.abs(value / expected - 1);

// The table that textbooks print, of upper tails.
const tails = [0.05, 0.025, 0.01, 0.005, 0.0005] as const;
const table = [
  { df: 1, t: [6.314, 12.706, 31.821, 63.657, 636.619] },
  { df: 2, t: [2.92, 4.303, 6.965, 9.925, 31.599] },
  { df: 5, t: [2.015, 2.571, 3.365, 4.032, 6.869] },
  { df: 10, t: [1.812, 2.228, 2.764, 3.169, 4.587] },
  { df: 30, t: [1.697, 2.042, 2.457, 2.75, 3.646] },
  { df: 120, t: [1.658, 1.98, 2.358, 2.617, 3.373] },
];

describe("Student's t", () => {
  it.each(table)(
    "has the tails and the quantiles of the published table for $df degrees of freedom",
    ({ df, t }) => {
      for (const [i, tail] of tails.entries()) {
        expect(Math.abs(studentQuantile(tail, df) - t[i]!)).toBeLessThanOrEqual(0.00051);
        expect(relative(studentTail(t[i]!, df), tail)).toBeLessThan(0.002);
      }
      expect(studentTail(0, df)).toBe(0.5);
      expect(studentQuantile(0.5, df)).toBeCloseTo(0, 12);
      for (const value of [0.01, 0.5, 1, 3, 20])
        expect(studentTail(-value, df)).toBeCloseTo(1 - studentTail(value, df), 14);
      for (const tail of [0.4, 0.1, 1e-3, 1e-6, 1e-12])
        expect(relative(studentTail(studentQuantile(tail, df), df), tail)).toBeLessThan(1e-9);
    },
  );

  it.each([1e-6, 0.3, 1, 5, 1e3, 1e8])("matches closed forms for 1 and 2 degrees of freedom, at %d", (t) => {
    expect(relative(studentTail(t, 1), Math.atan2(1, t) / Math.PI)).toBeLessThan(1e-12);
    // (1 - t / sqrt(2 + t²)) / 2, multiplied out so that the difference does not cancel.
    const root = Math.sqrt(2 + t * t);
    expect(relative(studentTail(t, 2), 1 / (root * (root + t)))).toBeLessThan(1e-12);
  });

  it.each([
    // From scipy.stats.t.sf.
    { t: 3.5, df: 3.7, tail: 0.014125493447094186 },
    { t: 0.001, df: 7, tail: 0.4996150086224994 },
    { t: 40, df: 13, tail: 2.6799418842576594e-15 },
    { t: 1000, df: 5, tail: 9.49006556598986e-15 },
    { t: 12, df: 60, tail: 6.893161320908875e-18 },
  ])("matches scipy: its upper tail is $tail at t = $t with $df degrees of freedom", ({ t, df, tail }) => {
    expect(relative(studentTail(t, df), tail)).toBeLessThan(1e-11);
  });

  it("falls as t grows, and is a normal tail for very many degrees of freedom", () => {
    for (const df of [0.5, 3, 18, 500]) {
      const values = Array.from({ length: 240 }, (_, i) => studentTail(-30 + i / 4, df));
      expect(values).toEqual(values.toSorted((a, b) => b - a));
    }
    // From scipy.stats.norm.sf.
    expect(studentTail(1.96, 1e6)).toBeCloseTo(0.024998, 5);
  });

  it("accepts fractional degrees of freedom and very small tails", () => {
    // From scipy.stats.t.isf.
    expect(studentQuantile(3.3333e-5, 18)).toBeCloseTo(5.15357603025279, 9);
    expect(studentQuantile(3.3333e-5, 2.5)).toBeCloseTo(54.13521141449696, 8);
  });

  it.each([0, -0.1, 0.6, Number.NaN])(
    "refuses %d as a tail, and degrees of freedom that are not positive",
    (value) => {
      expect(() => studentQuantile(value, 5)).toThrow(new RangeError("a tail lies above 0 and up to 1/2"));
      expect(() => studentTail(1, Math.min(0, value))).toThrow(RangeError);
      expect(() => studentTail(Number.NaN, 3)).toThrow(RangeError);
    },
  );
});

describe("hypergeometricTail", () => {
  it.each([
    // Of 4 of 10, 3 marked: C(3,2) C(7,2) + C(3,3) C(7,1) of C(10,4) = 210.
    [2, 10, 3, 4, (3 * 21 + 7) / 210],
    [0, 10, 3, 4, 1],
    [4, 10, 3, 4, 0],
    [1, 4, 3, 2, 1],
    // At least three are, for only one is not marked.
    [0, 5, 4, 4, 1],
  ])("of %i or more marked in %i, %i marked, %i drawn, is %f", (least, all, marked, draws, share) => {
    expect(hypergeometricTail(least, all, marked, draws)).toBeCloseTo(share, 12);
  });
});

describe("the gamma function", () => {
  it("matches factorials, the root of pi at 1/2, and the values of a library", () => {
    for (let n = 1; n <= 20; ++n)
      expect(logGamma(n)).toBeCloseTo(n < 3 ? 0 : Math.log(factorial(n - 1)), n < 3 ? 14 : 12);
    expect(logGamma(0.5)).toBeCloseTo(Math.log(Math.PI) / 2, 14);
    for (const x of [1e-3, 0.1, 0.25, 0.49, 0.7, 1.5, 2.4, 7.3, 40, 500, 5e5])
      expect(relative(logGamma(x), gammaln(x)), `at ${x}`).toBeLessThan(1e-11);
  });
});
