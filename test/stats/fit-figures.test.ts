import { describe, expect, it } from "vitest";
import { studentQuantile } from "../../src/stats/hypothesis-tests.js";
import { type CoursePoint, fitPieces } from "../../src/stats/piecewise-fit.js";
import { seeded } from "../helpers/seeded.js";

/** Short courses, whose figures follow from the textbook's formulas for means and lines. */

const points = (values: readonly number[], error: number | null = null): CoursePoint[] =>
  values.map((value) => ({ value, error }));
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]) => sum(values) / values.length;
const residualsOf = (values: readonly number[]) => values.map((value) => value - mean(values));

/** The variance of a mean's single value: the residuals', raised by their lag-1 correlation. */
function noiseOf(residuals: readonly number[]) {
  const squares = sum(residuals.map((one) => one ** 2));
  const products = sum(residuals.slice(1).map((one, i) => one * residuals[i]!));
  const correlation = Math.max(0, products / squares);
  const variance = ((squares / residuals.length) * (1 + correlation)) / (1 - correlation);
  return { deviation: Math.sqrt(squares / residuals.length), correlation, variance };
}

/** The noise of this seed, whose neighbours share a part. */
function noise(count: number, seed: number): number[] {
  const normals = seeded(seed).normals(count + 1);
  return normals.slice(1).map((z, i) => z + 0.4 * normals[i]!);
}

describe("a step from 9 points to 15", () => {
  const values = noise(24, 5).map((z, i) => z + (i < 9 ? 50 : 60));
  const [before, after] = [values.slice(0, 9), values.slice(9)];
  const residuals = [...residualsOf(before), ...residualsOf(after)];
  const fit = fitPieces(points(values))!;

  it("is the difference of two means, with the interval that two levels and a place leave", () => {
    const [step] = fit.steps;
    expect(step!.at).toBe(9);
    expect(step!.size).toBeCloseTo(mean(after) - mean(before), 10);
    const { variance } = noiseOf(residuals);
    const halfWidth = studentQuantile(0.025, 24 - 3) * Math.sqrt(variance / 9 + variance / 15);
    expect(step!.low).toBeCloseTo(step!.size - halfWidth, 10);
    expect(step!.high).toBeCloseTo(step!.size + halfWidth, 10);
    expect(fit.parameters).toBe(3);
  });

  it("has two levels, and what the points differ from them by", () => {
    expect(fit.pieces).toMatchObject([
      { first: 0, end: 9, slope: 0, slopeInterval: null },
      { first: 9, end: 24, slope: 0, slopeInterval: null },
    ]);
    expect(fit.pieces[0]!.start).toBeCloseTo(mean(before), 10);
    expect(fit.pieces[1]!.start).toBeCloseTo(mean(after), 10);
    for (const [i, one] of residuals.entries()) expect(fit.residuals[i]).toBeCloseTo(one, 10);
  });

  it("has the noise of its residuals", () => {
    const { deviation, correlation } = noiseOf(residuals);
    expect(correlation).toBeGreaterThan(0.1);
    expect(fit.correlation).toBeCloseTo(correlation, 10);
    expect(fit.deviation).toBeCloseTo(deviation, 10);
  });
});

describe("where a small step may have been", () => {
  it.each([2, 4, 5, 8])("is where the squares are more by less than six variances, seed %i", (seed) => {
    const values = noise(60, seed).map((z, i) => z + (i < 30 ? 0 : 4));
    const { steps } = fitPieces(points(values))!;
    expect(steps).toHaveLength(1);
    const { at, earliest, latest } = steps[0]!;
    const split = (k: number) => [...residualsOf(values.slice(0, k)), ...residualsOf(values.slice(k))];
    const squares = (k: number) => sum(split(k).map((one) => one ** 2));
    const isLikely = (k: number) => squares(k) - squares(at) <= 6 * noiseOf(split(at)).variance;
    let [first, last] = [at, at];
    while (isLikely(first - 1)) --first;
    while (isLikely(last + 1)) ++last;
    expect([earliest, latest]).toEqual([first, last]);
  });

  it("ends at the ends of the course", () => {
    const values = [0, 9, 2, 11, 4, 13, 60, 58, 61, 59].map((value) => value / 10);
    const { steps } = fitPieces(points(values))!;
    for (const { earliest, latest } of steps) {
      expect(earliest).toBeGreaterThan(0);
      expect(latest).toBeLessThan(10);
    }
  });
});

