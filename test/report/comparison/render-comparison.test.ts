import { stripVTControlCharacters } from "node:util";
import { Chalk } from "chalk";
import { describe, expect, it } from "vitest";
import { comparisonSchema } from "../../../src/compare/comparison.js";
import {
  comparisonFormatOfPath,
  comparisonTable,
  renderComparison,
} from "../../../src/report/comparison/render-comparison.js";
import { fileScreen } from "../../../src/report/screen.js";
import { emulatedNotice } from "../../../src/results/device-facts.js";
import { comparisonFormats } from "../../../src/settings/choices.js";
import {
  buildCellComparison,
  buildCellComparisons,
  buildComparison,
  buildInconclusive,
  buildMixedCells,
  buildSlower,
  type ComparisonPart,
  oddText,
} from "../../helpers/comparison.js";

const screen = fileScreen();

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
        hint: "Use one of .json, .md, .txt, .xml, .html, .svg.",
      }),
    );
  });

  it.each(comparisonFormats)(
    "renders %s, the same each time, and says of the emulated device what it is",
    (format) => {
      const comparison = buildComparison({ backend: "emulated", cells: buildMixedCells() });
      const text = renderComparison(comparison, format, screen);
      expect(text).toBe(renderComparison(comparison, format, screen));
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
      const text = renderComparison(buildComparison(part), format, screen);
      expect(text).not.toMatch(/NaN|Infinity|undefined|\[object/);
    }
  });

  it("has the comparison itself as JSON", () => {
    const comparison = buildComparison({ cells: buildMixedCells() });
    const text = renderComparison(comparison, "json", screen);
    expect(comparisonSchema.parse(JSON.parse(text))).toEqual(comparison);
  });
});

const render = (part: ComparisonPart, level: 0 | 1 = 0) =>
  comparisonTable(buildComparison(part), fileScreen({ chalk: new Chalk({ level }) }));

const columnsOf = (text: string, ...parts: string[]) =>
  text
    .split("\n")
    .find((line) => parts.every((part) => line.includes(part)))
    ?.trim()
    .split(/\s{2,}/);

