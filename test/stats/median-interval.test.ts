import { describe, expect, it } from "vitest";
import { medianInterval, medianRanks } from "../../src/stats/median-interval.js";

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