describe("a drift", () => {
  it("is the regression line, with the interval of its slope", () => {
    const values = noise(30, 3).map((z, i) => 5 + i / 2 + z);
    const { pieces, steps, parameters } = fitPieces(points(values))!;
    expect(steps).toEqual([]);
    expect(parameters).toBe(2);
    const spread = (30 * (30 ** 2 - 1)) / 12;
    const slope = sum(values.map((value, i) => (i - 14.5) * value)) / spread;
    const start = mean(values) - 14.5 * slope;
    const { variance } = noiseOf(values.map((value, i) => value - start - slope * i));
    const halfWidth = studentQuantile(0.025, 30 - 2) * Math.sqrt(variance / spread);
    expect(pieces).toHaveLength(1);
    expect(pieces[0]!.start).toBeCloseTo(start, 10);
    expect(pieces[0]!.slope).toBeCloseTo(slope, 10);
    expect(pieces[0]!.slopeInterval!.low).toBeCloseTo(slope - halfWidth, 10);
    expect(pieces[0]!.slopeInterval!.high).toBeCloseTo(slope + halfWidth, 10);
  });

  it("begins where a level ends: a level, a slope and a place, and no step", () => {
    const values = noise(45, 2).map((z, i) => z / 4 + Math.max(0, i - 19));
    const { pieces, steps, parameters } = fitPieces(points(values))!;
    expect(steps).toEqual([]);
    expect(pieces).toMatchObject([{ first: 0, slope: 0 }, { end: 45 }]);
    expect(pieces[1]!.slope).toBeCloseTo(1, 1);
    expect(Math.abs(pieces[1]!.first - 20)).toBeLessThanOrEqual(2);
    expect(parameters).toBe(3);
  });

  it("may go on at another level after a step, whose interval is that of both lines' ends", () => {
    const values = noise(40, 3).map((z, i) => z / 4 + i / 2 + (i < 20 ? 0 : 15));
    const { pieces, steps, parameters, residuals } = fitPieces(points(values))!;
    expect(steps).toMatchObject([{ at: 20 }]);
    expect(pieces).toHaveLength(2);
    expect(parameters).toBe(5);
    const { variance } = noiseOf(residuals);
    const spread = (20 * (20 ** 2 - 1)) / 12;
    const ofSize = variance * (2 / 20 + (10.5 ** 2 + 9.5 ** 2) / spread);
    const { size, low, high } = steps[0]!;
    const [first, second] = pieces;
    expect(size).toBeCloseTo(second!.start - (first!.start + 20 * first!.slope), 10);
    const halfWidth = studentQuantile(0.025, 40 - 5) * Math.sqrt(ofSize);
    expect(low).toBeCloseTo(size - halfWidth, 10);
    expect(high).toBeCloseTo(size + halfWidth, 10);
  });
});

it("a step between two drifts, whose levels are alike, has its place", () => {
  const values = noise(40, 3).map((z, i) => z / 4 + i / 2 - (i < 20 ? 0 : 10));
  expect(fitPieces(points(values))!.steps).toMatchObject([{ at: 20, earliest: 20, latest: 20 }]);
});

describe("points of unequal certainty", () => {
  it.each([
    ["what they differ by besides", 0.5],
    ["a quarter of all if their errors explain it", 1],
  ])("have a level that their variances weigh, to which is added %s", (_, certain) => {
    // Differences of 1 and -1, half each about their median 0, have a variance of (1.4826 * 12 / 11.2)², twice a value's.
    const values = [3, 4, 3, 4, 3, 4, 3, 4, 3, 4, 3, 4, 3];
    const total = (1.4826 * (12 / 11.2)) ** 2 / 2;
    const errors = values.map((_, i) => (i < 6 ? certain : i < 9 ? 2 : null));
    // An error that is not known is taken to be the median of the others.
    const common = Math.max(total - certain ** 2, total / 4);
    const weights = errors.map((error) => 1 / (common + (error ?? certain) ** 2));
    const level = sum(values.map((value, i) => value * weights[i]!)) / sum(weights);
    const { pieces } = fitPieces(values.map((value, i) => ({ value, error: errors[i]! })))!;
    expect(pieces).toHaveLength(1);
    expect(pieces[0]!.start).toBeCloseTo(level, 10);
  });
});
