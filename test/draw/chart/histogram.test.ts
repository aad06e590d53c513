import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countInBins, histogramBins } from "../../../src/report/page/sample-charts.js";

describe("a histogram's bins", () => {
  it("have round edges and hold each value once", () => {
    const values = [10.1, 10.2, 10.4, 11.9, 12, 12.3];
    const histogram = histogramBins(values);
    expect(histogram.binWidth).toBeCloseTo(0.5, 12);
    expect(histogram.centres.map((centre) => Number(centre.toFixed(6)))).toEqual([
      10.25, 10.75, 11.25, 11.75, 12.25,
    ]);
    expect(countInBins(values, histogram)).toEqual([3, 0, 0, 1, 2]);
  });

  it("are one if all values are the same", () => {
    const histogram = histogramBins([55.4, 55.4, 55.4]);
    expect(histogram.centres).toEqual([55.4]);
    expect(countInBins([55.4, 55.4, 55.4], histogram)).toEqual([3]);
  });

  it("are no more than a chart has room for", () => {
    const values = Array.from({ length: 100_000 }, (_, index) => index % 997);
    expect(histogramBins(values).centres.length).toBeLessThanOrEqual(40);
  });

  it("count all of any values, none in a bin that does not hold it", () => {
    const figure = fc.double({ min: 1e-9, max: 1e12, noNaN: true });
    fc.assert(
      fc.property(fc.array(figure, { minLength: 1, maxLength: 60 }), (values) => {
        const histogram = histogramBins(values);
        const counts = countInBins(values, histogram);
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(values.length);
        expect(histogram.binWidth).toBeGreaterThan(0);
        const slack = histogram.binWidth * (0.5 + 1e-6);
        for (const value of values) {
          const holding = histogram.centres.filter((centre) => Math.abs(centre - value) <= slack);
          expect(holding.length).toBeGreaterThan(0);
        }
      }),
    );
  });
});
