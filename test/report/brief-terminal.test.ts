import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { drawDocument } from "../../src/draw/document-kind.js";
import { fileScreen } from "../../src/draw/screen.js";
import { resultKind } from "../../src/report/result-report.js";
import { parseResult } from "../../src/results/parse.js";

/** What a terminal of 80 columns shows of a recorded run of a GPU. */
function linesOf(name: string, isVerbose = false): string[] {
  const document = parseResult(
    readFileSync(new URL(`../../results/nvidia-h200/${name}.json`, import.meta.url), "utf8"),
  );
  const screen = fileScreen({ columns: 80, isVerbose });
  return drawDocument(resultKind, document, "table", { screen, showsAll: false, plots: [] })
    .trimEnd()
    .split("\n");
}

describe("a run in a terminal without --verbose", () => {
  it.each([
    ["quick", 20],
    ["default", 40],
    ["every-copy", 40],
    ["blocks", 60],
    ["at-once-beside", 60],
    ["at-once-together", 60],
  ])("takes no more lines for %s than %i, and has a table", (name, most) => {
    const lines = linesOf(name);
    expect(lines.length).toBeLessThanOrEqual(most);
    expect(lines.some((line) => line.includes("───"))).toBe(true);
  });

  it("ends with its answer in six lines at most, the rates last", () => {
    const lines = linesOf("default");
    const from = lines.findIndex((line) => line.startsWith("=> "));
    expect(lines.length - from).toBeLessThanOrEqual(6);
    expect(lines.at(-1)).toBe(
      "=> 256 MiB: pinned 55.4 GB/s to the device, 55.3 back; pageable 10.6 and 18.4.",
    );
  });

  it("has the rows of --verbose, fewer of them, and says how to see the others", () => {
    const whole = linesOf("default", true);
    const figuresOf = (line: string) => line.trim().split(/\s+/).slice(-6).join(" ");
    const rows = linesOf("default").filter((line) => /^ .*×/.test(line));
    expect(rows).toHaveLength(12);
    expect(rows.filter((row) => !whole.some((line) => figuresOf(line) === figuresOf(row)))).toEqual([]);
    expect(linesOf("default").join()).toContain("--verbose shows all rows and notes");
    expect(whole.join()).not.toContain("--verbose");
    expect(whole.length).toBeGreaterThan(90);
  });
});
