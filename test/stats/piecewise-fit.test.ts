import { describe, expect, it } from "vitest";
import { studentQuantile } from "../../src/stats/hypothesis-tests.js";
import { fitPieces } from "../../src/stats/piecewise-fit.js";
import { frozen } from "../helpers/frozen.js";
import { buildCourse, type CoursePart } from "../helpers/history.js";
import { seeded } from "../helpers/seeded.js";

const points = (values: readonly number[], error: number | null = null) =>
  frozen(values.map((value) => ({ value, error })));
const fitOf = (part: CoursePart) => fitPieces(points(buildCourse(part).map(Math.log)))!;
const seeds = Array.from({ length: 20 }, (_, seed) => seed + 1);

describe("a course without a change", () => {
  it("is one level", () => {
    for (const seed of seeds) {
      const { pieces, steps, deviation } = fitOf({ checks: 100, noise: 0.01, seed });
      expect(steps).toEqual([]);
      expect(pieces).toMatchObject([{ first: 0, end: 100, slope: 0, slopeInterval: null }]);
      expect(deviation).toBeGreaterThan(0.007);
      expect(deviation).toBeLessThan(0.014);
    }
  });

  it("is one level also if neighbours are alike, and says how much", () => {
    for (const seed of seeds) {
      const { normals } = seeded(seed);
      let shared = 0;
      const values = normals(300).map((z) => {
        shared = 0.8 * shared + z;
        return 0.01 * shared;
      });
      const { pieces, correlation } = fitPieces(points(values))!;
      expect(pieces).toHaveLength(1);
      expect(correlation).toBeGreaterThan(0.6);
      expect(correlation).toBeLessThan(0.9);
    }
    const alike = Array.from({ length: 100 }, (_, i) => 1e-5 * i);
    expect(fitPieces(points(alike, 1))).toMatchObject({ pieces: [{ end: 100 }], correlation: 0.9 });
  });

  it("may have one point, two, or equal ones, and be empty", () => {
    expect(fitPieces([])).toBeNull();
    expect(fitPieces(points([3]))!.pieces).toMatchObject([{ first: 0, end: 1, start: 3 }]);
    expect(fitPieces(points([3, 4]))!.pieces).toMatchObject([{ first: 0, end: 2, start: 3.5 }]);
    const { pieces, steps, residuals } = fitPieces(points(Array(50).fill(2)))!;
    expect({ pieces: pieces.length, steps }).toEqual({ pieces: 1, steps: [] });
    expect(Math.max(...residuals.map(Math.abs))).toBeCloseTo(0, 12);
  });
});

describe("a step", () => {
  it.each([
    ["of a quiet figure", { checks: 60, steps: { 40: -0.03 }, noise: 0.002 }],
    ["of a noisier one", { checks: 100, steps: { 40: -0.08 }, noise: 0.01 }],
    ["upwards", { checks: 60, steps: { 20: 0.04 }, noise: 0.002 }],
  ])("is found %s, with its place and its size", (_, part) => {
    const [at, change] = Object.entries(part.steps).flat().map(Number) as [number, number];
    let covered = 0;
    for (const seed of seeds) {
      const { steps, pieces } = fitOf({ ...part, seed });
      expect(steps).toHaveLength(1);
      expect(pieces).toHaveLength(2);
      const [step] = steps;
      expect(Math.abs(step!.at - at)).toBeLessThanOrEqual(2);
      expect(step!.earliest).toBeLessThanOrEqual(step!.at);
      expect(step!.latest).toBeGreaterThanOrEqual(step!.at);
      if (step!.low <= Math.log1p(change) && Math.log1p(change) <= step!.high) ++covered;
    }
    expect(covered).toBeGreaterThanOrEqual(17);
  });

  it("is found by the third point after it, and not before there are three", () => {
    const values = buildCourse({ checks: 43, steps: { 40: -0.1 }, noise: 0.002 }).map(Math.log);
    expect(fitPieces(points(values))!.steps).toMatchObject([{ at: 40 }]);
    expect(fitPieces(points(values.slice(0, 42)))!.steps).toEqual([]);
  });

  it("is found several times, and as two if it passes again", () => {
    const { steps } = fitOf({ checks: 120, steps: { 30: -0.03, 60: 0.05, 90: -0.02 } });
    expect(steps.map(({ at }) => at)).toEqual([30, 60, 90]);
    const passing = fitOf({ checks: 120, steps: { 50: -0.05, 56: 0.0526 } });
    expect(passing.steps.map(({ at }) => at)).toEqual([50, 56]);
  });
});

describe("a course of very many points", () => {
  // A check a minute for a week. Their number decides how finely places are tried, not what is found.
  const checks = 10_080;

  it("has its steps and drifts where they are, the last by the third point after it", () => {
    const part = { checks, steps: { 1234: -0.03, 9000: 0.02 }, drift: [4000, 6000, -0.00002] } as const;
    const { steps, pieces } = fitOf(part);
    expect(steps).toMatchObject([{ at: expect.any(Number) }, { at: expect.any(Number) }]);
    expect(Math.abs(steps[0]!.at - 1234)).toBeLessThanOrEqual(1);
    expect(Math.abs(steps[1]!.at - 9000)).toBeLessThanOrEqual(1);
    const [line] = pieces.filter(({ slope }) => slope !== 0);
    expect(line!.slope).toBeCloseTo(-0.00002, 6);
    expect(Math.abs(line!.first - 4000)).toBeLessThan(100);
    expect(Math.abs(line!.end - 6000)).toBeLessThan(100);
    const values = buildCourse({ checks, steps: { [checks - 3]: -0.05 } }).map(Math.log);
    expect(fitPieces(points(values))!.steps).toMatchObject([{ at: checks - 3 }]);
  });
});

