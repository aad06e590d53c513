import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { benchmarkActionReport, bmfReport } from "../../../src/compare/report/comparison-report.js";
import { emulatedNotice } from "../../../src/results/device-facts.js";
import {
  buildCellComparison,
  buildComparison,
  buildMissing,
  buildMixedCells,
  buildNew,
  buildSlower,
  type ComparisonPart,
  oddText,
} from "../../helpers/comparison.js";

const bmf = (part: ComparisonPart) => JSON.parse(bmfReport(buildComparison(part)));
const entries = (part: ComparisonPart) => JSON.parse(benchmarkActionReport(buildComparison(part)));

const id = "d0/h2d/pinned/16777216/w1/throughput/wall/cold";
const latencyId = "d0/h2d/pinned/16777216/w1/latency/wall/cold";
const latency = buildCellComparison({ mode: "latency", baseline: 4, change: 0.25, margin: 0.125 });

/** https://bencher.dev/bmf.json */
const number = { type: "number" };
const isBmf = new Ajv().compile({
  type: "object",
  additionalProperties: {
    type: "object",
    additionalProperties: {
      type: "object",
      properties: { value: number, lower_value: number, upper_value: number },
      required: ["value"],
    },
  },
});

describe("Bencher Metric Format", () => {
  it("has the candidate's bandwidth of each cell in GB/s, with its interval", () => {
    const cells = [buildCellComparison({ baseline: 64, change: -0.125, margin: 0.0625 })];
    expect(bmf({ cells })).toEqual({ [id]: { bandwidth: { value: 56, lower_value: 52, upper_value: 60 } } });
  });

  it("has latency in nanoseconds, Bencher's own measure", () => {
    expect(bmf({ cells: [latency] })).toEqual({
      [latencyId]: { latency: { value: 5000, lower_value: 4500, upper_value: 5500 } },
    });
  });

  it("leaves out an interval that is not known, and cells without a figure", () => {
    const cells = [buildCellComparison({ margin: null }), buildMissing(), buildNew()];
    expect(bmf({ cells })).toEqual({ [id]: { bandwidth: { value: 55.4 } } });
    expect(bmf({ cells: [] })).toEqual({});
  });

  it("keeps an emulated device's figures apart by their names", () => {
    expect(Object.keys(bmf({ backend: "emulated" }))).toEqual([`${id} (emulated device)`]);
  });

  it("keeps Bencher's schema, whatever the ids hold", () => {
    const odd = bmf({ cells: [...buildMixedCells(), latency, buildSlower({ id: oddText })] });
    expect(isBmf(odd)).toBe(true);
    expect(Object.keys(odd)).toContain(oddText);
  });
});

describe("github-action-benchmark", () => {
  it("has the candidate's figures, with a range that is never narrower than the interval", () => {
    const cells = [buildSlower()];
    expect(entries({ cells })).toEqual([
      {
        name: "d0/d2h/pinned/16777216/w1/throughput/wall/cold",
        unit: "GB/s",
        value: cells[0]?.candidate?.figure,
        range: "± 0.18",
        extra: "slower: -9.9 % (-10.2 to -9.5 %); confirmed by 5 fresh processes\n3 runs",
      },
    ]);
  });

  it("has the longer side of an uneven interval for its range", () => {
    const { candidate, ...cell } = buildCellComparison({ baseline: 50 });
    const rangeOf = (low: number, high: number) =>
      entries({ cells: [{ ...cell, candidate: { ...candidate!, low, high } }] })[0].range;
    expect([rangeOf(-0.2, 0.02), rangeOf(-0.02, 0.2)]).toEqual(["± 10.0", "± 10.0"]);
  });

  it("gives latency as a rate, since bigger has to be better, and says so", () => {
    expect(entries({ cells: [latency] })).toEqual([
      {
        name: latencyId,
        unit: "copies/s",
        value: 200_000,
        range: "± 22223",
        extra:
          "not slower: latency +25.0 % (+12.5 to +37.5 %)\n3 runs\n" +
          "rate for a latency of 5.00 µs per copy, because bigger must be better",
      },
    ]);
  });

  it("leaves out ranges that are not known, and cells without a figure", () => {
    const cells = [buildCellComparison({ margin: null }), buildMissing(), buildNew()];
    expect(entries({ cells })).toEqual([
      expect.not.objectContaining({ range: expect.anything(), value: null }),
    ]);
    const wide = buildCellComparison({ mode: "latency", baseline: 4, margin: 1.5 });
    expect(entries({ cells: [wide] })).toEqual([expect.not.objectContaining({ range: expect.anything() })]);
    const instant = buildCellComparison({ mode: "latency", baseline: 0 });
    expect(entries({ cells: [instant] })).toEqual([]);
    expect(entries({ cells: [] })).toEqual([]);
  });

  it("says that the device is emulated, and names it differently", () => {
    const [entry] = entries({ backend: "emulated" });
    expect(entry.name).toBe(`${id} (emulated device)`);
    expect(entry.extra.split("\n").at(-1)).toBe(emulatedNotice);
  });
});
