import { describe, expect, it } from "vitest";
import {
  type BySession,
  isCpuCopy,
  levelOf,
  noiseOf,
  priorOf,
  standardError,
} from "../../src/compare/noise.js";
import { buildCell, type CellPart } from "../helpers/result-document.js";

const prior = { name: "", betweenSessions: 0.01, betweenRuns: 0.02 };

describe("the level of a series of runs", () => {
  it("is the mean over sessions of their medians, so that a session counts once", () => {
    expect(
      levelOf([
        [1, 2, 9],
        [4, 4, 4, 4, 4],
      ]),
    ).toBe(3);
  });
});

describe("the noise of a baseline", () => {
  it.each<[string, BySession, number, number]>([
    ["is the assumed noise if there is a single run", [[5]], 0.01 ** 2, 0.02 ** 2],
    [
      "between sessions averages the assumed variance, counted four times, with the measured one",
      [[0], [0.06]],
      (4 * 0.01 ** 2 + 2 * 0.03 ** 2) / 5,
      0.02 ** 2,
    ],
    [
      "between runs averages the assumed variance, counted four times, with the measured one",
      [[-0.01, 0, 0.01]],
      0.01 ** 2,
      (4 * 0.02 ** 2 + 2 * (1.4826 * 0.01) ** 2 * (3 / 2)) / 6,
    ],
    [
      "is not widened by a single slow run",
      [[-0.01, -0.01, 0, 0.01, -0.5]],
      0.01 ** 2,
      (4 * 0.02 ** 2 + 4 * (1.4826 * 0.01) ** 2 * (5 / 4)) / 8,
    ],
  ])("%s", (_, sessions, betweenSessions, betweenRuns) => {
    const noise = noiseOf(sessions, { prior, ofSamples: 0 });
    expect(noise.betweenSessions).toBeCloseTo(betweenSessions, 12);
    expect(noise.betweenRuns).toBeCloseTo(betweenRuns, 12);
  });
});

describe("the standard error of a change", () => {
  const noise = { betweenSessions: 0.01, betweenRuns: 0.04 };

  it("falls with the number of sessions, and with the number of runs in each", () => {
    const runs = (count: number) => Array<number>(count).fill(0);
    expect(standardError(noise, [runs(1)], [runs(1)]) ** 2).toBeCloseTo(2 * (0.01 + 0.04), 12);
    expect(standardError(noise, [runs(10), runs(10)], [runs(5)]) ** 2).toBeCloseTo(
      (0.01 + (0.04 * Math.PI) / 2 / 10) / 2 + 0.01 + (0.04 * Math.PI) / 2 / 5,
      12,
    );
  });
});

describe("the assumed noise of a cell", () => {
  it.each<[CellPart, "cuda" | "emulated", number]>([
    [{ memory: "pinned" }, "cuda", 0.004],
    [{ memory: "registered" }, "cuda", 0.004],
    [{ memory: "write-combined" }, "cuda", 0.004],
    [{ memory: "mapped" }, "cuda", 0.004],
    [{ memory: "device", direction: "d2d" }, "cuda", 0.004],
    [{ memory: "pinned", mode: "latency", latencyUs: { median: 8, p99: 9 } }, "cuda", 0.02],
    [{ memory: "pageable" }, "cuda", 0.05],
    [{ memory: "staged" }, "cuda", 0.05],
    [{ memory: "host" }, "cuda", 0.05],
    [{ memory: "pinned", beside: "memory" }, "cuda", 0.05],
    [{ memory: "pinned", blockBytes: 4096, blockWay: "gather" }, "cuda", 0.05],
    [{ memory: "pinned", blockBytes: 4096, blockWay: "kernel" }, "cuda", 0.004],
    [{ memory: "pinned" }, "emulated", 0.05],
  ])("with %j on %s is %f between sessions", (part, backend, deviation) => {
    const cell = buildCell(part);
    expect(priorOf(cell, backend).betweenSessions).toBe(deviation);
    expect(isCpuCopy(cell, backend)).toBe(deviation === 0.05);
  });
});
