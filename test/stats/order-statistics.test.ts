import { describe, expect, it } from "vitest";
import {
  distribution,
  median,
  medianInterval,
  medianRanks,
  quantile,
  relativeHalfWidth,
  robustDeviation,
  variesTooMuch,
} from "../../src/stats/order-statistics.js";
import { frozen } from "../helpers/frozen.js";
import { seeded } from "../helpers/seeded.js";

it.each([
  [[3], 3],
  [[4, 1], 2.5],
  [[10, 9, 1], 9],
  [[100, 20, 3, 1000], 60],
])("the median of %j is %d", (samples, expected) => {
  expect(median(frozen(samples))).toBe(expected);
});

it.each([[[]], [[1, Number.NaN]], [[Number.POSITIVE_INFINITY, 1]], [[1, Number.NEGATIVE_INFINITY]]])(
  "%o has neither a median nor a distribution",
  (samples) => {
    expect(() => median(samples)).toThrow(RangeError);
    expect(() => distribution(samples)).toThrow(RangeError);
  },
);

describe("a quantile (type 7)", () => {
  it.each([
    [0, 10],
    [0.25, 17.5],
    [0.5, 25],
    [0.9, 37],
    [0.99, 39.7],
    [1, 40],
  ])("of 10, 20, 30, 40 at %d is %d", (probability, expected) => {
    expect(quantile(frozen([40, 10, 30, 20]), probability)).toBeCloseTo(expected, 12);
  });

  it("of many values is that of the sorted ones, whatever their order and their ties", () => {
    const { uniform } = seeded(3);
    const orders: ((i: number, count: number) => number)[] = [
      () => uniform(),
      (i) => i,
      (i) => -i,
      () => Math.floor(3 * uniform()),
      (i, count) => Math.min(i, count - i),
      () => 7,
    ];
    for (const order of orders) {
      for (const count of [41, 42, 100, 1001, 5000]) {
        const values = Array.from({ length: count }, (_, i) => order(i, count));
        const sorted = Float64Array.from(values).sort();
        for (const probability of [0, 0.01, 0.25, 0.5, 0.9, 1]) {
          const at = (count - 1) * probability;
          const [below, above] = [sorted[Math.floor(at)]!, sorted[Math.min(Math.floor(at) + 1, count - 1)]!];
          expect(quantile(values, probability)).toBe(below + (at - Math.floor(at)) * (above - below));
        }
      }
    }
    expect(() => quantile([...Array(50).keys(), Number.NaN], 0.5)).toThrow(RangeError);
  });

  it.each([-0.1, 1.1, Number.NaN])("is refused at %d", (probability) => {
    expect(() => quantile([1], probability)).toThrow(RangeError);
    expect(() => quantile([...Array(50).keys()], probability)).toThrow(RangeError);
  });
});

describe("the deviation by the median absolute deviation", () => {
  it("equals that of normal values, and ignores a few outliers", () => {
    expect(robustDeviation([-2, -1, 0, 1, 2])).toBeCloseTo(1.4826, 12);
    expect(robustDeviation([-2, -1, 0, 1, 1e9])).toBeCloseTo(1.4826, 12);
    const { normal } = seeded(3);
    expect(robustDeviation(Array.from({ length: 10_000 }, () => 5 * normal()))).toBeCloseTo(5, 0);
  });
});

describe("the ranks of a median's interval", () => {
  it.each([
    // n, ranks, coverage = 1 - 2 * P(B < low rank), B binomial (n, 1/2)
    [6, 1, 6, 1 - 2 / 64],
    [7, 1, 7, 1 - 2 / 128],
    [8, 1, 8, 1 - 2 / 256],
    [9, 2, 8, 1 - (2 * (1 + 9)) / 512],
    [10, 2, 9, 1 - (2 * (1 + 10)) / 1024],
    [20, 6, 15, 1 - (2 * (1 + 20 + 190 + 1140 + 4845 + 15504)) / 2 ** 20],
  ])("of %i samples are %i and %i", (n, lowRank, highRank, coverage) => {
    expect(medianRanks(n)).toEqual({ lowRank, highRank, coverage: expect.closeTo(coverage, 14) });
  });

  it.each([0, 1, 2, 5])("do not exist for %i samples: even the extremes cover less than 95 percent", (n) => {
    expect(medianRanks(n)).toBeNull();
  });

  it.each([1_000, 10_001, 1_000_000])("of %i samples agree with the normal approximation", (n) => {
    const ranks = medianRanks(n)!;
    expect(Math.abs(ranks.lowRank - (n / 2 - 0.98 * Math.sqrt(n)))).toBeLessThan(2);
    expect(ranks.lowRank + ranks.highRank).toBe(n + 1);
    expect(ranks.coverage).toBeGreaterThanOrEqual(0.95);
    expect(ranks.coverage).toBeLessThan(0.955);
  });

  it("are the tightest: the next pair inwards covers less", () => {
    for (let n = 6; n <= 300; ++n) {
      const { lowRank, coverage } = medianRanks(n)!;
      expect(coverage).toBeGreaterThanOrEqual(0.95);
      // Removing the two outermost terms C(n, lowRank) / 2^n gives the coverage of the tighter pair.
      let probability = 2 ** -n;
      for (let k = 1; k <= lowRank; ++k) probability *= (n - k + 1) / k;
      expect(coverage - 2 * probability).toBeLessThan(0.95);
    }
  });
});

it("a median's interval is between order statistics of six samples or more, whatever their order", () => {
  const samples = frozen([9, 1, 8, 2, 7, 3, 6, 4, 5, 10]);
  const interval = { low: 2, high: 9, coverage: expect.closeTo(0.978516, 6) };
  expect([medianInterval(samples), medianInterval(Float64Array.from(samples))]).toEqual([interval, interval]);
  expect(medianInterval([1, 2, 3, 4, 5])).toBeNull();
  expect(medianInterval([1, 2, 3, 4, 5, 6])).toEqual({ low: 1, high: 6, coverage: 0.96875 });
  expect(distribution(frozen([5, 3, 1, 2, 4]))).toEqual({ median: 3, min: 1, max: 5, low: null, high: null });
  expect(distribution([6, 5, 3, 1, 2, 4])).toEqual({ median: 3.5, min: 1, max: 6, low: 1, high: 6 });
});

it("half an interval is relative to the median; beyond twice the requested width it varies too much", () => {
  expect(relativeHalfWidth({ low: 49, high: 51 }, 50)).toBeCloseTo(0.02, 14);
  expect(relativeHalfWidth(null, 50)).toBeNull();
  expect(relativeHalfWidth({ low: null, high: null }, 50)).toBeNull();
  expect(relativeHalfWidth({ low: -1, high: 1 }, 0)).toBeNull();
  expect([0.021, 0.02, null].map((half) => variesTooMuch(half, 0.01))).toEqual([true, false, false]);
});
