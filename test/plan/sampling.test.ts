import { describe, expect, it } from "vitest";
import {
  calibrationCopies,
  copiesPerSample,
  extraSamples,
  leastSamples,
  samplesOfRound,
  warmup,
} from "../../src/plan/sampling.js";
import { KiB, MiB } from "./support.js";

const one = { mode: "throughput", workers: 1 } as const;
const four = { ...one, workers: 4 } as const;

describe("copiesPerSample", () => {
  it.each([
    ["as many as fit into 5 ms", one, 100_000, 50],
    ["one copy if that takes longer", one, 6e6, 1],
    ["never more than 4096", one, 10, 4096],
    ["at least 4 with several workers, so that a sample is more than the slowest copy", four, 6e6, 4],
    ["as many as fit into 5 ms with several workers, if that is more than 4", four, 100_000, 50],
    ["one in latency mode", { ...four, mode: "latency" } as const, 10, 1],
  ])("is %s", (_, cell, copyNs, copies) => {
    expect(copiesPerSample(cell, copyNs)).toBe(copies);
  });
});

describe("warmup", () => {
  it.each([
    [
      "the cell's own copies for 300 µs",
      64 * KiB,
      "cold",
      10_000,
      { warmupCopies: 30, warmupBytes: 64 * KiB },
    ],
    ["64 copies at most", KiB, "cold", 1000, { warmupCopies: 64, warmupBytes: KiB }],
    [
      "4 MiB of a larger copy, at least once",
      256 * MiB,
      "cold",
      50e6,
      { warmupCopies: 1, warmupBytes: 4 * MiB },
    ],
    ["the whole buffer of a warm cell", 256 * MiB, "warm", 50e6, { warmupCopies: 1, warmupBytes: 256 * MiB }],
  ] as const)("is %s", (_, sizeBytes, cache, copyNs, expected) => {
    expect(warmup({ sizeBytes, cache }, copyNs)).toEqual(expected);
  });
});

describe("calibrationCopies", () => {
  it.each([
    [KiB, 32],
    [MiB, 4],
    [64 * MiB, 1],
  ])("of %i bytes are %i: up to 4 MiB, in 1 to 32 copies; in latency mode 1", (sizeBytes, copies) => {
    expect(calibrationCopies({ mode: "throughput", sizeBytes })).toBe(copies);
    expect(calibrationCopies({ mode: "latency", sizeBytes })).toBe(1);
  });
});

describe("samples", () => {
  it("are at least 6 for a cell, as an interval needs, and 300 in latency mode", () => {
    expect([leastSamples("throughput", null), leastSamples("latency", null)]).toEqual([6, 300]);
    expect([extraSamples("throughput", null), extraSamples("latency", null)]).toEqual([4, 200]);
  });

  it("are as many as requested, and no more", () => {
    expect([leastSamples("throughput", 10), leastSamples("latency", 10)]).toEqual([10, 10]);
    expect([extraSamples("throughput", 10), extraSamples("latency", 10)]).toEqual([0, 0]);
  });

  it("are spread over at most six rounds", () => {
    const rounds: number[] = [];
    for (let missing = 10; missing > 0; missing -= rounds.at(-1)!) rounds.push(samplesOfRound(10, missing));
    expect(rounds).toEqual([2, 2, 2, 2, 2]);
  });
});
