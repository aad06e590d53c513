import { describe, expect, it } from "vitest";
import type { Outcome } from "../../../src/results/cell-schema.js";
import {
  halfWidthOf,
  isMeasured,
  measuredStats,
  medianFigure,
  shareOfSpeed,
} from "../../../src/results/naming/cell-figure.js";
import { buildCell } from "../../helpers/result-document.js";

const rate = (GBps: number) => buildCell({ GBps, relativeHalfWidth: 0.02 });
const latency = (median: number) =>
  buildCell({ mode: "latency", GBps: 1, relativeHalfWidth: 0.02, latencyUs: { median, p99: 3 * median } });

it.each<[Outcome | null, boolean, string]>([
  ["converged", true, "50.0"],
  ["budget", true, "50.0"],
  [null, true, "50.0"],
  ["mismatch", false, "MISMATCH"],
  ["failed", false, "failed"],
  ["skipped", false, "-"],
])("figures of a cell with the outcome %s count: %s, and are shown as %s", (outcome, counts, text) => {
  const cell = { ...rate(50), outcome };
  expect(isMeasured(cell)).toBe(counts);
  expect(measuredStats(cell, "h2d") !== null).toBe(counts);
  expect(medianFigure(cell, "h2d", 0.01).text).toBe(text);
  expect(isMeasured({ ...cell, stats: [] })).toBe(false);
});

it("the half-width of a latency cell is its latency's, and else its rate's", () => {
  const wide = latency(8);
  const [stats] = wide.stats as [(typeof wide.stats)[0]];
  const latencyUs = { ...stats.latencyUs!, low: 6, high: 10 };
  expect(halfWidthOf(wide, { ...stats, latencyUs })).toBe(0.25);
  expect(halfWidthOf(rate(50), { ...stats, latencyUs })).toBe(0.02);
});

describe("a cell's speed relative to another's", () => {
  it.each([
    ["the ratio of rates", rate(20), rate(50), 0.4],
    ["the inverse ratio of latencies", latency(20), latency(8), 0.4],
    ["unknown if one was not measured", rate(20), undefined, null],
    ["unknown for wrong data", { ...rate(20), outcome: "mismatch" as const }, rate(50), null],
  ])("is %s", (_, cell, other, share) => {
    expect(shareOfSpeed(cell, other, "h2d")).toBe(share);
  });
});
