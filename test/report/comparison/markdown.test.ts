import { describe, expect, it } from "vitest";
import { comparisonMarkdown } from "../../../src/report/comparison/markdown.js";
import { emulatedNotice } from "../../../src/results/device-facts.js";
import {
  buildCellComparison,
  buildCellComparisons,
  buildComparison,
  buildSlower,
  oddText,
} from "../../helpers/comparison.js";

describe("Markdown", () => {
  const text = comparisonMarkdown(
    buildComparison({
      outcome: "regression",
      cells: [...buildCellComparisons(3), buildSlower()],
      differences: [
        { fact: "driver", baseline: "580.1", candidate: "590.2", blocks: false, isOverruled: false },
      ],
      notes: ["the spread is that of these runs"],
    }),
  );
  const [open = "", folded = ""] = text.split("<details>");

  it("has the outcome as its title", () => {
    expect(text).toMatch(/^## pinbench check: 1 of 4 cells is slower: d0\/d2h\/pinned\/.*−9\.9 %/);
  });

  it("shows what is not the same, and all cells folded away", () => {
    const rows = (part: string) => part.split("\n").filter((line) => line.startsWith("| d0/"));
    expect(rows(open)).toEqual([
      "| d0/d2h/pinned/16777216/w1/throughput/wall/cold | 61.3 | 55.3 | **−9.9 % (−10.2 to −9.5 %)** | **slower** |",
    ]);
    expect(rows(folded)).toHaveLength(4);
    expect(folded).toMatch(/^\n<summary>All cells \(4\)<\/summary>\n\n\*\*Thr.*\n\n<\/details>\n$/s);
  });

  it("has the differences and the notes", () => {
    expect(open).toContain("- **Differs:** driver: 580.1 before, 590.2 now\n");
    expect(open).toContain("\n- note: the spread is that of these runs\n");
  });

  it("has no table where all is the same, and nothing to unfold where there is no cell", () => {
    expect(comparisonMarkdown(buildComparison()).split("<details>")[0]).not.toContain("|");
    expect(comparisonMarkdown(buildComparison({ cells: [] }))).not.toContain("<details>");
  });

  it("says of the emulated device what it is, below the title", () => {
    const lines = comparisonMarkdown(buildComparison({ backend: "emulated" })).split("\n");
    expect(lines[2]).toBe(`> **${emulatedNotice}**`);
  });

  it("has equally many columns in every row, whatever the ids hold", () => {
    const cells = [buildCellComparison({ id: oddText }), buildSlower({ id: oddText, reason: oddText })];
    const odd = comparisonMarkdown(buildComparison({ outcome: "regression", cells }));
    for (const row of odd.split("\n").filter((line) => line.startsWith("|"))) {
      expect(row.match(/(?<!\\)\|/g)).toHaveLength(6);
    }
    expect(odd).toContain('a "b" \\<c\\>');
  });
});
