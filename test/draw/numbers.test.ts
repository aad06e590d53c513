import { describe, expect, it } from "vitest";
import {
  bandwidthUnit,
  formatBandwidth,
  formatChange,
  formatChangeTick,
  formatGBps,
  formatHalfWidth,
  formatMargin,
  formatMicroseconds,
  formatMilliseconds,
  formatNanoseconds,
  formatPrecision,
  formatRange,
  formatRatio,
  formatSetting,
  formatShare,
  formatWholeShare,
} from "../../src/draw/numbers.js";

describe("numbers for people", () => {
  it.each([
    [3985.9, "3985"],
    [103.29, "103.2"],
    [55.46, "55.4"],
    [55.3, "55.3"],
    [9.999, "9.99"],
    [4.35, "4.35"],
    [0.47, "0.47"],
    [0.01239, "0.0123"],
    [1.239e-7, "0.000000123"],
    [1000, "1000"],
    [10, "10.0"],
    [1.239e-9, "0.000000001"],
    [0, "0.00"],
  ])("shows a rate of %f GB/s as %s, never rounded up", (rate, shown) => {
    expect(formatGBps(rate)).toBe(shown);
  });

  it("gives a small bandwidth a smaller unit", () => {
    expect([55.37, 0.1, 0.0307, 0.000307, 0.00002].map(formatBandwidth)).toEqual([
      "55.3 GB/s",
      "0.10 GB/s",
      "30.7 MB/s",
      "0.30 MB/s",
      "20.0 kB/s",
    ]);
  });

  it("rounds times up, for less is better", () => {
    expect([2.341, 12.31, 999.91, 1864.2].map(formatMicroseconds)).toEqual([
      "2.35",
      "12.4",
      "1000.0",
      "1865",
    ]);
  });

  it("rounds up short times in nanoseconds without needless decimals, and long ones in milliseconds", () => {
    expect([2849.2, 100.4, 99.91, 5.191].map(formatNanoseconds)).toEqual(["2850", "101", "100.0", "5.20"]);
    expect([8.111e6, 38.61e6, 2000e6].map(formatMilliseconds)).toEqual(["8.12", "38.7", "2000"]);
  });

  it("rounds a range outwards, and shows it as one figure if its ends look alike", () => {
    expect(formatRange({ low: 54.29, high: 56.41 })).toBe("54.2 to 56.5");
    expect(formatRange({ low: 3.51, high: 3.51 })).toBe("3.51");
  });

  it("shows nothing at all in the usual unit", () => {
    expect(bandwidthUnit(0)).toEqual({ unit: "GB/s", perGB: 1 });
  });

  it("marks an axis of changes with only the digits needed", () => {
    expect([-0.05, 0.005, 0, 0.07 * 3].map(formatChangeTick)).toEqual(["−5 %", "+0.5 %", "0 %", "+21 %"]);
  });

  it("never rounds a share into a better one", () => {
    expect([0.9996, 0.99999, 1, 0.879].map(formatShare)).toEqual(["99.9 %", "99.9 %", "100.0 %", "87.9 %"]);
    expect([0.9199, 0.1, 0.0156].map((share) => formatWholeShare(share))).toEqual(["91 %", "10 %", "1.5 %"]);
  });

  it("shows no figure as nothing that is something", () => {
    expect([0.0004, 0].map(formatShare)).toEqual(["0.0400 %", "0.0 %"]);
    expect([0.0004, 0].map((share) => formatWholeShare(share))).toEqual(["0.0400 %", "0.0 %"]);
    expect([0.0421, 0.0042].map((ratio) => formatRatio(ratio))).toEqual(["0.0421×", "0.00420×"]);
  });

  it("shows no interval that is wider than twice its figure", () => {
    expect([1, 1.01, 21.69, null].map(formatHalfWidth)).toEqual(["±100 %", "±?", "±?", "±?"]);
  });

  it("gives ratios the digits that they need", () => {
    expect([12.9, 10, 2.99, 2, 1.047, 1.0049, 0.8].map((ratio) => formatRatio(ratio))).toEqual([
      "12×",
      "10×",
      "2.9×",
      "2.0×",
      "1.04×",
      "1.004×",
      "0.80×",
    ]);
  });

  it("rounds intervals up and shows a precision as it was given", () => {
    expect([0.0101, 0.021, 0.1, 0.123].map(formatHalfWidth)).toEqual(["±1.1 %", "±2.1 %", "±10 %", "±13 %"]);
    expect([0.01, 0.005, 0.1].map(formatPrecision)).toEqual(["±1 %", "±0.5 %", "±10 %"]);
  });

  it.each([
    [-0.0983, "down", "−9.9 %"],
    [-0.0983, "up", "−9.8 %"],
    [0.0327, "down", "+3.2 %"],
    [0.0327, "up", "+3.3 %"],
    [-0.098, "down", "−9.8 %"],
    [0.902 / 1 - 1, "down", "−9.8 %"],
    [-0.0001, "up", "0.0 %"],
    [-0.0001, "down", "−0.1 %"],
    [0, "up", "0.0 %"],
    [-1, "down", "−100.0 %"],
  ] as const)("shows a change of %f, rounded %s, as %s with a real minus sign", (change, towards, shown) => {
    expect(formatChange(change, towards)).toBe(shown);
  });

  it("rounds how far an interval reaches up, and shows a setting as it was given", () => {
    expect([0.1661, 749.01, 0].map(formatMargin)).toEqual(["0.17", "749.1", "0.00"]);
    expect([0.03, 0.005, 0.1].map(formatSetting)).toEqual(["3 %", "0.5 %", "10 %"]);
  });
});
