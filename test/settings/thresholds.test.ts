import { describe, expect, it } from "vitest";
import {
  defaultThresholds,
  matchesPattern,
  mergeThresholds,
  parseThreshold,
  parseThresholdFlag,
  type Thresholds,
  thresholdOf,
} from "../../src/settings/thresholds.js";

const pageable = {
  id: "d0/h2d/pageable/65536/w1/throughput/wall/cold",
  memory: "pageable",
  direction: "h2d",
};
const pinnedBack = {
  id: "d0/d2h/pinned/65536/w1/throughput/wall/cold",
  memory: "pinned",
  direction: "d2h",
};

const thresholds: Thresholds = {
  ...defaultThresholds,
  default: 0.05,
  memory: { pageable: 0.1 },
  direction: { h2d: 0.07, d2h: 0.06 },
};

describe("a cell's threshold", () => {
  it("is the default if nothing else is said", () => {
    expect(thresholdOf(defaultThresholds, pageable)).toBe(0.05);
    expect(thresholdOf(defaultThresholds, pinnedBack)).toBe(0.03);
  });

  it("is its direction's, if its memory has none", () => {
    expect(thresholdOf(thresholds, pinnedBack)).toBe(0.06);
  });

  it("is its memory's before its direction's", () => {
    expect(thresholdOf(thresholds, pageable)).toBe(0.1);
  });

  it("is a matching pattern's before all others", () => {
    const cells = [{ pattern: "*/pageable/*", threshold: 0.2 }];
    expect(thresholdOf({ ...thresholds, cells }, pageable)).toBe(0.2);
    expect(thresholdOf({ ...thresholds, cells }, pinnedBack)).toBe(0.06);
  });

  it("is the first matching pattern's, though a later one be closer", () => {
    const cells = [
      { pattern: "d0/h2d/*", threshold: 0.2 },
      { pattern: pageable.id, threshold: 0.3 },
    ];
    expect(thresholdOf({ ...thresholds, cells }, pageable)).toBe(0.2);
  });
});

describe("a pattern of cells", () => {
  it.each([
    ["*", true],
    [pageable.id, true],
    ["d0/h2d/pageable/*", true],
    ["*/pageable/*/w1/*", true],
    ["d0/h2d/pageable/65536/w1/throughput/wall/cold*", true],
    ["**/cold", true],
    ["h2d/pageable/*", false],
    ["d0/h2d/pageable", false],
    ["d0/h2d/pageable/65536/w1/throughput/wall/col", false],
    ["*/pinned/*", false],
    ["D0/*", false],
    ["d0/h2d/*d/h2d/*", false],
    ["*/cold*/cold", false],
    ["d0*/cold*d", false],
    ["d0/h2d/pageable/65536/w1/throughput/wall/c*cold", false],
  ])("%s: %s", (pattern, expected) => {
    expect(matchesPattern(pageable.id, pattern)).toBe(expected);
  });

  it("has no special characters but *", () => {
    expect(matchesPattern(pageable.id, "d.\\h2d/*")).toBe(false);
    expect(matchesPattern(pageable.id, "d./*")).toBe(false);
    expect(matchesPattern("a.b+(c)[d]^$|?{}\\", "a.b+(c)[d]^$|?{}\\")).toBe(true);
  });
});

describe("merging", () => {
  const base: Thresholds = {
    ...thresholds,
    cells: [{ pattern: "d0/*", threshold: 0.2 }],
    floorUs: 1,
  };

  it("lets the later part win, key by key, and keeps what it leaves open", () => {
    const merged = mergeThresholds(base, { default: 0.02 }, { default: 0.03, memory: { pinned: 0.01 } });
    expect(merged).toEqual({ ...base, default: 0.03, memory: { pageable: 0.1, pinned: 0.01 } });
    expect(mergeThresholds(base, { direction: { d2h: 0.5 } }).direction).toEqual({ h2d: 0.07, d2h: 0.5 });
  });

  it("tries the parts' patterns in their order, before those there were", () => {
    const [first, second] = [
      { pattern: "a/*", threshold: 0.3 },
      { pattern: "b/*", threshold: 0.4 },
    ];
    expect(mergeThresholds(base, { cells: [first] }, { cells: [second] }).cells).toEqual([
      first,
      second,
      ...base.cells,
    ]);
  });

  it("changes none of its arguments", () => {
    const before = structuredClone(base);
    mergeThresholds(base, { memory: { pageable: 0.5 }, cells: [] });
    expect(base).toEqual(before);
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
    ["d2h=6%", { direction: { d2h: 0.06 } }],
    ["d0/h2d/*=8%", { cells: [{ pattern: "d0/h2d/*", threshold: 0.08 }] }],
    [`${pageable.id}=8%`, { cells: [{ pattern: pageable.id, threshold: 0.08 }] }],
  ])("%s", (text, expected) => {
    expect(parseThresholdFlag(text)).toEqual(expected);
  });
});

it("a share is written in per cent or as a fraction", () => {
  expect(parseThreshold("7.5%")).toBeCloseTo(parseThreshold("0.075"), 12);
});
