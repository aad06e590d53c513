import { describe, expect, it } from "vitest";
import {
  doubled,
  formatDuration,
  formatMeasuredTime,
  formatSize,
  formatSizeRounded,
  parseDuration,
  parsePercent,
  parseSize,
  readCounts,
} from "../../src/settings/units.js";
import { GiB, KiB, MiB } from "../plan/support.js";

describe("parseSize", () => {
  it.each([
    ["512", 512],
    ["1B", 1],
    ["64KiB", 64 * KiB],
    ["64 kib", 64 * KiB],
    ["1MiB", MiB],
    ["1.5MiB", 1.5 * MiB],
    ["16MB", 16_000_000],
    ["1.1KB", 1100],
    ["2GB", 2e9],
    ["2GiB", 2 * GiB],
    ["1TiB", 1024 * GiB],
    ["1TB", 1e12],
    [" 4KiB ", 4 * KiB],
    ["1.25KiB", 1280],
    ["9007199254740991", Number.MAX_SAFE_INTEGER],
    [`${"0".repeat(99)}1`, 1],
    [`1.${"0".repeat(100)}`, 1],
  ])("reads %j as %i bytes", (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });
});

describe("formatSize", () => {
  it.each([
    [1, "1 B"],
    [1000, "1000 B"],
    [1025, "1025 B"],
    [64 * KiB, "64 KiB"],
    [1100 * KiB, "1100 KiB"],
    [MiB, "1 MiB"],
    [1.5 * MiB, "1.5 MiB"],
    [16_000_000, "15625 KiB"],
    [16_000_001, "16000001 B"],
    [4 * GiB, "4 GiB"],
    [2048 * 1024 * GiB, "2048 TiB"],
    [512 * KiB, "512 KiB"],
  ])("writes %i as %j, exactly", (bytes, text) => {
    expect(formatSize(bytes)).toBe(text);
    expect(parseSize(text)).toBe(bytes);
  });

  it("rounds only on request", () => {
    expect(formatSizeRounded(150_323_855_360)).toBe("140 GiB");
    expect(formatSizeRounded(25_750_000_000)).toBe("24 GiB");
    expect(formatSizeRounded(1.25 * GiB)).toBe("1.25 GiB");
    expect(formatSizeRounded(25_690_000)).toBe("24.5 MiB");
    expect(formatSizeRounded(1000)).toBe("1000 B");
    expect(formatSizeRounded(1.4)).toBe("1 B");
    expect(formatSizeRounded(10.04 * GiB)).toBe("10 GiB");
    expect(formatSizeRounded(10 * GiB, (value) => value)).toBe("10 GiB");
    expect(formatSizeRounded(2048 * 1024 * GiB)).toBe("2048 TiB");
  });
});

describe("the size of a need above a limit", () => {
  it("is never rounded to the same text as the limit", () => {
    expect(formatSizeRounded(GiB + 1, Math.ceil)).toBe("1.01 GiB");
    expect(formatSizeRounded(GiB, Math.floor)).toBe("1 GiB");
    expect(formatSizeRounded(24.01 * GiB, Math.ceil)).toBe("24.1 GiB");
    expect(formatSizeRounded(24.009 * GiB, Math.floor)).toBe("24 GiB");
  });
});

describe("parseDuration", () => {
  it.each([
    ["8s", 8e9],
    ["500ms", 500e6],
    ["250us", 250e3],
    ["250µs", 250e3],
    ["250\u03bcs", 250e3],
    ["250 µS", 250e3],
    ["10ns", 10],
    ["2min", 120e9],
    ["10m", 600e9],
    ["1.5 s", 1.5e9],
    ["1h", 3600e9],
    ["0s", 0],
    ["1.25us", 1250],
    ["1.2346us", 1235],
    [" 3s ", 3e9],
    ["24h", 24 * 3600e9],
  ])("reads %j as %i ns", (text, durationNs) => {
    expect(parseDuration(text)).toBe(durationNs);
  });
});

describe("formatDuration", () => {
  it.each([
    [850, "850 ns"],
    [12_345, "12.3 µs"],
    [350e6, "350 ms"],
    [1.234e9, "1.23 s"],
    [8e9, "8 s"],
    [90e9, "90 s"],
    [150e9, "2.5 min"],
    [120e9, "2 min"],
    [1e9, "1 s"],
    [999e6, "999 ms"],
    [1e6, "1 ms"],
    [1e3, "1 µs"],
    [10.04e9, "10 s"],
    [100.4e9, "100 s"],
    [99.44e6, "99.4 ms"],
    [123.4e6, "123 ms"],
    [5400e9, "90 min"],
    [9000e9, "2.5 h"],
  ])("writes %i ns as %j", (durationNs, text) => {
    expect(formatDuration(durationNs)).toBe(text);
  });
});

it("doubling a time gives whole seconds, as a flag accepts them", () => {
  expect([250e6, 8e9, 33.4e9].map(doubled)).toEqual(["1s", "16s", "67s"]);
});

describe("formatMeasuredTime", () => {
  it.each([
    [8e9, "8.00 s"],
    [1.2341e9, "1.24 s"],
    [12_010, "12.1 µs"],
    [350.1e6, "351 ms"],
  ])("writes %i ns as %j, rounded up", (durationNs, text) => {
    expect(formatMeasuredTime(durationNs)).toBe(text);
  });
});

describe("parsePercent", () => {
  it.each([
    ["1%", 0.01],
    ["0.01", 0.01],
    ["2.5 %", 0.025],
    ["50%", 0.5],
    [" 1.25% ", 0.0125],
  ])("reads %j as %d", (text, share) => {
    expect(parsePercent(text)).toBeCloseTo(share, 15);
  });
});

describe("readCounts", () => {
  it("reads a list in ascending order, each number once", () => {
    expect(readCounts("4, 1,2,4", "workers")).toEqual([1, 2, 4]);
    expect(readCounts([16, "8", 16], "workers")).toEqual([8, 16]);
    expect(readCounts(12, "workers")).toEqual([12]);
  });
});
