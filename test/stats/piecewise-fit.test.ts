import { describe, expect, it } from "vitest";
import { fitPieces } from "../../src/stats/piecewise-fit.js";
import { buildCourse, type CoursePart } from "../helpers/history.js";
import { seeded } from "../helpers/seeded.js";

const points = (values: readonly number[], error: number | null = null) =>
  values.map((value) => ({ value, error }));
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
  });

  it("has a correlation of 0.9 at most, however alike neighbours are", () => {
    const drifting = Array.from({ length: 100 }, (_, i) => 1e-5 * i);
    expect(fitPieces(points(drifting, 1))).toMatchObject({ pieces: [{ end: 100 }], correlation: 0.9 });
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

  it("has places if it may as well have been, if it is small", () => {
    const wide = seeds.map((seed) => fitOf({ checks: 200, steps: { 100: -0.02 }, noise: 0.01, seed }).steps);
    const found = wide.flat();
    expect(found.length).toBeGreaterThan(15);
    expect(found.some(({ earliest, latest }) => latest - earliest >= 2)).toBe(true);
    const around = found.filter(({ earliest, latest }) => earliest <= 100 && 100 <= latest);
    expect(around.length).toBeGreaterThan(0.8 * found.length);
  });

  it("there are several of, and what passes again is two", () => {
    const { steps } = fitOf({ checks: 120, steps: { 30: -0.03, 60: 0.05, 90: -0.02 } });
    expect(steps.map(({ at }) => at)).toEqual([30, 60, 90]);
    const passing = fitOf({ checks: 120, steps: { 50: -0.05, 56: 0.0526 } });
    expect(passing.steps.map(({ at }) => at)).toEqual([50, 56]);
  });
});

describe("a course of very many points", () => {
  // A check a minute for a week. Their number decides how finely places are tried, not what is found.
  const checks = 10_080;

  it("has its steps and drifts if they are", () => {
    const part = { checks, steps: { 1234: -0.03, 9000: 0.02 }, drift: [4000, 6000, -0.00002] } as const;
    const { steps, pieces } = fitOf(part);
    expect(steps).toMatchObject([{ at: expect.any(Number) }, { at: expect.any(Number) }]);
    expect(Math.abs(steps[0]!.at - 1234)).toBeLessThanOrEqual(1);
    expect(Math.abs(steps[1]!.at - 9000)).toBeLessThanOrEqual(1);
    const [line] = pieces.filter(({ slope }) => slope !== 0);
    expect(line!.slope).toBeCloseTo(-0.00002, 6);
    expect(Math.abs(line!.first - 4000)).toBeLessThan(100);
    expect(Math.abs(line!.end - 6000)).toBeLessThan(100);
  });

  it("has a step by the third point after it", () => {
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

  it("does not hide a step within it", () => {
    for (const seed of seeds) {
      const { pieces, steps } = fitOf({
        checks: 200,
        drift: [0, 200, -0.0005],
        steps: { 100: -0.05 },
        seed,
      });
      expect(steps).toMatchObject([{ at: 100 }]);
      expect(Math.expm1(steps[0]!.size)).toBeCloseTo(-0.05, 2);
      expect(pieces.every(({ slope }) => slope < 0)).toBe(true);
    }
  });
});
