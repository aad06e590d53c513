import { describe, expect, it } from "vitest";
import type { Comparison } from "../../../src/compare/comparison.js";
import { comparisonMarkdown, githubReport } from "../../../src/report/comparison/github.js";
import { emulatedNotice } from "../../../src/results/device-facts.js";
import {
  buildCellComparison,
  buildCellComparisons,
  buildComparison,
  buildInconclusive,
  buildMissing,
  buildSlower,
  type ComparisonPart,
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
    expect(text).toMatch(/^## pinbench check: 1 of 4 cells is slower: D2H pinned .*−9\.9 %/);
  });

  it("shows what is not the same, and all cells folded away", () => {
    const rows = (part: string) =>
      part.split("\n").filter((line) => line.startsWith("| H2D") || line.startsWith("| D2H"));
    expect(rows(open)).toEqual([
      "| D2H pinned 16 MiB x1 | 61.3 | 55.3 | **−9.9 % (−10.2 to −9.5 %)** | **slower** |",
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

const commandsOf = (part: ComparisonPart) => githubReport(buildComparison(part)).trimEnd().split("\n");

describe("workflow commands", () => {
  it("are one notice of the outcome where all is well", () => {
    expect(commandsOf({})).toEqual(["::notice title=pinbench check::no cell is slower: 1 same"]);
  });

  it("are an error for each slower cell, the worst first", () => {
    const cells = [buildSlower(), ...buildCellComparisons(2), buildSlower({ workers: 4, change: -0.2 })];
    const errors = commandsOf({ outcome: "regression", cells }).filter((line) => line.startsWith("::error"));
    expect(errors).toHaveLength(2);
    expect(errors[0]).toContain("::error title=pinbench%3A slower::D2H pinned 16 MiB x4, ");
    expect(errors[1]).toContain(
      "::D2H pinned 16 MiB x1, 61.3 GB/s before, 55.3 GB/s now: " +
        "−9.9 %25 (−10.2 to −9.5 %25); confirmed by 5 fresh processes%0AThe drop exceeds",
    );
  });

  it("are one warning for all cells of a verdict that leaves them undecided", () => {
    const inconclusive = Array.from({ length: 7 }, (_, index) => buildInconclusive({ workers: index + 1 }));
    const warnings = commandsOf({ cells: [...inconclusive, buildMissing()] }).filter((line) =>
      line.startsWith("::warning"),
    );
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatch(/^::warning title=pinbench%3A missing::1 of 8 cells: .*%0AH2D registered/);
    expect(warnings[1]).toMatch(/^::warning title=pinbench%3A inconclusive::7 of 8 cells: .*%0Aand 2 more$/);
  });

  it.each<[Comparison["outcome"], string]>([
    ["failed", "a measurement failed"],
    ["not comparable", "not comparable"],
    ["inconclusive", "not decided"],
  ])("are an error of the outcome where it is %s, for no cell has one", (outcome, said) => {
    const [first] = commandsOf({ outcome, notes: ["out of memory"] });
    expect(first).toMatch(new RegExp(`^::error title=pinbench check::${said}.*%0Aout of memory$`));
  });

  it("are an error of the outcome where a link lost lanes, with the slower cells behind it", () => {
    const lost = { generation: 5, width: 8 };
    const linkLosses = [{ device: 0, baseline: { ...lost, width: 16 }, candidate: lost, runs: 5, of: 5 }];
    const first = "::error title=pinbench check::the link of GPU 0 runs at x8, the baseline's at x16; ";
    const [alone] = commandsOf({ outcome: "regression", linkLosses });
    expect(alone?.startsWith(first)).toBe(true);
    const [outcome, slower] = commandsOf({ outcome: "regression", cells: [buildSlower()], linkLosses });
    expect(outcome?.startsWith(first)).toBe(true);
    expect(slower).toMatch(/^::error title=pinbench%3A slower::/);
  });

  it("say of the emulated device what it is", () => {
    expect(commandsOf({ backend: "emulated" })[0]).toBe(`::notice title=pinbench::${emulatedNotice}`);
  });

  it("hold one line each, whatever the ids hold", () => {
    const cells = [buildSlower({ id: oddText, reason: oddText })];
    const lines = commandsOf({ outcome: "regression", cells, notes: [oddText] });
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain("`e` %250A ");
    expect(lines[1]).toContain("%0D%0Af,g:h");
    expect(lines[1]).not.toContain("\r");
  });
});
