import { describe, expect, it } from "vitest";
import { PinbenchError } from "../../src/errors.js";
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

  it.each([
    ["0%", '"0%" is not a threshold, a share above 0 % and below 100 %.'],
    ["100%", '"100%" is not a threshold'],
    ["1", '"1" is not a threshold'],
    ["5", '"5" is not a threshold'],
    ["-5%", '"-5%" is not a threshold'],
    ["", '"" is not a threshold'],
    ["pageable=", '"pageable=" is not a threshold of some cells.'],
    ["pageable", '"pageable" is not a threshold'],
    ["shared=5%", '"shared" is no memory kind, no direction and no pattern of cells.'],
    ["=5%", '"" is no memory kind'],
    ["5% 6", '"5% 6" is not a threshold'],
    ["pinned=d2h=5%", '"pinned=d2h" is no memory kind'],
    ["staged=10%,d0/*=3%", '"staged=10%,d0/*=3%" is more than one threshold.'],
  ])("refuses '%s'", (text, message) => {
    expect(() => parseThresholdFlag(text)).toThrow(message);
    expect(() => parseThresholdFlag(text)).toThrow(PinbenchError);
  });
});

it("a share is written in per cent or as a fraction", () => {
  expect(parseThreshold("7.5%")).toBeCloseTo(parseThreshold("0.075"), 12);
});

describe("the hint for a --threshold that is not understood", () => {
  it.each([
    ["5", "Did you mean 5%?"],
    ["5 percent", "Did you mean 5%?"],
    ["100", "Write for example 5% or 0.05."],
    ["pinned", "Did you mean pinned=5%?"],
    ["pinned:8%", "Did you mean pinned=8%?"],
    ["8%=pinned", "Did you mean pinned=8%?"],
    ["0.08=d2h", "Did you mean d2h=0.08?"],
    ["pinned=8%, d0/*=3%", "Give one for each: --threshold pinned=8% --threshold d0/*=3%."],
    ["pinned : 8 %", "Did you mean pinned=8 %?"],
    ["slow=pinned", "Write for example 5% or 0.05."],
    ["~8%=pinned", "Write for example 5% or 0.05."],
    ["slow:8%", "Write for example 5% or 0.05."],
    ["pinned:often", "Write for example 5% or 0.05."],
    ["pinned:8%:d2h", "Write for example 5% or 0.05."],
    ["pinned, d2h = 8% ", "Give one for each: --threshold pinned=8% --threshold d2h=8%."],
    ["pinned,d2h=8%", "Give one for each: --threshold pinned=8% --threshold d2h=8%."],
  ])("%s: %s", (text, hint) => {
    expect(() => parseThresholdFlag(text)).toThrow(expect.objectContaining({ kind: "usage", hint }));
  });

  it("names all if nothing is like it, or not all of a list are", () => {
    for (const text of ["zzzzzz=8%", "pinned,zzzzzz=8%"]) {
      const hint = expect.stringMatching(
        /^Choose from pageable, .* or write a pattern such as d0\/h2d\/\*\.$/,
      );
      expect(() => parseThresholdFlag(text)).toThrow(expect.objectContaining({ hint }));
    }
  });

  it("names what is like a misspelt kind or direction, and all of them", () => {
    const hint = expect.stringMatching(
      /^Did you mean pinned=8%\? Choose from pageable, .* or write a pattern/,
    );
    expect(() => parseThresholdFlag("Pined=8%")).toThrow(expect.objectContaining({ hint }));
  });
});
