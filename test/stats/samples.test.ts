import { describe, expect, it } from "vitest";
import type { Distribution as SchemaDistribution } from "../../src/results/schema.js";
import { type Distribution, distribution } from "../../src/stats/distribution.js";
import { median } from "../../src/stats/median.js";
import { quantile } from "../../src/stats/quantile.js";
import { relativeHalfWidth } from "../../src/stats/relative-half-width.js";

describe("median", () => {
  it.each([
    { samples: [3], expected: 3 },
    { samples: [4, 1], expected: 2.5 },
    { samples: [10, 9, 1], expected: 9 },
    { samples: [100, 20, 3, 1000], expected: 60 },
  ])("of $samples is $expected", ({ samples, expected }) => {
    expect(median(samples)).toBe(expected);
  });

  it.each([[[]], [[1, Number.NaN]], [[Number.POSITIVE_INFINITY, 1]], [[1, Number.NEGATIVE_INFINITY]]])(
    "rejects %j",
    (samples) => {
      expect(() => median(samples)).toThrow(RangeError);
    },
  );
});

describe("quantile (type 7)", () => {
  it.each([
    { probability: 0, expected: 10 },
    { probability: 0.25, expected: 17.5 },
    { probability: 0.5, expected: 25 },
    { probability: 0.9, expected: 37 },
    { probability: 0.99, expected: 39.7 },
    { probability: 1, expected: 40 },
  ])("of 10, 20, 30, 40 at $probability is $expected", ({ probability, expected }) => {
    expect(quantile([40, 10, 30, 20], probability)).toBeCloseTo(expected, 12);
  });

  it.each([-0.1, 1.1, Number.NaN])("rejects the probability %d", (probability) => {
    expect(() => quantile([1], probability)).toThrow(RangeError);
  });
});

describe("relativeHalfWidth", () => {
  it("is half the interval over the median", () => {
    expect(relativeHalfWidth({ low: 49, high: 51 }, 50)).toBeCloseTo(0.02, 14);
  });

  it("is null without an interval or with nothing to be relative to", () => {
    expect(relativeHalfWidth(null, 50)).toBeNull();
    expect(relativeHalfWidth({ low: null, high: null }, 50)).toBeNull();
    expect(relativeHalfWidth({ low: -1, high: 1 }, 0)).toBeNull();
  });
});

describe("distribution", () => {
  it("has the interval from 6 samples on", () => {
    expect(distribution([5, 3, 1, 2, 4])).toEqual({ median: 3, min: 1, max: 5, low: null, high: null });
    expect(distribution([6, 5, 3, 1, 2, 4])).toEqual({ median: 3.5, min: 1, max: 6, low: 1, high: 6 });
  });

  it("has the result document's shape", () => {
    const documented: SchemaDistribution = distribution([1]);
    const computed: Distribution = documented;
    expect(Object.keys(computed).sort()).toEqual(["high", "low", "max", "median", "min"]);
  });

  it("rejects no samples", () => {
    expect(() => distribution([])).toThrow(RangeError);
  });
});
