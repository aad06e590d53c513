import { describe, expect, it } from "vitest";
import {
  defaultThresholds,
  mergeThresholds,
  parseThreshold,
  parseThresholdFlag,
  type Thresholds,
  thresholdOf,
} from "../../src/settings/thresholds.js";

const thresholds: Thresholds = { ...defaultThresholds, default: 0.05, memory: { pageable: 0.1 } };

it.each<[string, Thresholds, string, number]>([
  ["5 % by default", defaultThresholds, "pageable", 0.05],
  ["3 % by default for steady memory", defaultThresholds, "pinned", 0.03],
  ["the configured one for all cells", thresholds, "pinned", 0.05],
  ["the one of its memory rather than the one for all cells", thresholds, "pageable", 0.1],
])("a cell's threshold is %s", (_, given, memory, expected) => {
  expect(thresholdOf(given, { memory })).toBe(expected);
});

describe("merging thresholds", () => {
  it("lets later values win key by key, and keeps values that they leave open", () => {
    const merged = mergeThresholds(
      thresholds,
      { default: 0.02 },
      { default: 0.03, memory: { pinned: 0.01 } },
    );
    expect(merged).toEqual({ default: 0.03, memory: { pageable: 0.1, pinned: 0.01 } });
  });

  it("does not change its arguments", () => {
    const before = structuredClone(thresholds);
    mergeThresholds(thresholds, { memory: { pageable: 0.5 } });
    expect(thresholds).toEqual(before);
  });
});

describe("--threshold", () => {
  it.each([
    ["5%", { default: 0.05 }],
    ["0.05", { default: 0.05 }],
    [" 2.5 % ", { default: 0.025 }],
    ["99%", { default: 0.99 }],
    ["pageable=10%", { memory: { pageable: 0.1 } }],
    ["write-combined=10%", { memory: { "write-combined": 0.1 } }],
    ["pinned = 10%", { memory: { pinned: 0.1 } }],
  ])("reads %j", (text, expected) => {
    expect(parseThresholdFlag(text)).toEqual(expected);
  });
});

it("a share is written in per cent or as a fraction", () => {
  expect(parseThreshold("7.5%")).toBeCloseTo(parseThreshold("0.075"), 12);
});
