import { stripVTControlCharacters } from "node:util";
import { Chalk } from "chalk";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ChartPoint, Curve, CurveChart } from "../../../src/draw/chart/chart.js";
import { curveStyles } from "../../../src/draw/chart/curve-styles.js";
import { fileScreen, type Screen } from "../../../src/draw/screen.js";
import { terminalPlot, terminalPlots, terminalStyles } from "../../../src/draw/terminal/terminal-plot.js";
import { memories } from "../../../src/settings/choices.js";
import { presets } from "../../../src/settings/presets.js";
import { formatSize } from "../../../src/settings/units.js";
import { KiB, MiB } from "../../helpers/result-document.js";

const curveOf = (name: string, style: number, points: readonly [x: number, y: number][]): Curve => ({
  ...{ name, style, isJoined: true },
  points: points.map(([x, y]) => ({ x, y, low: null, high: null, text: "" })),
});

const bySize = { label: "size of a copy", scale: "log", format: formatSize } as const;
const inGBps = { label: "GB/s", scale: "linear", includes: [0], format: String } as const;

const chartOf = (curves: readonly Curve[], parts: Partial<CurveChart> = {}): CurveChart => ({
  ...{ kind: "curves", name: "h2d-by-size", title: "Host to device (H2D), GB/s", description: "" },
  ...{ x: bySize, y: inGBps, curves, rules: [] },
  ...parts,
});

/** A chart of plain numbers, each line of which is a unit of y. */
const plain = (points: readonly [x: number, y: number][], parts: Partial<CurveChart> = {}) =>
  chartOf([curveOf("one", 0, points)], {
    title: "title",
    x: { label: "x", scale: "linear", format: String },
    y: { label: "y", scale: "linear", includes: [0, 14], ticks: [0, 2, 4, 6, 8, 10, 12, 14], format: String },
    ...parts,
  });

/** What an H200 brings, by a PCIe link of 63 GB/s. */
const sizes = [64 * KiB, MiB, 16 * MiB, 64 * MiB, 256 * MiB];
const figures = {
  pageable: [6.25, 10.4, 10.9, 10.9, 10.6],
  staged: [8.23, 11.3, 11.3, 11.3, 11.5],
  pinned: [18, 49, 55, 55.3, 55.4],
};
const sweep = chartOf(
  (["pageable", "staged", "pinned"] as const).map((memory) =>
    curveOf(
      memory,
      memories.indexOf(memory),
      sizes.map((size, index) => [size, figures[memory][index]!]),
    ),
  ),
  {
    title: "Host to device (H2D), GB/s, by size of a copy, 1 worker",
    x: { ...bySize, ticks: sizes },
    rules: [{ axis: "y", value: 63, label: "link's limit, 63.0 GB/s" }],
  },
);

/** All memory kinds at 81 sizes, as the preset shmoo has them: rates that rise towards a limit of each kind's own. */
const shmoo = chartOf(
  memories.map((memory, style) =>
    curveOf(
      memory,
      style,
      presets.shmoo.sizesBytes.map((size) => [size, (56 - 6 * style) / (1 + (2 ** style * 64 * KiB) / size)]),
    ),
  ),
  {
    title: "Device to host (D2H), GB/s, by size of a copy, 1 worker",
    x: { ...bySize, ticks: presets.shmoo.sizesBytes },
  },
);

const screenOf = (columns: number, parts: Partial<Screen> = {}) => fileScreen({ columns, ...parts });
const inColour = { chalk: new Chalk({ level: 3 }) };
const widthOf = (line: string) => [...line].length;

/** The lines between the title with its legend and the axis, by the name of the tick that stands beside them. */
function lineNamed(lines: readonly string[], name: string): string {
  const found = lines.filter((line) => line.trim().split(" ")[0] === name && /[┤┼+]/.test(line));
  expect(found, name).toHaveLength(1);
  return found[0]!;
}

