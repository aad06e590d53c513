import { expect, it } from "vitest";
import { courseOf } from "../../src/compare/history/course-of-points.js";
import { farDistances } from "../../src/stats/far-runs.js";
import { fitPieces } from "../../src/stats/piecewise-fit.js";
import { buildEntry } from "../helpers/history.js";

it("a course's noise, and that before its newest check, are relative, as its changes are", () => {
  // So noisy that a logarithm is something else.
  const values = [0, 0.9, 0.3, 0.6, 0.1, 0.8, 0.4, 0.7, 0.2, 0.5];
  const entries = values.map((_, day) => buildEntry(day));
  const points = values.map((value, check) => ({ check, value, error: null }));
  const { noise, newest, points: shown } = courseOf(points, [], entries);
  expect(noise).toBeCloseTo(Math.expm1(fitPieces(points)!.deviation), 10);
  expect(newest).toMatchObject({
    check: 9,
    checksBefore: 9,
    startedAt: entries[9]!.startedAt,
    isBeyond: false,
  });
  expect(newest!.deviation).toBeCloseTo(Math.expm1(farDistances(values.slice(0, 9))!.deviation), 10);
  expect(newest!.change).toBeCloseTo(Math.expm1(0.5 - 0.4), 10);
  expect(shown[1]!.change).toBeCloseTo(Math.expm1(0.9 - 0.45), 10);
});
