import { expect, it } from "vitest";
import * as numbers from "../../src/draw/numbers.js";

const { formatGBps, formatShare, formatWholeShare, formatRatio, formatHalfWidth, formatMicroseconds } =
  numbers;

it.each<[what: string, format: (value: never) => string, values: (number | null)[], shown: string]>([
  [
    "a rate of 1000 GB/s and more is shown without decimals, never rounded up",
    formatGBps,
    [3985.9, 1000],
    "3985, 1000",
  ],
  ["a rate from 10 GB/s has one decimal", formatGBps, [103.29, 55.46, 55.3, 10], "103.2, 55.4, 55.3, 10.0"],
  ["a rate below 10 GB/s has two decimals", formatGBps, [9.999, 4.35, 0.47, 0], "9.99, 4.35, 0.47, 0.00"],
  [
    "a tiny rate has three digits, and nine decimals at most",
    formatGBps,
    [0.01239, 1.239e-7, 1.239e-9],
    "0.0123, 0.000000123, 0.000000001",
  ],
  [
    "a small bandwidth has a smaller unit",
    numbers.formatBandwidth,
    [55.37, 0.1, 0.0307, 0.000307, 0.00002],
    "55.3 GB/s, 0.10 GB/s, 30.7 MB/s, 0.30 MB/s, 20.0 kB/s",
  ],
  [
    "times in µs are rounded up, as less is better",
    formatMicroseconds,
    [2.341, 12.31, 999.91, 1864.2],
    "2.35, 12.4, 1000.0, 1865",
  ],
  [
    "times in ns are rounded up, without needless decimals",
    numbers.formatNanoseconds,
    [2849.2, 100.4, 99.91, 5.191],
    "2850, 101, 100.0, 5.20",
  ],
  [
    "times in ms are rounded up",
    numbers.formatMilliseconds,
    [8111000, 38610000, 2000000000],
    "8.12, 38.7, 2000",
  ],
  [
    "an axis of changes has only the digits needed",
    numbers.formatChangeTick,
    [-0.05, 0.005, 0, 0.07 * 3],
    "−5 %, +0.5 %, 0 %, +21 %",
  ],
  [
    "a share is never rounded up",
    formatShare,
    [0.9996, 0.99999, 1, 0.879],
    "99.9 %, 99.9 %, 100.0 %, 87.9 %",
  ],
  ["a share in short form has two digits", formatWholeShare, [0.9199, 0.1, 0.0156], "91 %, 10 %, 1.5 %"],
  ["a share is shown as 0 only if it is 0", formatShare, [0.0004, 0], "0.0400 %, 0.0 %"],
  ["a share in short form is shown as 0 only if it is 0", formatWholeShare, [0.0004, 0], "0.0400 %, 0 %"],
  ["a small ratio is not rounded to 0", formatRatio, [0.0421, 0.0042], "0.0421×, 0.00420×"],
  [
    "ratios close to 1 have more decimals than large ones",
    formatRatio,
    [12.9, 10, 2.99, 2, 1.047, 1.0049, 0.8],
    "12×, 10×, 2.9×, 2.0×, 1.04×, 1.004×, 0.80×",
  ],
  ["intervals are rounded up", formatHalfWidth, [0.0101, 0.021, 0.1, 0.123], "±1.1 %, ±2.1 %, ±10 %, ±13 %"],
  ["an interval above ±100 % is shown as ±?", formatHalfWidth, [1, 1.01, 21.69, null], "±100 %, ±?, ±?, ±?"],
  [
    "a precision is shown as it was given",
    numbers.formatPrecision,
    [0.01, 0.005, 0.1],
    "±1 %, ±0.5 %, ±10 %",
  ],
  ["a setting is shown as it was given", numbers.formatSetting, [0.03, 0.005, 0.1], "3 %, 0.5 %, 10 %"],
])("%s", (_, format, values, shown) => {
  expect(values.map((value) => format(value as never)).join(", ")).toBe(shown);
});

it("a bandwidth of 0 is in GB/s", () => {
  expect(numbers.bandwidthUnit(0)).toEqual({ unit: "GB/s", perGB: 1 });
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
] as const)("a change of %f, rounded %s, is shown as %s", (change, towards, shown) => {
  expect(numbers.formatChange(change, towards)).toBe(shown);
});
