import { medianAbsoluteDeviation, sampleVariance, mean as simpleMean } from "simple-statistics";
import { describe, expect, it } from "vitest";
import { fitVariancePrior, moderate, robustVariance, winsorizedMoments } from "../../src/stats/variance.js";
import { seeded } from "../helpers/seeded.js";

const samples = [2.1, 3.4, 1.9, 2.8, 2.2, 2.6, 3.1, 2.0, 2.7, 2.4];

describe("robustVariance", () => {
  it("is the squared median absolute deviation of a sample, scaled and corrected for its size", () => {
    const expected = (1.4826 * medianAbsoluteDeviation(samples) * (10 / 9.2)) ** 2;
    expect(robustVariance([samples])?.variance).toBeCloseTo(expected, 12);
  });

  it("is that of the groups about their own medians", () => {
    const shifted = samples.map((value) => value + 1e6);
    const [one, two] = [robustVariance([samples, samples])!, robustVariance([samples, shifted])!];
    expect(two.variance).toBeCloseTo(one.variance, 6);
    const expected = (1.4826 * medianAbsoluteDeviation(samples) * (20 / (20 - 2 * 0.8))) ** 2;
    expect(one.variance).toBeCloseTo(expected, 12);
    expect(two.degreesOfFreedom).toBeCloseTo(0.37 * 18, 12);
  });

  it("does not follow 40 % of outliers, however far they lie", () => {
    const { normals } = seeded(5);
    const near = normals(600);
    const withOutliers = (distance: number) =>
      robustVariance([[...near, ...normals(400).map((z) => distance + z)]])!.variance;
    expect(withOutliers(1e9) / withOutliers(1e3)).toBeCloseTo(1, 1);
    expect(withOutliers(1e9)).toBeLessThan(9);
  });

  it("is the plain variance if more than half of the samples are equal, which says nothing of the others", () => {
    const ties = [5, 5, 5, 5, 5, 5, 7, 2];
    const squares = ties.reduce((sum, value) => sum + (value - 5) ** 2, 0);
    expect(robustVariance([ties])).toEqual({ variance: squares / 7, degreesOfFreedom: 7 });
    expect(robustVariance([[5, 5, 5]])).toEqual({ variance: 0, degreesOfFreedom: 2 });
  });

  it("leaves out groups of one sample, and is null without others", () => {
    expect(robustVariance([[5], samples, []])).toEqual(robustVariance([samples]));
    expect(robustVariance([[5], [7], []])).toBeNull();
    expect(robustVariance([])).toBeNull();
  });
});

describe("winsorizedMoments", () => {
  it("are the plain ones if no sample is far from the median", () => {
    const { mean, sumOfSquares } = winsorizedMoments(samples, sampleVariance(samples));
    expect(mean).toBeCloseTo(simpleMean(samples), 12);
    expect((sumOfSquares / 9) * 0.995).toBeCloseTo(sampleVariance(samples), 12);
  });

  it("count an outlier as if it were three deviations from the median", () => {
    const expected = winsorizedMoments([1, 2, 3, 4, 3 + 3 * 2], 4);
    expect(winsorizedMoments([1, 2, 3, 4, 1e9], 4)).toEqual(expected);
    expect(expected.mean).toBeCloseTo(19 / 5, 12);
    expect(winsorizedMoments([2, 3, 4, -1e9], 4).mean).toBeCloseTo((2.5 - 6 + 2 + 3 + 4) / 4, 12);
  });

  it.each([3, 5, 10, 50])("have an unbiased variance for %i normal samples", (count) => {
    const { normals } = seeded(6);
    const variances = Array.from({ length: 10_000 }, () => {
      return winsorizedMoments(normals(count), 1).sumOfSquares / (count - 1);
    });
    expect(Math.abs(simpleMean(variances) - 1)).toBeLessThan(0.03);
  });

  it("of a single sample are itself and no scatter", () => {
    expect(winsorizedMoments([7], 1)).toEqual({ mean: 7, sumOfSquares: 0 });
  });
});

