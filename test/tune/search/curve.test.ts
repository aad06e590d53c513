import { describe, expect, it } from "vitest";
import { constants } from "../../../src/tune/search/constants.js";
import { type Point, upperBound, workerCounts } from "../../../src/tune/search/curve.js";

const point = (workers: number, batchesPerSecond: number, waitingShare: number | null = null): Point => ({
  workers,
  batchesPerSecond,
  waitingShare,
});

describe("the upper bound on the rate of a number of workers", () => {
  it.each([
    ["is open without any point", [], 4, null, Number.POSITIVE_INFINITY],
    ["is the rate of a measured number", [point(4, 30)], 4, null, 30],
    ["is on the line from no workers", [point(4, 40)], 6, null, 60],
    ["is on the line through the two nearest points", [point(2, 20), point(4, 30)], 6, null, 40],
    ["is on the line back from two points that fall", [point(8, 50), point(16, 40)], 6, null, 52.5],
    ["is a fifth more than the workers can make", [], 2, 100e6, 24],
    ["is the rate of a larger number of busy workers", [point(8, 60)], 7, 100e6, 60],
    ["is not the rate of a larger number of idle workers", [point(8, 20)], 7, 100e6, 84],
    ["is the rate that fewer workers would reach without waiting", [point(4, 30, 0.25)], 8, null, 40],
  ])("%s", (_, curve, workers, makeNs, bound) => {
    expect(upperBound(curve, workers, makeNs)).toBeCloseTo(bound, 9);
  });
});

it("the numbers of workers to try grow by a fifth, up to the largest allowed", () => {
  expect(workerCounts(0)).toEqual([]);
  expect(workerCounts(3)).toEqual([1, 2, 3]);
  expect(workerCounts(16)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16]);
});

it("the search is tuned by at most 20 numeric constants", () => {
  const numbers = Object.values(constants).flatMap((one) =>
    typeof one === "number" ? one : Object.values(one),
  );
  expect(numbers.length).toBeLessThanOrEqual(20);
});