describe("pictures", () => {
  const pictures = { sweep, shmoo };

  it.each([40, 60, 80, 120, 200])("%i columns wide", async (columns) => {
    for (const [name, chart] of Object.entries(pictures)) {
      const text = `${terminalPlot(chart, screenOf(columns)).join("\n")}\n`;
      await expect(text).toMatchFileSnapshot(`plots/${name}-${columns}.txt`);
    }
  });

  it("in ASCII", async () => {
    for (const [name, chart] of Object.entries(pictures)) {
      const text = `${terminalPlot(chart, screenOf(80, { isAscii: true })).join("\n")}\n`;
      expect(text).toMatch(/^[\n -~]*$/);
      await expect(text).toMatchFileSnapshot(`plots/${name}-ascii.txt`);
    }
  });

  it("in colours, which change nothing but the colours", () => {
    for (const chart of Object.values(pictures)) {
      const coloured = terminalPlot(chart, screenOf(80, inColour)).join("\n");
      expect(stripVTControlCharacters(coloured)).toBe(terminalPlot(chart, screenOf(80)).join("\n"));
      for (const { style } of chart.curves) {
        const { colour, mark } = terminalStyles[style]!;
        const start = inColour.chalk.hex(colour)("|").split("|")[0];
        // Its mark in the legend and, in whatever is drawn in one go, at least one point.
        expect(coloured).toContain(`${start}${mark}`);
        expect(coloured.split(start!).length, colour).toBeGreaterThan(2);
      }
    }
  });
});