describe("single outliers", () => {
  it("are no steps, and move none", () => {
    for (const seed of seeds) {
      const values = buildCourse({ checks: 100, steps: { 60: -0.03 }, noise: 0.002, seed }).map(Math.log);
      for (const [i, by] of [
        [10, -0.3],
        [11, -0.2],
        [45, -0.1],
        [80, 0.2],
      ] as const)
        values[i]! += by;
      const { steps, residuals } = fitPieces(points(values))!;
      expect(steps.map(({ at }) => at)).toEqual([60]);
      expect(steps[0]!.size).toBeCloseTo(Math.log1p(-0.03), 2);
      // They remain what they are.
      expect(residuals[10]).toBeLessThan(-0.28);
    }
  });
});

describe("a point's own error", () => {
  it("takes weight from what is uncertain", () => {
    // Ten points that lie off, and say that they may.
    const values = Array.from({ length: 40 }, (_, i) => 0.001 * Math.sin(7 * i) + (i >= 30 ? 0.02 : 0));
    const certain = values.map((value) => ({ value, error: 0.0005 }));
    const uncertain = values.map((value, i) => ({ value, error: i >= 30 ? 0.05 : 0.0005 }));
    expect(fitPieces(certain)!.steps).toMatchObject([{ at: 30 }]);
    expect(fitPieces(uncertain)!.steps).toEqual([]);
  });

  it("that happens to be tiny gives no point more weight than five others", () => {
    const { normals } = seeded(2);
    const noise = normals(30).map((z) => 0.01 * z);
    const lucky = noise.map((value, i) => ({ value, error: i === 7 ? 1e-9 : 0.01 }));
    const { pieces } = fitPieces(lucky)!;
    const mean = noise.reduce((sum, value) => sum + value, 0) / noise.length;
    expect(Math.abs(pieces[0]!.start - mean)).toBeLessThan(Math.abs(noise[7]! - mean) / 5);
  });

  it("need not be known, of any or of some", () => {
    const values = buildCourse({ steps: { 30: -0.05 } }).map(Math.log);
    const some = values.map((value, i) => ({ value, error: i % 3 === 0 ? null : 0.002 }));
    expect(fitPieces(some)!.steps).toMatchObject([{ at: 30 }]);
  });
});

describe("a drift", () => {
  it.each([0.002, 0.01])("is a line and no step, with noise of %f", (noise) => {
    for (const seed of seeds) {
      const { pieces, steps } = fitOf({ checks: 300, drift: [100, 200, -0.0005], noise, seed });
      expect(steps).toEqual([]);
      const lines = pieces.filter(({ slope }) => slope !== 0);
      expect(lines).toHaveLength(1);
      const { slope, slopeInterval } = lines[0]!;
      expect(slope).toBeGreaterThan(-0.0009);
      expect(slope).toBeLessThan(-0.0003);
      expect(slopeInterval!.low).toBeLessThan(slope);
      expect(slopeInterval!.high).toBeGreaterThan(slope);
    }
  });
});

// Short courses, whose figures follow from the textbook's formulas for means and lines.

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

  it("is the difference of two means, with the interval and the noise that two levels and a place leave", () => {
    const [step] = fit.steps;
    expect(step!.at).toBe(9);
    expect(step!.size).toBeCloseTo(mean(after) - mean(before), 10);
    const { variance } = noiseOf(residuals);
    const halfWidth = studentQuantile(0.025, 24 - 3) * Math.sqrt(variance / 9 + variance / 15);
    expect(step!.low).toBeCloseTo(step!.size - halfWidth, 10);
    expect(step!.high).toBeCloseTo(step!.size + halfWidth, 10);
    expect(fit.parameters).toBe(3);
    expect(fit.pieces).toMatchObject([
      { first: 0, end: 9, slope: 0, slopeInterval: null },
      { first: 9, end: 24, slope: 0, slopeInterval: null },
    ]);
    expect(fit.pieces[0]!.start).toBeCloseTo(mean(before), 10);
    expect(fit.pieces[1]!.start).toBeCloseTo(mean(after), 10);
    for (const [i, one] of residuals.entries()) expect(fit.residuals[i]).toBeCloseTo(one, 10);
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

  it("lies within the course", () => {
    const values = [0, 9, 2, 11, 4, 13, 60, 58, 61, 59].map((value) => value / 10);
    const { steps } = fitPieces(points(values))!;
    for (const { earliest, latest } of steps) {
      expect(earliest).toBeGreaterThan(0);
      expect(latest).toBeLessThan(10);
    }
  });
});

describe("a drift's figures", () => {
  it("are the regression line, with the interval of its slope", () => {
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
