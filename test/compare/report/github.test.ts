import { describe, expect, it } from "vitest";
import type { Comparison } from "../../../src/compare/comparison.js";
import { comparisonKind, githubReport } from "../../../src/compare/report/comparison-report.js";
import { fileScreen } from "../../../src/draw/screen.js";
import { emulatedNotice } from "../../../src/results/device-facts.js";
import {
  buildCellComparison,
  buildCellComparisons,
  buildComparison,
  buildGroup,
  buildInconclusive,
  buildMissing,
  buildSlower,
  type ComparisonPart,
  oddText,
} from "../../helpers/comparison.js";
import { drawn } from "../../helpers/drawn.js";
import { MiB } from "../../helpers/result-document.js";

describe("Markdown", () => {
  const text = drawn(
    comparisonKind,
    buildComparison({
      outcome: "regression",
      cells: [...buildCellComparisons(3), buildSlower()],
      differences: [
        { fact: "driver", baseline: "580.1", candidate: "590.2", blocks: false, isOverruled: false },
      ],
      notes: ["the spread is that of these runs"],
    }),
    "markdown",
  );
  const [open = "", folded = "", machines = ""] = text.split("<details>");

  it("has the outcome as its title", () => {
    expect(text).toMatch(/^## pinbench check: D2H pinned 16 MiB x1: slower, −9\.9 %/);
  });

  it("shows changed cells, and all cells folded away", () => {
    const rows = (part: string) =>
      part.split("\n").filter((line) => line.startsWith("| H2D") || line.startsWith("| D2H"));
    expect(rows(open)).toEqual([
      "| D2H pinned 16 MiB x1 | 61.3 | 55.3 | **−9.9 % (−10.2 to −9.5 %)** | **slower** |",
    ]);
    expect(rows(folded)).toEqual([expect.stringMatching(/^\| D2H/), ...rows(folded).slice(-3)]);
    expect(folded).toMatch(/^\n<summary>All cells \(4\)<\/summary>\n\n### Thr.*\n\n<\/details>\n\n$/s);
  });

  it("has the differences and the notes", () => {
    expect(text).toContain("- **Differs:** driver: 580.1 before, 590.2 now\n");
    expect(text).toContain("\n- note: the spread is that of these runs\n");
  });

  it("has both machines folded away", () => {
    expect(machines).toContain("\n| driver | 580.159.04 | 580.159.04 |\n");
  });

  it("has no table without changes, and no folded cells without cells", () => {
    expect(drawn(comparisonKind, buildComparison(), "markdown").split("<details>")[0]).not.toContain("|");
    expect(drawn(comparisonKind, buildComparison({ cells: [] }), "markdown")).not.toContain("All cells");
  });

  it("says below the title that the device is emulated", () => {
    const lines = drawn(comparisonKind, buildComparison({ backend: "emulated" }), "markdown").split("\n");
    expect(lines[2]).toBe(`> **${emulatedNotice}**`);
  });

  it("has equally many columns in every row, whatever the ids hold", () => {
    const cells = [buildCellComparison({ id: oddText }), buildSlower({ id: oddText, reason: oddText })];
    const odd = drawn(comparisonKind, buildComparison({ outcome: "regression", cells }), "markdown");
    const [ofCells = ""] = odd.split("<summary>The machines");
    for (const row of ofCells.split("\n").filter((line) => line.startsWith("|"))) {
      expect(row.match(/(?<!\\)\|/g)).toHaveLength(6);
    }
    expect(odd).toContain('a "b" \\<c\\>');
  });
});

const commandsOf = (part: ComparisonPart) => githubReport(buildComparison(part)).trimEnd().split("\n");

describe("workflow commands", () => {
  it("are one notice of the outcome if nothing is wrong", () => {
    expect(commandsOf({})).toEqual([
      "::notice title=pinbench check::Nothing is slower. Pinned: a loss of 3.3 %25 would show.",
    ]);
  });

  it("are a warning, not a notice, if no cell could be decided", () => {
    expect(commandsOf({ cells: [buildInconclusive()] })[0]).toMatch(
      /^::warning title=pinbench check::Nothing could be decided: /,
    );
  });

  it("are an error for each pattern of slower cells, with the figures of its worst cell", () => {
    const cells = [
      ...[1, 2, 4].map((workers) => buildSlower({ workers, change: workers === 4 ? -0.12 : -0.0983 })),
      ...buildCellComparisons(2, { memory: "registered", direction: "d2h" }),
      buildSlower({ memory: "registered", sizeBytes: 64 * MiB, change: -0.2 }),
    ];
    const errors = commandsOf({ outcome: "regression", cells }).filter((line) => line.startsWith("::error"));
    expect(errors).toHaveLength(2);
    expect(errors[0]).toContain(
      "::error title=pinbench%3A slower::D2H registered 64 MiB x1: slower, −20.0 %25 ",
    );
    expect(errors[1]).toContain(
      "::D2H pinned: −9.9 %25, 3 of 3 cells slower; confirmed by 5 fresh processes" +
        "%0AD2H pinned 16 MiB x4, 61.3 GB/s before, 54.0 GB/s now: " +
        "−12.0 %25 (−12.3 to −11.7 %25); confirmed by 5 fresh processes%0AThe drop exceeds",
    );
  });

  it("are nine at most, however many patterns and verdicts there are", () => {
    const alternating = Array.from({ length: 60 }, (_, i) =>
      i % 2 === 0
        ? buildSlower({ workers: i + 1 })
        : buildCellComparison({ direction: "d2h", workers: i + 1 }),
    );
    const cells = [...alternating, buildInconclusive(), buildMissing()];
    const lines = commandsOf({ outcome: "regression", backend: "emulated", cells });
    expect(lines).toHaveLength(9);
    expect(lines.filter((line) => line.startsWith("::error"))).toHaveLength(5);
    expect(lines.filter((line) => line.startsWith("::warning"))).toHaveLength(2);
    expect(lines[1]).toMatch(/\d+ more like these below\./);
  });

  it("have an error for a group that fails although none of its cells does", () => {
    const cells = [1, 2, 4].map((workers) => buildInconclusive({ workers }));
    const groups = [buildGroup(cells, { change: -0.1, low: -0.14, high: -0.06, verdict: "slower" })];
    expect(commandsOf({ outcome: "regression", cells, groups })).toContain(
      "::error title=pinbench%3A slower::H2D pageable, 3 cells together: −10.0 %25 (−14.0 to −6.0 %25), slower",
    );
  });

  it("are one warning for all cells of a verdict that leaves them undecided", () => {
    const inconclusive = Array.from({ length: 7 }, (_, index) => buildInconclusive({ workers: index + 1 }));
    const warnings = commandsOf({
      cells: [...inconclusive, buildMissing(), ...buildCellComparisons(1)],
    }).filter((line) => line.startsWith("::warning"));
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatch(/^::warning title=pinbench%3A missing::1 of 9 cells: .*%0AH2D registered/);
    expect(warnings[1]).toMatch(/^::warning title=pinbench%3A inconclusive::7 of 9 cells: .*%0Aand 2 more$/);
  });

  it.each<[Comparison["outcome"], string]>([
    ["failed", "A measurement failed"],
    ["not comparable", "Not comparable"],
    ["inconclusive", "Undecided"],
  ])("are an error of the outcome if it is %s, because no cell has one", (outcome, said) => {
    const [first] = commandsOf({ outcome, notes: ["out of memory"] });
    expect(first).toMatch(new RegExp(`^::error title=pinbench check::${said}.*%0Aout of memory$`));
  });

  it("are an error of the outcome if a link lost lanes, followed by the slower cells", () => {
    const lost = { generation: 5, width: 8 };
    const linkLosses = [{ device: 0, baseline: { ...lost, width: 16 }, candidate: lost, runs: 5, of: 5 }];
    const first = "::error title=pinbench check::The link of GPU 0 runs at x8, the baseline's at x16. ";
    const [alone] = commandsOf({ outcome: "regression", linkLosses });
    expect(alone?.startsWith(first)).toBe(true);
    const [outcome, slower] = commandsOf({ outcome: "regression", cells: [buildSlower()], linkLosses });
    expect(outcome?.startsWith(first)).toBe(true);
    expect(slower).toMatch(/^::error title=pinbench%3A slower::/);
  });

  it("are errors alone for slow runs that fail, and have unfinished runs in the outcome", () => {
    const cells = (["pinned", "pageable"] as const).map((memory) =>
      buildCellComparison({ memory, verdict: "unsteady" }),
    );
    const lines = commandsOf({ outcome: "regression", cells, unfinished: ["a run has not ended"] });
    expect(lines[0]).toMatch(/%0Aa run has not ended$/);
    expect(lines.slice(1)).toEqual([
      expect.stringMatching(/^::error title=pinbench%3A unsteady::H2D pinned 16 MiB x1: /),
      expect.stringMatching(
        /^::warning title=pinbench%3A unsteady::1 of 2 cells: .*%0AH2D pageable 16 MiB x1$/,
      ),
    ]);
  });

  it("say that the device is emulated", () => {
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

describe("the log of a job", () => {
  const log = (part: ComparisonPart) => drawn(comparisonKind, buildComparison(part), "github", fileScreen());

  it("has the table behind the commands", () => {
    const text = log({ outcome: "regression", cells: [buildSlower(), ...buildCellComparisons(3)] });
    const [commands = "", ...rest] = text.split("\n\n");
    expect(commands.split("\n").every((line) => line.startsWith("::"))).toBe(true);
    expect(rest.join("\n\n")).toMatch(
      /^pinbench 0\.1\.0 check\n\n=> D2H .*\n {2}D2H pinned 16 MiB x1 .* slower\n/s,
    );
  });

  it("has all cells in its table if these are asked for", () => {
    const comparison = buildComparison({ cells: buildCellComparisons(3) });
    const rows = (showsAll: boolean) =>
      drawn(comparisonKind, comparison, "github", fileScreen(), { showsAll }).match(/^ {2}H2D pinned 16/gm) ??
      [];
    expect([rows(false).length, rows(true).length]).toEqual([0, 3]);
  });

  it("has no command in its table, whatever the names in it are", () => {
    const evil = "x\n::error::a ##[error]b ::set-output name=c::d";
    const text = log({
      outcome: "regression",
      cells: [buildSlower({ id: evil }), buildInconclusive({ id: `::${evil}`, reason: `:: ${evil}` })],
      notes: [evil, "::error::e"],
      baseline: { ...buildComparison().baseline, path: "::warning::f" },
    });
    const table = text.slice(text.indexOf("\n\n"));
    expect(table).toContain("::error::e");
    expect(table).not.toMatch(/^\s*::/m);
    expect(table).not.toContain("##[");
  });
});