/** Estimates of variances that are drawn from a scaled inverse chi-square distribution. */
function drawn(
  count: number,
  prior: { variance: number; degreesOfFreedom: number },
  dfOf: (i: number) => number,
) {
  const { chiSquare } = seeded(1);
  return Array.from({ length: count }, (_, i) => {
    const truth = (prior.degreesOfFreedom * prior.variance) / chiSquare(prior.degreesOfFreedom);
    const degreesOfFreedom = dfOf(i);
    return { variance: (truth * chiSquare(degreesOfFreedom)) / degreesOfFreedom, degreesOfFreedom };
  });
}

describe("fitVariancePrior", () => {
  it("equals limma's squeezeVar(c(0.5, 1.3, 7.8), df = 3)", () => {
    // As limma's port inmoose is tested against it: df.prior 2.830777, var.prior 1.676927.
    const prior = fitVariancePrior([0.5, 1.3, 7.8].map((variance) => ({ variance, degreesOfFreedom: 3 })));
    expect(prior?.degreesOfFreedom).toBeCloseTo(2.830777, 6);
    expect(prior?.variance).toBeCloseTo(1.676927, 6);
  });

  it.each([
    [{ variance: 1e-6, degreesOfFreedom: 10 }, "equal", () => 9],
    [{ variance: 25, degreesOfFreedom: 30 }, "equal", () => 9],
    [{ variance: 3, degreesOfFreedom: 6 }, "unequal", (i: number) => 3 + (i % 10)],
  ] as const)("recovers the distribution %j from draws of %s certainty", (truth, _, degreesOf) => {
    const prior = fitVariancePrior(drawn(20_000, truth, degreesOf))!;
    expect(Math.abs(prior.variance / truth.variance - 1)).toBeLessThan(0.03);
    expect(Math.abs(prior.degreesOfFreedom / truth.degreesOfFreedom - 1)).toBeLessThan(0.1);
  });

  it("is as good as certain if the estimates scatter no more than those of one variance", () => {
    const equal = fitVariancePrior(Array.from({ length: 20 }, () => ({ variance: 2, degreesOfFreedom: 9 })))!;
    expect(equal.degreesOfFreedom).toBe(1e4);
    // Estimates with 9 degrees of freedom lie below their variance on the scale of logarithms.
    expect(equal.variance).toBeGreaterThan(2);
    expect(equal.variance).toBeLessThan(2.3);
  });

  it("leaves out what is not usable, and is null if fewer than two are", () => {
    const [one, other] = [
      { variance: 0.5, degreesOfFreedom: 3 },
      { variance: 9, degreesOfFreedom: 4 },
    ];
    const unusable = [
      { variance: 0, degreesOfFreedom: 3 },
      { variance: 2, degreesOfFreedom: 0 },
    ];
    expect(fitVariancePrior([...unusable, one!, other!])).toEqual(fitVariancePrior([one!, other!]));
    for (const few of [[], [one!], [one!, ...unusable]]) expect(fitVariancePrior(few)).toBeNull();
  });
});

describe("moderate", () => {
  it.each([
    [1, { variance: 13 / 4, degreesOfFreedom: 4 }],
    [0, { variance: 4, degreesOfFreedom: 3 }],
  ])(
    "weighs the estimate and its prior by their degrees of freedom, here %i, and adds these",
    (weight, both) => {
      const own = { variance: 4, degreesOfFreedom: 3 };
      expect(moderate(own, { variance: 1, degreesOfFreedom: weight })).toEqual(both);
    },
  );

  it("makes estimates better: closer to the true variances that were drawn", () => {
    const estimates = drawn(2_000, { variance: 1, degreesOfFreedom: 40 }, () => 4);
    const prior = fitVariancePrior(estimates)!;
    const error = (values: number[]) => values.reduce((sum, value) => sum + Math.log(value) ** 2, 0);
    const raw = error(estimates.map(({ variance }) => variance));
    expect(error(estimates.map((e) => moderate(e, prior).variance))).toBeLessThan(raw / 4);
  });
});
