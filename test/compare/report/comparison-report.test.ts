import { stripVTControlCharacters } from "node:util";
import { Chalk } from "chalk";
import { describe, expect, it } from "vitest";
import { type CellComparison, comparisonSchema } from "../../../src/compare/comparison.js";
import { comparisonKind } from "../../../src/compare/report/comparison-report.js";
import { fileScreen } from "../../../src/draw/screen.js";
import { emulatedNotice } from "../../../src/results/device-facts.js";
import {
  buildCellComparison,
  buildCellComparisons,
  buildComparison,
  buildGroup,
  buildInconclusive,
  buildMixedCells,
  buildSlower,
  type ComparisonPart,
  oddText,
} from "../../helpers/comparison.js";
import { drawn, textFormats } from "../../helpers/drawn.js";

const screen = fileScreen();
const formats = textFormats("comparison");

describe("formats of a comparison", () => {
  it.each(formats)("renders %s reproducibly, and says that the device is emulated", (format) => {
    const comparison = buildComparison({ backend: "emulated", cells: buildMixedCells() });
    const text = drawn(comparisonKind, comparison, format, screen);
    expect(text).toBe(drawn(comparisonKind, comparison, format, screen));
    expect(text).toContain("emulated device");
    expect(text).toMatch(/[^\n]\n$/);
  });

  it.each(formats)("prints no NaN, Infinity or undefined in %s", (format) => {
    const cells = [
      ...buildMixedCells(),
      buildCellComparison({ margin: null }),
      buildCellComparison({ mode: "latency", baseline: 0 }),
      buildCellComparison({ id: oddText }),
    ];
    for (const part of [{ cells }, { cells: [] }]) {
      const text = drawn(comparisonKind, buildComparison(part), format, screen);
      expect(text).not.toMatch(/NaN|Infinity|undefined|\[object/);
    }
  });

  it("has the comparison itself as JSON", () => {
    const comparison = buildComparison({ cells: buildMixedCells() });
    const text = drawn(comparisonKind, comparison, "json", screen);
    expect(comparisonSchema.parse(JSON.parse(text))).toEqual(comparison);
  });
});

/** With all rows, but for the tests of what is left out. */
const render = (part: ComparisonPart, level: 0 | 1 = 0) =>
  drawn(comparisonKind, buildComparison(part), "table", fileScreen({ chalk: new Chalk({ level }) }), {
    showsAll: true,
  });

const columnsOf = (text: string, ...parts: string[]) =>
  text
    .split("\n")
    .find((line) => parts.every((part) => line.includes(part)))
    ?.trim()
    .split(/\s{2,}/);

describe("the header of the table", () => {
  const driver = { fact: "driver", baseline: "580.1", candidate: null, blocks: true, isOverruled: false };

  it("names both sides and the rule", () => {
    const text = render({ confirmation: { runs: 5, atMost: 5, suspects: ["a", "b"] } });
    expect(text.split("\n")[0]).toBe("pinbench 0.1.0 check");
    expect(columnsOf(text, "Baseline ")?.[1]).toBe("baseline.json, 5 runs, from 2026-11-20 10:00 UTC");
    expect(columnsOf(text, "Candidate ")?.[1]).toContain("measured now, 3 runs");
    expect(columnsOf(text, "Device ")?.[1]).toBe("NVIDIA H200");
    expect(columnsOf(text, "Rule ")?.[1]).toBe(
      "threshold 3 %, floor 0.05 GB/s and 0.1 µs, significance 1 % over all cells",
    );
    expect(columnsOf(text, "Confirmed ")?.[1]).toBe("2 suspects measured again by 5 fresh processes");
  });

  it("lists the differences, and which were allowed", () => {
    expect(columnsOf(render({ differences: [driver] }), "Differs")?.[1]).toBe(
      "driver: 580.1 before, not known now (not comparable)",
    );
    const overruled = render({ differences: [{ ...driver, blocks: false, isOverruled: true }] });
    expect(overruled.split("\n")[1]).toBe("! different driver, compared anyway (--allow-mismatch)");
    expect(overruled).not.toContain("not comparable");
  });

  it("names the usual threshold and the others", () => {
    const ruleOf = (...thresholds: number[]) => {
      const cells = thresholds.map((threshold) => buildCellComparison({ threshold }));
      return columnsOf(render({ cells }), "Rule ")?.[1];
    };
    expect(ruleOf(0.03, 0.15, 0.03, 0.1, 0.15)).toMatch(
      /^threshold 3 %, of some cells 10 % and 15 %, floor /,
    );
    expect(ruleOf(0.15)).toMatch(/^threshold 15 %, floor /);
  });

  it("announces the emulated device above every figure", () => {
    expect(render({ backend: "emulated" }).split("\n")[1]).toBe(`! ${emulatedNotice}`);
  });
});

describe("the cells in the table", () => {
  const text = render({ outcome: "regression", cells: buildMixedCells() });

  it("have a row each with both figures, the change with its interval, and the verdict", () => {
    expect(columnsOf(text, "cell ")).toEqual(["cell", "before", "now", "change", "verdict"]);
    expect(columnsOf(text, "D2H ", "61.3")).toEqual([
      "D2H pinned 16 MiB x1",
      "61.3",
      "55.3",
      "−9.9 % (−10.2 to −9.5 %)",
      "slower",
    ]);
    expect(columnsOf(text, "registered")?.slice(1)).toEqual(["55.4", "-", "-", "missing"]);
    expect(columnsOf(text, "mapped")?.slice(1)).toEqual(["-", "-", "-", "new"]);
  });

  const rowsOf = (text: string) =>
    text.split("\n").flatMap((line) => line.match(/^ {2}([HD]2[HD] \S+ \d+ MiB x\d+) /)?.[1] ?? []);

  it("keep their order if they changed alike", () => {
    const cells = buildCellComparisons(40).toReversed();
    expect(rowsOf(render({ cells }))).toEqual(cells.map(({ workers }) => `H2D pinned 16 MiB x${workers}`));
  });

  it("come by severity, and of each those that lost most first", () => {
    const worse = buildSlower({ memory: "registered", change: -0.3 });
    const probable = buildSlower({ memory: "mapped", change: -0.2, verdict: "probably slower" });
    const unsteady = buildSlower({ memory: "write-combined", change: 0, verdict: "unsteady" });
    const shown = rowsOf(render({ cells: [...buildMixedCells(), unsteady, probable, worse] }));
    expect(shown).toEqual(
      [
        ...["D2H registered", "D2H mapped", "D2H pinned", "D2H write-combined", "H2D registered"],
        ...["H2D pageable", "H2D staged", "H2D mapped", "H2D pinned"],
      ].map((name) => `${name} 16 MiB x1`),
    );
  });

  it("are apart by unit, and less is faster for latency", () => {
    const latency = buildCellComparison({ mode: "latency", baseline: 3.501, change: 0.0712 });
    const both = render({ cells: [latency, buildCellComparison()] });
    expect(both).toContain("Throughput in GB/s, more is faster\n");
    expect(both).toContain("Latency in µs, less is faster\n");
    expect(columnsOf(both, " latency ", "3.51")?.slice(1, 4)).toEqual([
      "3.51",
      "3.76",
      "+7.2 % (+6.8 to +7.5 %)",
    ]);
  });

  it("of both directions at once have their direction in latency mode", () => {
    const moved = (direction: "h2d" | "d2h") =>
      buildCellComparison({ direction: "bidir", mode: "latency", moved: direction });
    const twice = render({ cells: [moved("h2d"), moved("d2h")] });
    expect(twice).toMatch(/latency \(H2D\) .*\n.*latency \(D2H\) /);
  });

  it("say by how much host memory alone would have changed the cells", () => {
    const cells = buildCellComparisons(2).map((cell) => ({ ...cell, explainedByHost: 5.197 }));
    expect(render({ cells }).replaceAll(/\s+/g, " ")).toMatch(
      /2 \w+ cells would change by \+519\.7 % if only host memory had changed: the verdict is about the rest/,
    );
  });

  it("never show NaN, and say if no interval is known", () => {
    const unknown = render({ cells: [buildCellComparison({ margin: null })] });
    expect(columnsOf(unknown, "H2D")?.[3]).toBe("0.0 % ±?");
    expect(unknown).toContain("±? no interval");
    const wide = render({ cells: [buildCellComparison({ change: 0.2, margin: 21.69 })] });
    expect(columnsOf(wide, "H2D")?.[3]).toBe("+20.0 % ±?");
    expect(wide).toContain("±? no interval: the noise between processes is larger than the figure itself");
    const invalid = buildCellComparison({ baseline: Number.NaN, change: Number.NaN, margin: Number.NaN });
    expect(render({ cells: [invalid] })).not.toContain("NaN");
  });
});

describe("the table without --all", () => {
  const shortly = (part: ComparisonPart, columns = 80) =>
    drawn(comparisonKind, buildComparison(part), "table", fileScreen({ columns }));

  it("leaves out the cells that are not slower, and counts them", () => {
    const text = shortly({ outcome: "regression", cells: [...buildCellComparisons(30), buildSlower()] });
    expect(text.match(/ not slower\n/g)).toHaveLength(1);
    expect(text).toContain("  30 cells not shown (--all shows them): 30 not slower\n");
    expect(columnsOf(text, "D2H ", "61.3")).toBeDefined();
    expect(shortly({ cells: [buildCellComparison({ margin: null })] })).not.toContain("no interval:");
  });

  it("mentions no hidden cells if it has all", () => {
    expect(shortly({ outcome: "regression", cells: [buildSlower()] })).not.toContain("not shown");
    expect(render({ cells: buildCellComparisons(30) })).not.toContain("not shown");
  });

  it("lists inconclusive cells only as a group, unless one seems to have lost enough to count", () => {
    const cells = [0, -0.01, -0.09].map((change, i) => buildInconclusive({ workers: i + 1, change }));
    const groups = [buildGroup(cells, { verdict: "inconclusive", wouldShow: 0.2 })];
    const text = shortly({ cells, groups });
    expect(columnsOf(text, "H2D pageable ", "20 %")).toEqual([
      ...["H2D pageable", "3", "0.0 % (−1.0 to +1.0 %)", "20 %", "inconclusive"],
    ]);
    expect(text).toContain("16 MiB x3 ");
    expect(text).not.toContain("16 MiB x1 ");
    expect(shortly({ cells })).toMatch(/16 MiB x1 /m);
  });

  it("has the worst of many cells that fail", () => {
    const cells = Array.from({ length: 90 }, (_, i) =>
      buildSlower({ workers: i + 1, change: -(i + 10) / 200 }),
    );
    const text = shortly({ outcome: "regression", cells });
    expect(text).toContain("D2H pinned 16 MiB x90 ");
    expect(text).not.toContain("D2H pinned 16 MiB x50 ");
    expect(text).toContain("66 cells not shown (--all shows them): 66 slower\n");
  });

  it("of a quiet sweep has no more than 40 lines of 80 columns, however noisy its cells are", () => {
    const [h2d, d2h] = (["h2d", "d2h"] as const).map((direction) =>
      ["pageable", "staged", "pinned"].map((memory) =>
        Array.from({ length: 15 }, (_, i) =>
          memory === "pinned"
            ? buildCellComparison({ direction, memory, workers: i + 1 })
            : buildInconclusive({ direction, memory, workers: i + 1, change: -0.08 }),
        ),
      ),
    ) as [CellComparison[][], CellComparison[][]];
    const members = [...h2d, ...d2h];
    const groups = members.map((ofGroup) =>
      buildGroup(ofGroup, {
        verdict: ofGroup[0]!.verdict,
        wouldShow: ofGroup[0]!.memory === "pinned" ? 0.034 : 0.15,
      }),
    );
    const host = buildCellComparisons(9, { memory: "host", verdict: "inconclusive" });
    const text = shortly({ cells: [...members.flat(), ...host], groups, notes: ["x".repeat(70)] });
    expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(40);
    expect(text.replaceAll(/\n +/g, " ")).toContain("99 cells: 69 inconclusive, 30 not slower.");
  });
});

describe("a regression on another machine", () => {
  const differences = ["host name", "GPU UUID"].map((fact) => ({
    ...{ fact, baseline: "a", candidate: "b", blocks: false, isOverruled: false },
    ...(fact === "GPU UUID" ? { isOtherMachine: true as const } : {}),
  }));
  const comparison = buildComparison({ outcome: "regression", cells: [buildSlower()], differences });

  it.each([
    ["table", "\n=> On another machine (host a → b, another GPU): D2H pinned"],
    ["markdown", "## pinbench check: On another machine (host a → b, another GPU): D2H pinned"],
    ["github", "pinbench check::On another machine (host a → b, another GPU): D2H pinned"],
    ["junit", "On another machine (host a → b, another GPU): D2H pinned"],
  ] as const)("is named first in %s", (format, text) => {
    expect(drawn(comparisonKind, comparison, format, screen)).toContain(text);
  });

  it("is listed under what differs", () => {
    const text = drawn(comparisonKind, comparison, "table", screen);
    expect(text).toContain("  Differs    host name: a before, b now\n");
    expect(text).toContain("  Differs    GPU UUID: a before, b now\n");
  });
});

describe("below the cells in the table", () => {
  it("each reason appears once, without those of good cells", () => {
    const inconclusive = [1, 2, 3].map((workers) => buildInconclusive({ workers }));
    const text = render({ cells: [...buildCellComparisons(2), ...inconclusive, buildSlower()] });
    expect(text).toContain("inconclusive: The interval reaches over the threshold (3 cells)\n");
    expect(text.replaceAll(/\n +/g, " ")).toContain(
      "slower: The drop exceeds the threshold of 3 % and the noise between processes (D2H pinned ",
    );
    expect(text).not.toContain("within the threshold");
  });

  it("a verdict without a reason is explained", () => {
    const text = render({ cells: buildMixedCells() }).replaceAll(/\n +/g, " ");
    expect(text).toMatch(/ not slower: a loss of [^;]*; faster: shown [^;]*; new: only in the candidate\b/);
    expect(text).not.toContain("missing: in the baseline");
  });

  it("the notes are the last, and the outcome is the first line below the title", () => {
    const text = render({ notes: ["the spread is that of these runs."] });
    expect(text).toMatch(
      /^pinbench 0\.1\.0 check\n\n=> Nothing is slower\. Pinned: a loss of 3\.3 % would show\.\n\n {2}Baseline /,
    );
    expect(text).toMatch(/ {2}note: the spread is that of these runs\.\n$/);
    expect(render({ cells: [] })).toContain("\n\n=> No cell was compared.\n\n");
  });
});

describe("the colours of the table", () => {
  const part = { outcome: "regression" as const, cells: buildMixedCells() };

  it("change nothing but the escape codes, and are absent at level 0", () => {
    expect(render(part)).not.toContain("\u001b");
    expect(stripVTControlCharacters(render(part, 1))).toBe(render(part));
  });

  it("make slower cells red and mute cells that are not slower", () => {
    const text = render(part, 1);
    expect(text).toContain("\u001b[31mslower\u001b[39m");
    expect(text).toContain("\u001b[2mnot slower\u001b[22m");
    expect(text).toContain("\u001b[31m=> D2H pinned 16 MiB x1: slower, ");
  });
});
