import { describe, expect, it } from "vitest";
import { matchesPattern, unmatchedPattern } from "../../src/compare/history/cell-patterns.js";

const rest = "w1/throughput/cold";
const cells = {
  pageable: `d0/h2d/pageable/65536/${rest}`,
  pinned: `d0/h2d/pinned/65536/${rest}`,
  back: `d0/d2h/pinned/65536/${rest}`,
  large: `d0/h2d/pinned/16777216/${rest}`,
};
const ids = Object.values(cells);

function hintOf(pattern: string): string | undefined {
  return unmatchedPattern([pattern], ids)?.hint;
}

it("is none if each pattern matches a cell, and without cells", () => {
  expect(unmatchedPattern(["*", "*/pinned/*", cells.back], ids)).toBeNull();
  expect(unmatchedPattern([], ids)).toBeNull();
  expect(unmatchedPattern(["*/staged/*"], [])).toBeNull();
});

it("is the first pattern that matches none", () => {
  expect(unmatchedPattern(["*/pinned/*", "*/staged/*", "*/host/*"], ids)?.pattern).toBe("*/staged/*");
});

describe("its hint names the pattern that was likely meant, and the cells that it has", () => {
  it.each([
    ["a part is misspelt", "d0/h2d/pagable/*", "d0/h2d/pageable/*", cells.pageable],
    ["parts have capitals", "D0/D2H/Pinned/*", "d0/d2h/pinned/*", cells.back],
    ["the first part is forgotten", "d2h/pinned/*", "*/d2h/pinned/*", cells.back],
    ["the rest is forgotten", "d0/h2d/pageable", "d0/h2d/pageable/*", cells.pageable],
    ["parts are in another order", "d0/pageable/h2d/*", "d0/h2d/pageable/*", cells.pageable],
    ["a late part is misspelt", "*/16777216/w1/througput/*", "*/16777216/w1/throughput/*", cells.large],
    ["a size is not in the results", "*/16000000/*", "*/16777216/*", cells.large],
  ])("if %s", (_, pattern, meant, cell) => {
    expect(hintOf(pattern)).toBe(`Did you mean "${meant}"? The nearest: ${cell}.`);
  });

  it("if a size has a unit, with its form in ids", () => {
    expect(hintOf("*/16MiB/*")).toBe(
      `Did you mean "*/16777216/*"? Ids have sizes in bytes. The nearest: ${cells.large}.`,
    );
    expect(hintOf("d0/h2d/pinned/16MiB/*")).toBe(
      `Did you mean "d0/h2d/pinned/16777216/*"? Ids have sizes in bytes. The nearest: ${cells.large}.`,
    );
  });
});

describe("its hint names cells alone", () => {
  it("that share a part with the pattern, if nothing is like the rest", () => {
    expect(hintOf("*/d2h/cuddly/*")).toBe(`The nearest: ${cells.back}.`);
  });

  it.each(["cuddly/*", "/", "?*", "x".repeat(5000)])("of all, if they share nothing with %s", (pattern) => {
    expect(hintOf(pattern)).toBe(
      `Cells there are: ${cells.pageable}, ${cells.pinned}, ${cells.back} and 1 more.`,
    );
  });
});

it("every pattern that a hint proposes matches a cell", () => {
  const parts = ["", "*", "d0", "d1", "h2d", "pined", "pinned", "64KiB", "65536", "4", "w*", "cold", "**"];
  const patterns = parts.flatMap((a) => parts.flatMap((b) => parts.map((c) => [a, b, c].join("/"))));
  const proposed = patterns.flatMap((one) => /^Did you mean "(.*?)"/.exec(hintOf(one) ?? "")?.[1] ?? []);
  expect(proposed.length).toBeGreaterThan(100);
  expect(unmatchedPattern(proposed, ids)).toBeNull();
});

describe("a pattern of cells", () => {
  it.each([
    ["*", true],
    [cells.pageable, true],
    ["d0/h2d/pageable/*", true],
    ["*/pageable/*/w1/*", true],
    ["d0/h2d/pageable/65536/w1/throughput/cold*", true],
    ["**/cold", true],
    ["h2d/pageable/*", false],
    ["d0/h2d/pageable", false],
    ["d0/h2d/pageable/65536/w1/throughput/col", false],
    ["*/pinned/*", false],
    ["D0/*", false],
    ["d0/h2d/*d/h2d/*", false],
    ["*/cold*/cold", false],
    ["d0*/cold*d", false],
    ["d0/h2d/pageable/65536/w1/throughput/c*cold", false],
  ])("%s: %s", (pattern, expected) => {
    expect(matchesPattern(cells.pageable, pattern)).toBe(expected);
  });

  it("has no special characters but *", () => {
    expect(matchesPattern(cells.pageable, "d.\\h2d/*")).toBe(false);
    expect(matchesPattern(cells.pageable, "d./*")).toBe(false);
    expect(matchesPattern("a.b+(c)[d]^$|?{}\\", "a.b+(c)[d]^$|?{}\\")).toBe(true);
  });
});
