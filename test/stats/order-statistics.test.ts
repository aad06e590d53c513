import { describe, expect, it } from "vitest";
import type { Distribution } from "../../src/results/cell-schema.js";
import {
  distribution,
  median,
  medianInterval,
  medianRanks,
  quantile,
  relativeHalfWidth,
  variesTooMuch,
} from "../../src/stats/order-statistics.js";
import { seeded } from "../helpers/seeded.js";

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

  it("of many values is that of the sorted ones, whatever their order and their ties", () => {
    const { uniform } = seeded(3);
    const orders: ((i: number, count: number) => number)[] = [
      () => uniform(),
      (i) => i,
      (i) => -i,
      (i) => Math.floor(3 * uniform()) + 0 * i,
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
    expect(() => quantile([...Array(50).keys()], -1)).toThrow(RangeError);
  });

  it.each([-0.1, 1.1, Number.NaN])("rejects the probability %d", (probability) => {
    expect(() => quantile([1], probability)).toThrow(RangeError);
  });
});

describe("medianRanks", () => {
  it.each([
    // n, ranks, coverage = 1 - 2 * P(B < low rank), B binomial (n, 1/2)
    { n: 6, low: 1, high: 6, coverage: 1 - 2 / 64 },
    { n: 7, low: 1, high: 7, coverage: 1 - 2 / 128 },
    { n: 8, low: 1, high: 8, coverage: 1 - 2 / 256 },
    { n: 9, low: 2, high: 8, coverage: 1 - (2 * (1 + 9)) / 512 },
    { n: 10, low: 2, high: 9, coverage: 1 - (2 * (1 + 10)) / 1024 },
    { n: 20, low: 6, high: 15, coverage: 1 - (2 * (1 + 20 + 190 + 1140 + 4845 + 15504)) / 2 ** 20 },
  ])("of $n samples are $low and $high", ({ n, low, high, coverage }) => {
    const ranks = medianRanks(n);
    expect(ranks).toMatchObject({ lowRank: low, highRank: high });
    expect(ranks?.coverage).toBeCloseTo(coverage, 14);
  });

  it.each([0, 1, 2, 5])("do not exist for %i samples: even the extremes cover less than 95 percent", (n) => {
    expect(medianRanks(n)).toBeNull();
  });

  it("follow the confidence asked for", () => {
    expect(medianRanks(5, 0.9)).toEqual({ lowRank: 1, highRank: 5, coverage: 0.9375 });
    expect(medianRanks(10, 0.99)).toMatchObject({ lowRank: 1, highRank: 10 });
    expect(medianRanks(2, 0.5)).toEqual({ lowRank: 1, highRank: 2, coverage: 0.5 });
  });

  it.each([1_000, 10_001, 1_000_000])("of %i samples agree with the normal approximation", (n) => {
    const ranks = medianRanks(n)!;
    const approximateLowRank = n / 2 - 0.98 * Math.sqrt(n);
    expect(Math.abs(ranks.lowRank - approximateLowRank)).toBeLessThan(2);
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

  it.each([0, 1, -1, Number.NaN])("reject a confidence of %d", (confidence) => {
    expect(() => medianRanks(10, confidence)).toThrow(RangeError);
  });
});

describe("medianInterval", () => {
  it("is between order statistics, whatever the order of the samples", () => {
    const samples = [9, 1, 8, 2, 7, 3, 6, 4, 5, 10];
    const before = [...samples];
    expect(medianInterval(samples)).toEqual({ low: 2, high: 9, coverage: expect.closeTo(0.978516, 6) });
    expect(samples).toEqual(before);
    expect(medianInterval(Float64Array.from(samples))).toMatchObject({ low: 2, high: 9 });
  });

  it("is null below 6 samples", () => {
    expect(medianInterval([])).toBeNull();
    expect(medianInterval([1, 2, 3, 4, 5])).toBeNull();
    expect(medianInterval([1, 2, 3, 4, 5, 6])).toEqual({ low: 1, high: 6, coverage: 0.96875 });
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

  it("is too wide if it is more than twice what was asked for", () => {
    expect([0.021, 0.02, null].map((half) => variesTooMuch(half, 0.01))).toEqual([true, false, false]);
  });
});

describe("distribution", () => {
  it("has the interval from 6 samples on", () => {
    expect(distribution([5, 3, 1, 2, 4])).toEqual({ median: 3, min: 1, max: 5, low: null, high: null });
    expect(distribution([6, 5, 3, 1, 2, 4])).toEqual({ median: 3.5, min: 1, max: 6, low: 1, high: 6 });
  });

  it("has the result document's shape", () => {
    const documented: Distribution = distribution([1]);
    const computed: ReturnType<typeof distribution> = documented;
    expect(Object.keys(computed).sort()).toEqual(["high", "low", "max", "median", "min"]);
  });

  it("rejects no samples", () => {
    expect(() => distribution([])).toThrow(RangeError);
  });
});