describe("a plot", () => {
  it("has a mark for each point, on the line of its value", () => {
    const lines = terminalPlot(
      plain([
        [0, 0],
        [5, 14],
        [10, 6],
      ]),
      screenOf(60),
    );
    expect(lines.join("\n").match(/●/g)).toHaveLength(1 + 3);
    for (const value of ["0", "14", "6"]) expect(lineNamed(lines, value)).toContain("●");
  });

  it("puts a mark above the tick of its value", () => {
    const points = sizes.map((size): [number, number] => [size, 10]);
    const lines = terminalPlot(
      chartOf([curveOf("one", 0, points)], { x: { ...bySize, ticks: sizes } }),
      screenOf(80),
    );
    const columnsOf = (line: string, signs: RegExp) => [...line.matchAll(signs)].map(({ index }) => index);
    const marks = columnsOf(lineNamed(lines, "10"), /●/g);
    expect(marks).toHaveLength(sizes.length);
    expect(columnsOf(lineNamed(lines, "0"), /┬/g)).toEqual(marks);
  });

  it("puts marks that would hide each other side by side", () => {
    const curves = ["one", "two", "three"].map((name, style) => curveOf(name, style, [[MiB, 10]]));
    expect(terminalPlot(chartOf(curves), screenOf(60)).join("\n")).toContain("▲●■");
  });

  it("marks some points of a curve that all of them would hide", () => {
    const curves = ["one", "two"].map((name, style) =>
      curveOf(
        name,
        style,
        Array.from({ length: 500 }, (_, x) => [x, 4 + 6 * style]),
      ),
    );
    const lines = terminalPlot(plain([], { curves }), screenOf(80));
    expect(lineNamed(lines, "4")).toMatch(/┤●([⠁-⣿]{10,12}●){5,6}[⠁-⣿]*$/);
    // The second curve's marks are half way between those of the first.
    expect(lineNamed(lines, "10")).toMatch(/┤[⠁-⣿]{5,7}■([⠁-⣿]{10,12}■){5,6}[⠁-⣿]*$/);
  });

  it("does not join points that do not belong to a line", () => {
    const [curve] = plain([
      [0, 2],
      [9, 12],
    ]).curves;
    const chart = plain([], { curves: [{ ...curve!, isJoined: false }] });
    const text = terminalPlot(chart, screenOf(60)).join("\n");
    expect(text.match(/●/g)).toHaveLength(1 + 2);
    expect(text).not.toMatch(/[⠁-⣿]/);
  });

  it("shows in another way what was not measured", () => {
    const open = (points: readonly ChartPoint[]) => points.map((point) => ({ ...point, isOpen: true }));
    const [curve] = plain([
      [0, 2],
      [9, 12],
    ]).curves;
    const chart = plain([], { curves: [{ ...curve!, points: open(curve!.points) }] });
    for (const [parts, sign] of [
      [{}, "○"],
      [{ isAscii: true }, "?"],
    ] as const) {
      expect(terminalPlot(chart, screenOf(60, parts)).join("\n").split(sign)).toHaveLength(1 + 1 + 2);
    }
    const half = plain([], {
      curves: [{ ...curve!, points: [...open(curve!.points.slice(1)), curve!.points[0]!] }],
    });
    const text = terminalPlot(half, screenOf(60)).join("\n");
    // The legend has the sign of what was measured, if anything was.
    expect([text.split("●").length - 1, text.split("○").length - 1]).toEqual([1 + 1, 1]);
  });

  it("joins no point that stands apart, and marks none of a fitted line", () => {
    const [curve] = plain([
      [0, 2],
      [5, 12],
      [9, 12],
    ]).curves;
    const points = curve!.points.map((point, index) => ({ ...point, isApart: index === 1 }));
    const apart = terminalPlot(plain([], { curves: [{ ...curve!, points }] }), screenOf(60)).join("\n");
    expect(apart.match(/●/g)).toHaveLength(1 + 3);
    expect(apart).not.toMatch(/[⠁-⣿]/);
    const fitted = terminalPlot(plain([], { curves: [{ ...curve!, hasNoMarks: true }] }), screenOf(60));
    expect(fitted[1]).toContain("── one");
    expect(fitted.join("\n")).not.toContain("●");
    expect(lineNamed(fitted, "12")).toMatch(/[⠁-⣿]/);
  });

  it("has rules across it, and says what they are", () => {
    const level = plain([[3, 4]], { rules: [{ axis: "y", value: 12, label: "the limit" }] });
    const lines = terminalPlot(level, screenOf(60));
    expect(lineNamed(lines, "12")).toMatch(/┤⠤( ⠤){20,}$/);
    expect(lines[1]).toContain("╌╌ the limit");
    const upright = plain([[3, 4]], { rules: [{ axis: "x", value: 5, label: "here" }] });
    expect(terminalPlot(upright, screenOf(60)).filter((line) => /[⡇⢸]$/.test(line)).length).toBeGreaterThan(
      5,
    );
  });

  it("breaks names that the legend has no room for", () => {
    const label = "recommended: 12 workers, not pinned, prefetch 4, 443 batches/s";
    const lines = terminalPlot(plain([[3, 4]], { rules: [{ axis: "y", value: 6, label }] }), screenOf(40));
    expect(lines.slice(1, 5)).toEqual([
      "   y   ● one",
      "       ╌╌ recommended: 12 workers, not",
      "          pinned, prefetch 4,",
      "          443 batches/s",
    ]);
  });

  it("spells in ASCII what has no sign there, and stays within the screen", () => {
    const chart = plain([[1, 2]], {
      title: "2 × 3 µs",
      x: { label: "±", scale: "linear", format: (x) => `±${x}` },
    });
    const lines = terminalPlot(chart, screenOf(60, { isAscii: true }));
    expect(lines[0]).toBe("2 x 3 us");
    expect(lines.at(-1)!.trim()).toBe("+-");
    expect(lines.at(-2)).toContain("+-1");
  });

  it("of one point, of equal values and of nothing but 0 is drawn", () => {
    const single = terminalPlot(chartOf([curveOf("one", 0, [[MiB, 12.5]])]), screenOf(60));
    expect(single.join("\n").match(/●/g)).toHaveLength(2);
    for (const value of [0, 7]) {
      const equal = plain(
        [
          [1, value],
          [1, value],
        ],
        { y: { label: "y", scale: "linear", format: String } },
      );
      const text = terminalPlot(equal, screenOf(60)).join("\n");
      expect(text).toMatch(/●/);
      expect(text).not.toMatch(/NaN|Infinity/);
    }
  });

  it("leaves out what its axes have no place for", () => {
    const points: [number, number][] = [
      [0, 1],
      [MiB, Number.NaN],
      [Number.POSITIVE_INFINITY, 4],
      [MiB, 5],
      [4 * MiB, 6],
    ];
    const rules = [{ axis: "x" as const, value: 0, label: "nowhere" }];
    const text = terminalPlot(chartOf([curveOf("one", 0, points)], { rules }), screenOf(60)).join("\n");
    expect(text.match(/●/g)).toHaveLength(1 + 2);
    expect(text).not.toMatch(/NaN|Infinity|nowhere/);
  });

  it("without points, or without room for them, is no line at all", () => {
    expect(terminalPlot(chartOf([]), screenOf(80))).toEqual([]);
    expect(terminalPlot(chartOf([curveOf("one", 0, [[0, 1]])]), screenOf(80))).toEqual([]);
    expect(terminalPlot(sweep, screenOf(20))).toEqual([]);
  });
});

