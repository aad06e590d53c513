import { describe, expect, it } from "vitest";
import { holm } from "../../src/stats/holm.js";

const expectClose = (actual: number[], expected: number[]) => {
  expect(actual).toHaveLength(expected.length);
  expected.forEach((value, i) => {
    expect(actual[i]).toBeCloseTo(value, 12);
  });
};

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
