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

/** Points of equal distance, more than a plot has room for. */
const dense = (style: number, y: number) =>
  curveOf(
    `curve ${style}`,
    style,
    Array.from({ length: 500 }, (_, x) => [x, y]),
  );
const [line] = plain([
  [0, 2],
  [5, 12],
  [9, 12],
]).curves as [Curve];
const withPoints = (part: (index: number) => Partial<ChartPoint>, more: Partial<Curve> = {}) =>
  plain([], {
    curves: [{ ...line, ...more, points: line.points.map((point, i) => ({ ...point, ...part(i) })) }],
  });
const label = "recommended: 12 workers, not pinned, prefetch 4, 443 batches/s";
const plots: [what: string, chart: CurveChart, columns: number, parts?: Partial<Screen>][] = [
  [
    "a mark on the line of each value",
    plain([
      [0, 0],
      [5, 14],
      [10, 6],
    ]),
    60,
  ],
  [
    "a mark above the tick of each value",
    chartOf(
      [
        curveOf(
          "one",
          0,
          sizes.map((size) => [size, 10]),
        ),
      ],
      { x: { ...bySize, ticks: sizes } },
    ),
    80,
  ],
  [
    "marks that would hide each other, side by side",
    chartOf(["one", "two", "three"].map((name, style) => curveOf(name, style, [[MiB, 10]]))),
    60,
  ],
  [
    "some marks of many points, those of the second curve half way between",
    plain([], { curves: [dense(0, 4), dense(1, 10)] }),
    80,
  ],
  ["points that are not joined", withPoints(() => ({}), { isJoined: false }), 60],
  ["points that were not measured", withPoints(() => ({ isOpen: true })), 60],
  ["points that were not measured, in ASCII", withPoints(() => ({ isOpen: true })), 60, { isAscii: true }],
  ["a legend of what was measured, if anything was", withPoints((i) => ({ isOpen: i < 2 })), 60],
  ["a point that stands apart", withPoints((i) => ({ isApart: i === 1 })), 60],
  ["a fitted line without marks", withPoints(() => ({}), { hasNoMarks: true }), 60],
  ["a level rule", plain([[3, 4]], { rules: [{ axis: "y", value: 12, label: "the limit" }] }), 60],
  ["an upright rule", plain([[3, 4]], { rules: [{ axis: "x", value: 5, label: "here" }] }), 60],
  ["names that the legend has no room for", plain([[3, 4]], { rules: [{ axis: "y", value: 6, label }] }), 40],
  [
    "what has no sign in ASCII",
    plain([[1, 2]], { title: "2 × 3 µs", x: { label: "±", scale: "linear", format: (x) => `±${x}` } }),
    60,
    { isAscii: true },
  ],
  ["one point", chartOf([curveOf("one", 0, [[MiB, 12.5]])]), 60],
  ...[0, 7].map(
    (value) =>
      [
        `equal values of ${value}`,
        plain(
          [
            [1, value],
            [1, value],
          ],
          { y: { label: "y", scale: "linear", format: String } },
        ),
        60,
      ] as (typeof plots)[number],
  ),
  [
    "what its axes have no place for, left out",
    chartOf(
      [
        curveOf("one", 0, [
          [0, 1],
          [MiB, Number.NaN],
          [Number.POSITIVE_INFINITY, 4],
          [MiB, 5],
          [4 * MiB, 6],
        ]),
      ],
      { rules: [{ axis: "x", value: 0, label: "nowhere" }] },
    ),
    60,
  ],
];

it("plots have what plots/others.txt shows", async () => {
  const texts = plots.map(([what, chart, columns, parts]) =>
    [`# ${what}`, ...terminalPlot(chart, screenOf(columns, parts))].join("\n"),
  );
  await expect(`${texts.join("\n\n")}\n`).toMatchFileSnapshot("plots/others.txt");
});

it("without points, or without room for them, a plot is no line at all", () => {
  expect(terminalPlot(chartOf([]), screenOf(80))).toEqual([]);
  expect(terminalPlot(chartOf([curveOf("one", 0, [[0, 1]])]), screenOf(80))).toEqual([]);
  expect(terminalPlot(sweep, screenOf(20))).toEqual([]);
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
