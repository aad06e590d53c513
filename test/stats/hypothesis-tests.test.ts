import { errorFunction, mean, sampleStandardDeviation } from "simple-statistics";
import { describe, expect, it } from "vitest";
import {
  fisherTail,
  holm,
  hypergeometricTail,
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

describe.each(table)("Student's t with $df degrees of freedom", ({ df, t }) => {
  it("has the quantiles of the published table", () => {
    tails.forEach((tail, i) => {
      expect(Math.abs(studentQuantile(tail, df) - t[i]!)).toBeLessThanOrEqual(0.00051);
    });
  });

  it("has the tails of the published table", () => {
    tails.forEach((tail, i) => {
      expect(relative(studentTail(t[i]!, df), tail)).toBeLessThan(0.002);
    });
  });

  it("is symmetrical about 0", () => {
    expect(studentTail(0, df)).toBe(0.5);
    for (const value of [0.01, 0.5, 1, 3, 20]) {
      expect(studentTail(-value, df)).toBeCloseTo(1 - studentTail(value, df), 14);
    }
    expect(studentQuantile(0.5, df)).toBeCloseTo(0, 12);
  });

  it("has quantiles that invert its tails", () => {
    for (const tail of [0.4, 0.1, 1e-3, 1e-6, 1e-12]) {
      expect(relative(studentTail(studentQuantile(tail, df), df), tail)).toBeLessThan(1e-9);
    }
  });
});

describe("studentTail", () => {
  it.each([1e-6, 0.3, 1, 5, 1e3, 1e8])("is a Cauchy tail for 1 degree of freedom, at %d", (t) => {
    expect(relative(studentTail(t, 1), Math.atan2(1, t) / Math.PI)).toBeLessThan(1e-12);
  });

  it.each([1e-6, 0.3, 1, 5, 1e3, 1e8])("has its closed form for 2 degrees of freedom, at %d", (t) => {
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
  ])("keeps its digits far out: $tail at $t with $df", ({ t, df, tail }) => {
    expect(relative(studentTail(t, df), tail)).toBeLessThan(1e-11);
  });

  it.each([0, 0.5, 1, 1.96, 2.58, 3.5])("is a normal one for very many degrees of freedom, at %d", (z) => {
    // The library's error function is good to 1.2e-7.
    const normal = (1 - errorFunction(z / Math.SQRT2)) / 2;
    expect(Math.abs(studentTail(z, 1e6) - normal)).toBeLessThan(1e-6);
  });

  it("gives a textbook's sample its p-value", () => {
    // Moore and McCabe's vitamin C in corn soy blend: n = 8 against 40, t = -6.883, P = 0.0002 for both sides.
    const vitaminC = [26, 31, 23, 22, 11, 22, 14, 31];
    const t = (mean(vitaminC) - 40) / (sampleStandardDeviation(vitaminC) / Math.sqrt(8));
    expect(t).toBeCloseTo(-6.883, 3);
    expect(2 * studentTail(-t, 7)).toBeCloseTo(0.00023, 5);
  });

  it("falls as t grows", () => {
    for (const df of [0.5, 3, 18, 500]) {
      let previous = 1;
      for (let t = -30; t <= 30; t += 0.25) {
        expect(studentTail(t, df)).toBeLessThanOrEqual(previous);
        previous = studentTail(t, df);
      }
    }
  });

  it.each([0, -1, Number.NaN])("rejects %d degrees of freedom", (df) => {
    expect(() => studentTail(1, df)).toThrow(RangeError);
  });

  it("rejects a t that is none", () => {
    expect(() => studentTail(Number.NaN, 3)).toThrow(RangeError);
  });
});

describe("studentQuantile", () => {
  it("takes degrees of freedom that are not whole, and tails as small as a correction makes them", () => {
    // From scipy.stats.t.isf.
    expect(studentQuantile(3.3333e-5, 18)).toBeCloseTo(5.15357603025279, 9);
    expect(studentQuantile(3.3333e-5, 2.5)).toBeCloseTo(54.13521141449696, 8);
  });

  it.each([0, -0.1, 0.6, Number.NaN])("rejects a tail of %d", (tail) => {
    expect(() => studentQuantile(tail, 5)).toThrow(new RangeError("a tail lies above 0 and up to 1/2"));
  });
});

describe("fisherTail", () => {
  it.each([0.1, 1, 3.5, 40])("has its closed form for 2 degrees of freedom of the numerator, at %d", (f) => {
    for (const d of [1, 6, 11])
      expect(relative(fisherTail(f, 2, d), (1 + (2 * f) / d) ** (-d / 2))).toBeLessThan(1e-11);
  });

  it("is both tails of Student's t for 1 degree of freedom of the numerator", () => {
    for (const t of [0.2, 1, 5])
      expect(relative(fisherTail(t * t, 1, 7), 2 * studentTail(t, 7))).toBeLessThan(1e-11);
  });

  it("is the rest of the reciprocal's tail, with degrees of freedom exchanged", () => {
    expect(fisherTail(2.5, 3, 8)).toBeCloseTo(1 - fisherTail(1 / 2.5, 8, 3), 12);
    expect(fisherTail(0, 3, 8)).toBe(1);
  });
});

const expectClose = (actual: number[], expected: number[]) => {
  expect(actual).toHaveLength(expected.length);
  expected.forEach((value, i) => {
    expect(actual[i]).toBeCloseTo(value, 12);
  });
};

describe("hypergeometricTail", () => {
  it("is the share of draws with at least this many marked ones", () => {
    // Of 4 of 10, 3 marked: C(3,2) C(7,2) + C(3,3) C(7,1) of C(10,4) = 210.
    expect(hypergeometricTail(2, 10, 3, 4)).toBeCloseTo((3 * 21 + 7) / 210, 12);
    expect(hypergeometricTail(0, 10, 3, 4)).toBeCloseTo(1, 12);
    expect(hypergeometricTail(4, 10, 3, 4)).toBe(0);
    expect(hypergeometricTail(1, 4, 3, 2)).toBeCloseTo(1, 12);
    // At least three are, for only one is not marked.
    expect(hypergeometricTail(0, 5, 4, 4)).toBeCloseTo(1, 12);
  });
});

describe("holm", () => {
  it("rejects two of four in the worked example: 0.005 and 0.01 at 5 %, not 0.03 or 0.04", () => {
    const adjusted = holm([0.01, 0.04, 0.03, 0.005]);
    expectClose(adjusted, [0.03, 0.06, 0.06, 0.02]);
    expect(adjusted.map((p) => p < 0.05)).toEqual([true, false, false, true]);
  });

  it('equals R\'s p.adjust(p, "holm")', () => {
    expectClose(holm([0.01, 0.02, 0.03, 0.04, 0.05]), [0.05, 0.08, 0.09, 0.09, 0.09]);
  });

  it("does not depend on the order, and keeps it", () => {
    const pValues = [0.04, 0.01, 0.05, 0.02, 0.03];
    const before = [...pValues];
    expectClose(holm(pValues), [0.09, 0.05, 0.09, 0.08, 0.09]);
    expect(pValues).toEqual(before);
  });

  it("treats ties alike", () => {
    expectClose(holm([0.01, 0.2, 0.01]), [0.03, 0.2, 0.03]);
  });

  it("counts tests whose p-values are not given", () => {
    expectClose(holm([0.02, 0.01], 4), [0.06, 0.04]);
  });

  it("leaves a single one as it is, and none", () => {
    expect(holm([0.03])).toEqual([0.03]);
    expect(holm([])).toEqual([]);
  });

  it("never exceeds 1", () => {
    expect(holm([0.6, 0.9, 1, 0.5])).toEqual([1, 1, 1, 1]);
  });

  it("lies between the p-value and Bonferroni's correction, in the p-values' order", () => {
    const pValues = Array.from({ length: 60 }, (_, i) => ((i * 37) % 60) ** 3 / 60 ** 3);
    const adjusted = holm(pValues);
    const ascending = [...pValues.keys()].sort((i, j) => pValues[i]! - pValues[j]!);
    ascending.forEach((index, rank) => {
      expect(adjusted[index]).toBeGreaterThanOrEqual(pValues[index]!);
      expect(adjusted[index]).toBeLessThanOrEqual(Math.min(1, 60 * pValues[index]!));
      if (rank > 0) expect(adjusted[index]).toBeGreaterThanOrEqual(adjusted[ascending[rank - 1]!]!);
    });
  });
});
