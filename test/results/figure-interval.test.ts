import { expect, it } from "vitest";
import { figureInterval, orderOf, ratioInterval } from "../../src/results/figure-interval.js";
import { buildDistribution } from "../helpers/result-document.js";

const estimate = (median: number, low = median, high = median) => ({ median, low, high });

it.each([
  ["the run's own for one process", buildDistribution(10, 0.02), [9.8, 10.2]],
  [
    "that between processes for several",
    { ...buildDistribution(10, 0.02), processMedians: [9.9, 10, 10.1] },
    [9.8, 10.2],
  ],
  ["unknown with too few samples", buildDistribution(10, null), null],
  ["unknown for two processes", { ...buildDistribution(10, null), processMedians: [9.9, 10.1] }, null],
  ["unknown if it reaches 0", buildDistribution(0, 0.1), null],
])("a figure's interval is %s", (_, distribution, ends) => {
  const found = figureInterval(distribution);
  if (ends === null) expect(found).toBeNull();
  else for (const [i, end] of [found!.low, found!.high].entries()) expect(end).toBeCloseTo(ends[i]!, 1);
});

it("the interval of a ratio is that of one figure if the other is exact", () => {
  const { median, low, high } = ratioInterval(estimate(20, 18, 25), estimate(10));
  expect([median, low, high].map((value) => value.toFixed(3))).toEqual(["2.000", "1.800", "2.500"]);
});

it("the low end of a ratio comes from the first figure's low and the second figure's high end", () => {
  const { median, low, high } = ratioInterval(estimate(10, 5, 40), estimate(2, 1, 3));
  expect(median).toBe(5);
  expect(low).toBeCloseTo(5 / Math.exp(Math.hypot(Math.log(2), Math.log(1.5))), 9);
  expect(high).toBeCloseTo(5 * Math.exp(Math.hypot(Math.log(4), Math.log(2))), 9);
});

it("the interval of the inverse ratio is the inverse", () => {
  const [one, other] = [estimate(20, 18, 25), estimate(10, 9, 12)];
  const [there, back] = [ratioInterval(one, other), ratioInterval(other, one)];
  expect(there.low * back.high).toBeCloseTo(1, 12);
  expect(there.high * back.low).toBeCloseTo(1, 12);
});

it.each([
  ["above", 106, 0.01],
  ["below", 94, 0.01],
  ["equal", 104, 0.01],
  ["equal", 100, 0.05],
  ["open", 100, 0.1],
  ["open", 106, 0.08],
  ["open", 104.9, 0.06],
] as const)("a figure is %s against 100: %d with a relative half-width of %d", (order, median, half) => {
  const one = estimate(median, median * (1 - half), median * (1 + half));
  expect(orderOf(one, estimate(100))).toBe(order);
});
