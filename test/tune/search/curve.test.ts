import { describe, expect, it } from "vitest";
import { constants } from "../../../src/tune/search/constants.js";
import { type Point, upperBound, workerCounts } from "../../../src/tune/search/curve.js";

const point = (workers: number, batchesPerSecond: number, waitingShare: number | null = null): Point => ({
  workers,
  batchesPerSecond,
  waitingShare,
});

describe("the bound on a number of workers", () => {
  it.each([
    ["is open without any point", [], 4, null, Number.POSITIVE_INFINITY],
    ["is the rate of a measured number", [point(4, 30)], 4, null, 30],
    ["is on the line from no workers", [point(4, 40)], 6, null, 60],
    ["is on the line through the two nearest points", [point(2, 20), point(4, 30)], 6, null, 40],
    ["is on the line back from two points that fall", [point(8, 50), point(16, 40)], 6, null, 52.5],
    ["is what the workers can make, and a fifth", [], 2, 100e6, 24],
    ["is the rate of more workers that are busy", [point(8, 60)], 7, 100e6, 60],
    ["is open below more workers that are idle", [point(8, 20)], 7, 100e6, 84],
    ["is the rate without the wait of fewer", [point(4, 30, 0.25)], 8, null, 40],
  ])("%s", (_, curve, workers, makeNs, bound) => {
    expect(upperBound(curve, workers, makeNs)).toBeCloseTo(bound, 9);
  });
});

it("numbers of workers end at the most, and grow by a fifth", () => {
  expect(workerCounts(0)).toEqual([]);
  expect(workerCounts(3)).toEqual([1, 2, 3]);
  expect(workerCounts(16)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16]);
});

it("a search has at most 20 numeric constants", () => {
  const numbers = Object.values(constants).flatMap((one) =>
    typeof one === "number" ? one : Object.values(one),
  );
  expect(numbers.length).toBeLessThanOrEqual(20);
});
