import {
  bisect,
  errorFunction,
  medianAbsoluteDeviation,
  sampleVariance,
  mean as simpleMean,
} from "simple-statistics";
import { describe, expect, it } from "vitest";
import { robustVariance, winsorizedMoments } from "../../src/stats/winsorized.js";
import { seeded } from "./seeded.js";

const density = (z: number) => Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
const samples = [2.1, 3.4, 1.9, 2.8, 2.2, 2.6, 3.1, 2.0, 2.7, 2.4];

describe("the constants", () => {
  it("1.4826 is a normal deviation over its median absolute deviation", () => {
    // P(|z| < x) = 1/2 with the library's error function.
    const medianDeviation = bisect((x) => errorFunction(x / Math.SQRT2) - 0.5, 0.5, 1, 100, 1e-9);
    const [scaled, raw] = [robustVariance([samples])!.variance, medianAbsoluteDeviation(samples)];
    expect((Math.sqrt(scaled) / raw) * (9.2 / 10) * medianDeviation).toBeCloseTo(1, 4);
  });

  it("0.995 is what winsorizing at three deviations leaves of a normal variance", () => {
    const step = 1e-4;
    let expected = 0;
    for (let z = -9 + step / 2; z < 9; z += step) expected += Math.min(z * z, 9) * density(z) * step;
    // Two samples at one deviation: nothing is moved, their squares add up to 2.
    const kept = 2 / winsorizedMoments([-1, 1], 1).sumOfSquares;
    expect(kept).toBeCloseTo(expected, 4);
  });

  it("0.37 is the efficiency of the median absolute deviation", () => {
    const { normals } = seeded(3);
    const rows = Array.from({ length: 2_000 }, () => normals(100));
    const ofVariances = sampleVariance(rows.map((row) => Math.sqrt(sampleVariance(row))));
    const ofRobust = sampleVariance(rows.map((row) => Math.sqrt(robustVariance([row])!.variance)));
    const efficiency = robustVariance([samples])!.degreesOfFreedom / 9;
    expect(efficiency).toBeCloseTo(0.37, 12);
    expect(ofVariances / ofRobust / efficiency).toBeGreaterThan(0.9);
    expect(ofVariances / ofRobust / efficiency).toBeLessThan(1.1);
  });
});

describe("robustVariance", () => {
  it("is the squared median absolute deviation of a sample, scaled and corrected for its size", () => {
    const expected = (1.4826 * medianAbsoluteDeviation(samples) * (10 / 9.2)) ** 2;
    expect(robustVariance([samples])?.variance).toBeCloseTo(expected, 12);
  });

  it("is that of the groups about their own medians", () => {
    const shifted = samples.map((value) => value + 1e6);
    const [one, two] = [robustVariance([samples, samples])!, robustVariance([samples, shifted])!];
    expect(two.variance).toBeCloseTo(one.variance, 6);
    expect(two.degreesOfFreedom).toBeCloseTo(0.37 * 18, 12);
  });

  it("comes near the variance of many normal samples", () => {
    const scaled = seeded(4)
      .normals(100_000)
      .map((z) => 5 + 3 * z);
    expect(Math.abs(robustVariance([scaled])!.variance / 9 - 1)).toBeLessThan(0.02);
  });

  it("does not follow 40 % of outliers, however far they lie", () => {
    const { normals } = seeded(5);
    const near = normals(600);
    const withOutliers = (distance: number) =>
      robustVariance([[...near, ...normals(400).map((z) => distance + z)]])!.variance;
    expect(withOutliers(1e9) / withOutliers(1e3)).toBeCloseTo(1, 1);
    expect(withOutliers(1e9)).toBeLessThan(9);
  });

  it("is the plain variance where more than half of the samples are equal, which says nothing of the others", () => {
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
  it("are the plain ones where no sample is far from the median", () => {
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

  it("do not move with 40 % of outliers that move farther out", () => {
    const with40Percent = (distance: number) =>
      winsorizedMoments([...samples.slice(0, 6), ...Array(4).fill(distance)], 1);
    expect(with40Percent(1e12)).toEqual(with40Percent(1e3));
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
