import { Chalk } from "chalk";
import { describe, expect, it } from "vitest";
import { comparisonSchema } from "../../../src/compare/comparison.js";
import { comparisonFormats } from "../../../src/report/comparison/format-names.js";
import { comparisonFormatOfPath, renderComparison } from "../../../src/report/comparison/formats.js";
import { buildCellComparison, buildComparison, buildMixedCells, oddText } from "../../helpers/comparison.js";

const chalk = new Chalk({ level: 0 });

describe("formats of a comparison", () => {
  it.each([
    ["check.json", "json"],
    ["check.md", "markdown"],
    ["/data/Check.TXT", "table"],
    ["junit.xml", "junit"],
    ["/dev/stdout", "json"],
  ])("takes %s for %s", (path, format) => {
    expect(comparisonFormatOfPath(path)).toBe(format);
  });

  it("refuses what names no format and lists what there is", () => {
    expect(() => comparisonFormatOfPath("check.csv")).toThrowError(
      expect.objectContaining({
        kind: "usage",
        message: "check.csv has the extension .csv, which names no format.",
        hint: "Use one of .json, .md, .txt, .xml.",
      }),
    );
  });

  it.each(comparisonFormats)(
    "renders %s, the same each time, and says of the emulated device what it is",
    (format) => {
      const comparison = buildComparison({ backend: "emulated", cells: buildMixedCells() });
      const text = renderComparison(comparison, format, chalk);
      expect(text).toBe(renderComparison(comparison, format, chalk));
      expect(text).toContain("emulated device");
      expect(text).toMatch(/[^\n]\n$/);
    },
  );

  it.each(comparisonFormats)("prints no NaN, Infinity or undefined in %s", (format) => {
    const cells = [
      ...buildMixedCells(),
      buildCellComparison({ margin: null }),
      buildCellComparison({ mode: "latency", baseline: 0 }),
      buildCellComparison({ id: oddText }),
    ];
    for (const part of [{ cells }, { cells: [] }]) {
      const text = renderComparison(buildComparison(part), format, chalk);
      expect(text).not.toMatch(/NaN|Infinity|undefined|\[object/);
    }
  });

  it("has the comparison itself as JSON", () => {
    const comparison = buildComparison({ cells: buildMixedCells() });
    const text = renderComparison(comparison, "json", chalk);
    expect(comparisonSchema.parse(JSON.parse(text))).toEqual(comparison);
  });
});