describe("any plot", () => {
  const value = fc.oneof(
    fc.constant(0),
    fc.integer({ min: 1, max: 1e9 }),
    fc.double({ min: 1e-9, max: 1e12, noNaN: true }),
  );
  const curve = fc.record({
    name: fc.constantFrom(
      "pinned",
      "write-combined",
      "2 × link",
      "not pinned, prefetch 4: at most (not tried)",
    ),
    style: fc.nat(20),
    isJoined: fc.boolean(),
    points: fc.array(
      fc.record({ x: value, y: value, isOpen: fc.boolean() }).map((point) => ({
        ...{ low: null, high: null, text: "" },
        ...point,
      })),
      { maxLength: 12 },
    ),
  });
  const scale = fc.constantFrom("linear" as const, "log" as const);
  const chart = fc
    .record({
      curves: fc.array(curve, { maxLength: 9 }),
      rules: fc.array(
        fc.record({ axis: fc.constantFrom("x" as const, "y" as const), value, label: fc.constant("limit") }),
        { maxLength: 2 },
      ),
      x: fc.record({ label: fc.constant("size"), scale, format: fc.constant(String) }),
      y: fc.record({ label: fc.constant("GB/s"), scale, format: fc.constant(String) }),
    })
    .map(({ curves, ...parts }) => chartOf(curves, parts));

  it("is no wider than the screen, in Unicode, in ASCII and in colours, and no line ends in blanks", () => {
    fc.assert(
      fc.property(chart, fc.integer({ min: 40, max: 220 }), (any, columns) => {
        for (const parts of [{}, { isAscii: true }, inColour]) {
          const lines = terminalPlot(any, screenOf(columns, parts)).map(stripVTControlCharacters);
          for (const line of lines) {
            expect(widthOf(line), line).toBeLessThanOrEqual(columns);
            expect(line).toBe(line.trimEnd());
            expect(line).not.toMatch(/NaN|Infinity|undefined/);
          }
          // Title, up to 11 lines of legend on a narrow screen, the plot, two lines of axis.
          expect(lines.length).toBeLessThanOrEqual(1 + 11 + 20 + 2);
        }
      }),
      { seed: 1, numRuns: 300 },
    );
  });
});

describe("the plots of a document", () => {
  it("are a block each", () => {
    expect(terminalPlots([sweep, shmoo], screenOf(80), "")).toEqual([
      terminalPlot(sweep, screenOf(80)),
      terminalPlot(shmoo, screenOf(80)),
    ]);
  });

  it("that there are none is said", () => {
    expect(terminalPlots([], screenOf(200), "two sizes")).toEqual([["  nothing to plot: two sizes"]]);
  });
});

describe("the styles of curves", () => {
  it("are as many as those of a page, each with signs of its own", () => {
    expect(terminalStyles).toHaveLength(curveStyles.length);
    expect(terminalStyles.length).toBeGreaterThanOrEqual(memories.length);
    for (const key of ["colour", "mark", "open", "ascii"] as const) {
      expect(new Set(terminalStyles.map((style) => style[key])).size).toBe(terminalStyles.length);
    }
  });

  it("can be read on a black and on a white ground, and those of a page on its own ones", () => {
    // WCAG 2.2, "relative luminance" and "contrast ratio".
    const lightness = (colour: string) => {
      const [red, green, blue] = [1, 3, 5].map((at) => {
        const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue! + 0.05;
    };
    for (const { colour } of terminalStyles) {
      expect(lightness(colour) / lightness("#000000"), colour).toBeGreaterThanOrEqual(3.5);
      expect(lightness("#ffffff") / lightness(colour), colour).toBeGreaterThanOrEqual(3.5);
    }
    for (const { onLight, onDark } of curveStyles) {
      expect(lightness("#ffffff") / lightness(onLight), onLight).toBeGreaterThanOrEqual(3);
      expect(lightness(onDark) / lightness("#14171a"), onDark).toBeGreaterThanOrEqual(3);
      expect(lightness(onDark), onDark).toBeGreaterThan(lightness(onLight));
    }
  });
});