describe("the header of the table", () => {
  const driver = { fact: "driver", baseline: "580.1", candidate: null, blocks: true, isOverruled: false };

  it("says what is compared with what, and by which rule", () => {
    const text = render({ confirmation: { runs: 5, atMost: 5, suspects: ["a", "b"] } });
    expect(text.split("\n")[0]).toBe("pinbench 0.1.0 check");
    expect(columnsOf(text, "Baseline ")?.[1]).toBe("baseline.json, 5 runs, from 2026-11-20T10:00:00.000Z");
    expect(columnsOf(text, "Candidate ")?.[1]).toContain("measured now, 3 runs");
    expect(columnsOf(text, "Device ")?.[1]).toBe("NVIDIA H200");
    expect(columnsOf(text, "Rule ")?.[1]).toBe(
      "threshold 3 %, floor 0.05 GB/s and 0.1 µs, significance 1 % over all cells",
    );
    expect(columnsOf(text, "Confirmed ")?.[1]).toBe("2 suspects measured again by 5 fresh processes");
  });

  it("says in what the two differ, and when that was overruled", () => {
    expect(columnsOf(render({ differences: [driver] }), "Differs")?.[1]).toBe(
      "driver: 580.1 before, not known now (not comparable)",
    );
    const overruled = render({ differences: [{ ...driver, blocks: false, isOverruled: true }] });
    expect(overruled.split("\n")[1]).toBe("! not alike in driver, compared all the same (--allow-mismatch)");
    expect(overruled).not.toContain("not comparable");
  });

  it("names the thresholds that cells have besides the usual one", () => {
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

  it("keep their order", () => {
    const cells = buildCellComparisons(40).toReversed();
    const names = render({ cells })
      .split("\n")
      .flatMap((line) => line.match(/^ {2}(H2D pinned 16 MiB x\d+) /)?.[1] ?? []);
    expect(names).toEqual(cells.map(({ workers }) => `H2D pinned 16 MiB x${workers}`));
  });

  it("are apart by unit, and less is faster for latency", () => {
    const latency = buildCellComparison({ mode: "latency", baseline: 3.501, change: 0.0712 });
    const both = render({ cells: [latency, buildCellComparison()] });
    expect(both).toContain("Throughput in GB/s, more is faster\n");
    expect(both).toContain("Latency in µs, less is faster\n");
    expect(columnsOf(both, " latency ")?.slice(1, 4)).toEqual(["3.51", "3.76", "+7.2 % (+6.8 to +7.5 %)"]);
  });

  it("of both directions at once are told apart in latency mode", () => {
    const moved = (direction: "h2d" | "d2h") =>
      buildCellComparison({ direction: "bidir", mode: "latency", moved: direction });
    const twice = render({ cells: [moved("h2d"), moved("d2h")] });
    expect(twice).toMatch(/latency \(H2D\) .*\n.*latency \(D2H\) /);
  });

  it("never show NaN, and say where no interval is known", () => {
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

describe("a regression on another machine", () => {
  const differences = ["host name", "GPU UUID"].map((fact) => ({
    ...{ fact, baseline: "a", candidate: "b", blocks: false, isOverruled: false },
    ...(fact === "GPU UUID" ? { isOtherMachine: true as const } : {}),
  }));
  const comparison = buildComparison({ outcome: "regression", cells: [buildSlower()], differences });

  it.each([
    ["table", "\n=> on another machine (host a → b, another GPU): 1 of 1"],
    ["markdown", "## pinbench check: on another machine (host a → b, another GPU): 1 of 1"],
    ["github", "pinbench check::on another machine (host a → b, another GPU): 1 of 1"],
    ["junit", "on another machine (host a → b, another GPU): 1 of 1"],
  ] as const)("is said first in %s", (format, text) => {
    expect(renderComparison(comparison, format, screen)).toContain(text);
  });

  it("is listed under what differs", () => {
    const text = comparisonTable(comparison, screen);
    expect(text).toContain("  Differs    host name: a before, b now\n");
    expect(text).toContain("  Differs    GPU UUID: a before, b now\n");
  });
});

describe("below the cells in the table", () => {
  it("each reason stands once, without those of cells with which nothing is wrong", () => {
    const inconclusive = [1, 2, 3].map((workers) => buildInconclusive({ workers }));
    const text = render({ cells: [...buildCellComparisons(2), ...inconclusive, buildSlower()] });
    expect(text).toContain("inconclusive: The interval reaches over the threshold (3 cells)\n");
    expect(text.replaceAll(/\n +/g, " ")).toContain(
      "slower: The drop exceeds the threshold of 3 % and the noise between processes (D2H pinned ",
    );
    expect(text).not.toContain("within the threshold");
  });

  it("a verdict is explained where no reason is given for it", () => {
    const text = render({ cells: buildMixedCells() }).replaceAll(/\n +/g, " ");
    expect(text).toMatch(/ same: not slower by [^;]*; faster: shown [^;]*; new: in the candidate alone\b/);
    expect(text).not.toContain("missing: in the baseline");
  });

  it("the notes are the last, and the outcome is the first line below the title", () => {
    const text = render({ notes: ["the spread is that of these runs."] });
    expect(text).toMatch(/^pinbench 0\.1\.0 check\n\n=> no cell is slower: 1 same\n\n {2}Baseline /);
    expect(text).toMatch(/ {2}note: the spread is that of these runs\.\n$/);
    expect(render({ cells: [] })).toContain("\n\n=> no cell was compared\n\n");
  });
});

describe("the colours of the table", () => {
  const part = { outcome: "regression" as const, cells: buildMixedCells() };

  it("change nothing but the escape codes, and are absent at level 0", () => {
    expect(render(part)).not.toContain("\u001b");
    expect(stripVTControlCharacters(render(part, 1))).toBe(render(part));
  });

  it("make the slower red and leave the same in the background", () => {
    const text = render(part, 1);
    expect(text).toContain("\u001b[31mslower\u001b[39m");
    expect(text).toContain("\u001b[2msame\u001b[22m");
    expect(text).toContain("\u001b[31m=> 1 of 6 cells is slower");
  });
});
