import { describe, expect, it } from "vitest";
import { interpolated, type RateCurve, upperBound } from "../../src/tune/search/rate-bounds.js";
import { scoreAt } from "../helpers/tune.js";

/** Points as [workers, batches a second, share of the time that was waited]. */
const curveOf = (...points: [number, number, number?][]): RateCurve =>
  points.map(([workers, rate, waitingShare = 0.5]) => ({ workers, score: scoreAt(rate), waitingShare }));

describe("the most that a count of workers can bring", () => {
  it("is their rate, if measured", () => {
    expect(upperBound(curveOf([4, 100], [8, 150]), 4, null)).toBe(100);
  });

  it("has no bound without points and without a time for making a batch", () => {
    expect(upperBound([], 4, null)).toBe(Number.POSITIVE_INFINITY);
  });

  it("is little more than what they make without any loss", () => {
    expect(upperBound([], 4, 10e6)).toBeCloseTo(1.15 * 400);
    expect(upperBound([], 8, 10e6)).toBeCloseTo(1.15 * 800);
  });

  it("lies below the line from nothing through a point with fewer workers", () => {
    expect(upperBound(curveOf([4, 100]), 8, null)).toBeCloseTo(200);
    expect(upperBound(curveOf([4, 100, 0.8]), 16, null)).toBeCloseTo(400);
  });

  it("lies below the line through any two points with fewer workers", () => {
    expect(upperBound(curveOf([4, 100], [8, 120]), 16, null)).toBeCloseTo(160);
    expect(upperBound(curveOf([2, 80], [4, 100], [8, 120]), 12, null)).toBeCloseTo(140);
  });

  it("lies below the line through two points with more workers", () => {
    expect(upperBound(curveOf([8, 100], [16, 80]), 4, null)).toBeCloseTo(110);
  });

  it("has one point with more workers for no bound, when those are idle for a part", () => {
    expect(upperBound(curveOf([16, 100]), 4, null)).toBe(Number.POSITIVE_INFINITY);
    expect(upperBound(curveOf([16, 100]), 4, 40e6)).toBeCloseTo(115);
  });

  it("is no more than what more workers bring that are all busy", () => {
    // 16 workers can make 160 a second, and bring 150: 15 bring less.
    expect(upperBound(curveOf([16, 150]), 15, 100e6)).toBeCloseTo(150);
    expect(upperBound(curveOf([16, 100]), 15, 100e6)).toBeCloseTo(1.15 * 150);
  });

  it("is no more than the loop would take with fewer workers if it did not wait for them", () => {
    expect(upperBound(curveOf([4, 100, 0]), 8, null)).toBe(100);
    expect(upperBound(curveOf([4, 100, 0.2]), 8, null)).toBeCloseTo(125);
    const unknown = [{ workers: 4, score: scoreAt(100), waitingShare: null }];
    expect(upperBound(unknown, 8, null)).toBeCloseTo(200);
  });

  it("is nothing that a measured point exceeds: neither a time for a batch, nor a line, nor the loop's waiting", () => {
    // A cold trial said 400 ms a batch; 16 workers bring 160, which at 400 ms would be 40.
    expect(upperBound(curveOf([16, 160, 0.9]), 64, 400e6)).toBeCloseTo(640);
    expect(upperBound(curveOf([16, 44, 0.9]), 64, 400e6)).toBeCloseTo(176);
    // Nor does it show that more workers are busy: 4 bring 100, so 16 at 113 are not, whatever 100 ms a batch say.
    expect(upperBound(curveOf([4, 100, 0.9], [16, 113, 0.9]), 8, 100e6)).toBeCloseTo(200);
    // 8 workers were disturbed: the line through 4 and 8 would have 16 bring no more than 46.
    expect(upperBound(curveOf([4, 40, 0.9], [8, 42, 0.9], [32, 160, 0.9]), 16, null)).toBeGreaterThan(80);
    expect(upperBound(curveOf([4, 40, 0.1], [16, 160, 0.9]), 8, null)).toBeGreaterThan(75);
  });

  it("does not depend on the points' order, nor on their intervals", () => {
    const points = curveOf([2, 80], [8, 120], [16, 110]);
    const wide = points.map((point) => ({
      ...point,
      score: scoreAt(point.score.batchesPerSecond, 0.5),
    }));
    for (const workers of [1, 4, 12]) {
      const bound = upperBound(points, workers, null);
      expect(upperBound([...points].reverse(), workers, null)).toBe(bound);
      expect(upperBound(wide, workers, null)).toBe(bound);
    }
  });
});

describe("between points", () => {
  it("is a straight line, from nothing on the left", () => {
    const curve = curveOf([8, 100], [4, 80]);
    expect(interpolated(curve, 2)).toBeCloseTo(40);
    expect(interpolated(curve, 4)).toBeCloseTo(80);
    expect(interpolated(curve, 6)).toBeCloseTo(90);
  });

  it("is nothing beyond the last point", () => {
    expect(interpolated(curveOf([8, 100]), 9)).toBeNull();
    expect(interpolated([], 1)).toBeNull();
  });
});

it("more workers that are all busy are no bound for fewer that were faster", () => {
  const point = (workers: number, rate: number) => ({ workers, score: scoreAt(rate), waitingShare: 0.5 });
  // 113 of 16 workers are more than 0.7 of 160; 14 of them brought 130: 15 bring 139 at most, on the line through that.
  expect(upperBound([point(14, 130), point(16, 113)], 15, 100e6)).toBeCloseTo(130 * (15 / 14), 6);
  expect(upperBound([point(14, 112), point(16, 113)], 15, 100e6)).toBeCloseTo(113, 6);
});
