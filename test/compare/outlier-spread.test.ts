import { mean, sampleVariance } from "simple-statistics";
import { describe, expect, it } from "vitest";
import { outlierSpread } from "../../src/compare/noise.js";
import { seeded } from "../helpers/seeded.js";

const { normals } = seeded(4);
const group = (count: number, deviation: number, centre = 0) =>
  normals(count).map((z) => centre + deviation * z);
/** Cells of eleven runs before and eleven now, at another speed. */
const cells = [0.01, 0.02, 0.01, 0.04].map((deviation) => [group(11, deviation), group(11, deviation, 3)]);
const variances = cells.map((groups) => mean(groups.map((values) => sampleVariance(values))));
const recorded = { variance: 1e-6, degreesOfFreedom: 5 };

describe("the spread that a side of one or two runs may have", () => {
  it("is the mean of the variances of its kind's cells, outliers and all", () => {
    expect(outlierSpread(cells, null)!.variance).toBeCloseTo(mean(variances), 12);
    const [first, ...others] = cells;
    const withOutlier = [[[...first![0]!.slice(1), 1], first![1]!], ...others];
    expect(outlierSpread(withOutlier, null)!.variance).toBeGreaterThan(10 * mean(variances));
  });

  it("has fewer degrees of freedom the more the cells' variances scatter", () => {
    const scatter = mean(variances.map((variance) => (variance - mean(variances)) ** 2));
    const expected = 4 + (2 * mean(variances) ** 2) / scatter;
    expect(outlierSpread(cells, null)!.degreesOfFreedom).toBeCloseTo(expected, 9);
    const equal = [cells[0]!, cells[0]!, cells[0]!];
    // Three times twenty: what they were estimated with.
    expect(outlierSpread(equal, null)!.degreesOfFreedom).toBe(60);
  });

  it("is the recorded one where that is larger", () => {
    expect(outlierSpread(cells, recorded)!.variance).toBeCloseTo(mean(variances), 12);
    const large = { variance: 1, degreesOfFreedom: 5 };
    expect(outlierSpread(cells, large)).toBe(large);
  });

  it.each([
    ["one cell has all of the runs", [cells[0]!]],
    ["there are fewer than twenty degrees of freedom", cells.map(([first]) => [first!.slice(0, 5)])],
    ["no cell has two runs in a row", cells.map(([first]) => [first!.slice(0, 1), [], first!.slice(0, 1)])],
    ["there are no cells", []],
  ])("is the recorded one, or not known, where %s", (_, few) => {
    expect(outlierSpread(few, recorded)).toBe(recorded);
    expect(outlierSpread(few, null)).toBeNull();
  });
});
