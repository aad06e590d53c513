import { expect, it } from "vitest";
import type {
  Axis,
  Bar,
  BarChart,
  Chart,
  ChartPoint,
  Curve,
  CurveChart,
  ForestChart,
  ForestRow,
  RuleLine,
  StripChart,
  StripMark,
  StripRow,
} from "../../../src/draw/chart/chart.js";
import { chartWidth } from "../../../src/draw/chart/chart-frame.js";
import { chartFile } from "../../../src/draw/chart/draw-chart.js";
import {
  cornersOf,
  faultsOfXml,
  marksIn,
  number,
  ofClass,
  pictureOf,
  type Shape,
  shapesIn,
} from "../../helpers/picture.js";

/** All kinds of charts: their shapes are recorded in pictures.txt, which `vitest -u` rewrites. */

const axis = (label: string, part: Partial<Axis> = {}): Axis => ({
  label,
  scale: "linear",
  format: String,
  ...part,
});
const fromZero = axis("GB/s", { includes: [0] });
const sizes = axis("size", { scale: "log", ticks: [1, 10, 100] });

function point(
  x: number,
  y: number,
  halfWidth: number | null = null,
  part: Partial<ChartPoint> = {},
): ChartPoint {
  const [low, high] = halfWidth === null ? [null, null] : [y - halfWidth, y + halfWidth];
  return { x, y, low, high, text: `${x}: ${y}`, ...part };
}
const curve = (points: readonly ChartPoint[], part: Partial<Curve> = {}): Curve => ({
  name: "pinned",
  style: 0,
  isJoined: true,
  points,
  ...part,
});
const curves = (some: readonly Curve[], part: Partial<CurveChart> = {}): CurveChart => ({
  ...{
    kind: "curves",
    name: "a-chart",
    title: "A chart",
    description: "What it shows.",
    x: sizes,
    y: fromZero,
    curves: some,
    rules: [],
  },
  ...part,
});
const open = { isOpen: true };
const apart = { isApart: true };

const upright = (value: number, label: string): RuleLine => ({ axis: "x", value, label });
const checks = curve(
  [0, 60].map((x) => point(x, x)),
  { name: "checks", isJoined: false },
);
const ruled = (...rules: RuleLine[]) => curves([checks], { x: axis("check"), y: axis("change"), rules });

const bar = (name: string, value: number, part: Partial<Bar> = {}): Bar => ({
  name,
  value,
  low: null,
  high: null,
  text: String(value),
  ...part,
});
const bars = (groups: readonly (readonly Bar[])[], value = axis("GB/s")): BarChart => ({
  ...{ kind: "bars", name: "bars", title: "Bars", description: "What they show.", value },
  groups: groups.map((some, i) => ({ name: ["pinned", "pageable"][i]!, style: 3 * i, bars: some })),
});

const row = (part: Partial<ForestRow> = {}): ForestRow => ({
  ...{ label: "H2D pinned 64 MiB", kind: 0, value: -0.1, low: -0.12, high: -0.08, limits: [-0.05, 0.05] },
  ...{ figure: "−10.0 %", text: "H2D pinned 64 MiB: 61.4 GB/s before, 55.3 GB/s now" },
  ...part,
});
const forest = (rows: ForestRow[], part: Partial<ForestChart> = {}): ForestChart => ({
  ...{
    kind: "forest",
    name: "changes",
    title: "Change of each cell",
    description: "2 slower.",
    rows,
    limitName: "threshold",
  },
  x: axis("change of GB/s", { format: (value) => `${value * 100} %` }),
  kinds: [
    { name: "slower", style: 1 },
    { name: "inconclusive", style: 3, isOpen: true },
  ],
  ...part,
});
const longKind = "not comparable: a loss of the cell's threshold could be neither shown nor ruled out";

const strip = (part: Partial<StripRow> = {}): StripRow => ({
  label: "H2D pinned 64 MiB",
  figure: "55.4 GB/s",
  dots: [-0.01, 0, 0.01],
  marks: [],
  ...part,
});
const strips = (rows: StripRow[], part: Partial<StripChart> = {}): StripChart => ({
  ...{
    kind: "strips",
    name: "gpus",
    title: "Each GPU",
    description: "1 is slow.",
    rows,
    dotsName: "GPU",
    marksName: "slow",
  },
  x: axis("change of speed", { format: (value) => `${100 * value} %` }),
  rules: [{ axis: "x", value: 0, label: "centre" }],
  ...part,
});
const mark = (value: number, name: string): StripMark => ({ value, name, text: `${name}: slow` });

const charts: Record<string, Chart> = {
  "a curve from 0 on, in whatever order its points come": curves([
    curve([point(100, 40), point(1, 0), point(10, 20)]),
  ]),
  "a point at 0 across, off the frame": curves([curve([point(0, 5), point(1, 6), point(2, 7)])], {
    x: axis("GB/s", { includes: [] }),
  }),
  "an axis that begins at 0 with nothing there": curves([curve([point(1, 6), point(2, 7)])], { x: fromZero }),
  "logarithmic axes without a place for 0": curves(
    [curve([point(0, 5), point(1, 0), point(5, 5, 6), point(10, 50), point(100, 500)])],
    { x: axis("size", { scale: "log", ticks: [0, 1, 10] }), y: axis("ms", { scale: "log" }) },
  ),
  "points off the frame of an axis that does not begin at 0": curves(
    [curve([point(1, 10), point(2, 15), point(4, 20)])],
    { x: axis("workers", { ticks: [1, 2, 4] }), y: axis("GB/s") },
  ),
  "open points, alone and among others": curves([
    curve([point(1, 5), point(10, 6, null, open)]),
    curve([point(1, 7, null, open)], { name: "pageable", style: 1 }),
  ]),
  "points that stand apart, with intervals and without": curves([
    curve([point(1, 5, 1), point(10, 8, 1, apart), point(50, 6, 1), point(100, 7, 1)]),
    curve([point(1, 15), point(10, 18, null, apart), point(50, 16)], { name: "pageable", style: 1 }),
  ]),
  "a fitted line without marks, and points without a line": curves([
    curve([point(1, 5), point(10, 6)], { hasNoMarks: true }),
    curve([point(1, 7), point(10, 8)], { name: "points", style: 1, isJoined: false }),
  ]),
  "an upright axis with long names": curves([curve([point(1, 5)])], {
    y: { ...fromZero, format: (value) => `${value} gigabytes a second` },
  }),
  "round marks across with long names": curves([curve([point(0, 5), point(100, 5)])], {
    x: { ...fromZero, format: (value) => `${value} gigabytes` },
  }),
  "forty marks, of which there is room for few": curves([curve([point(1000, 5), point(1039, 5)])], {
    x: axis("check", { ticks: Array.from({ length: 40 }, (_, i) => 1000 + i) }),
  }),
  "bands that end if a point has no interval": curves([
    curve([point(1, 20, 5), point(10, 20, 4), point(20, 20), point(50, 20, 3), point(100, 20, 2)]),
  ]),
  "lone intervals, and those of points that are not joined": curves([
    curve([point(1, 20), point(10, 20, 5), point(100, 20)]),
    curve([point(1, 30, 4), point(10, 35, 5)], { name: "points", style: 1, isJoined: false }),
  ]),
  "an interval above three times the largest figure ends there in an arrow": curves([
    curve([point(1, 20, 5), point(10, 30, 2), point(100, 25, 400)]),
  ]),
  ...Object.fromEntries(
    [
      [1, 1000],
      [0.07, 0.7],
      [2, 4],
    ].map(([from, to]) => [
      `a logarithmic axis from ${from} to ${to}`,
      curves([curve([point(1, from!), point(100, to!)])], { y: axis("ms", { scale: "log" }) }),
    ]),
  ),
  "an interval that reaches far down, and a level rule": curves(
    [curve([point(1, 50, 45), point(100, 60, 1)])],
    { y: axis("GB/s"), rules: [{ axis: "y", value: 110, label: "limit" }] },
  ),
  "upright rules of which the second begins a row": ruled(
    upright(20, "a new kernel"),
    upright(10, "a new driver"),
  ),
  "seven upright rules in six rows": ruled(
    ...[1, 2, 3, 4, 5, 6, 7].map((value) => upright(value, `rule ${value}`)),
  ),
  "an upright rule at the right, whose label ends there, and one beyond all points": ruled(
    upright(60, "−6.0 %: driver 580.159.04 → 590.10"),
    upright(200, "far"),
  ),
  "an upright rule with room on neither side": ruled(
    upright(30, "−6.0 %: driver 580.159.04 → 590.10, kernel 6.1 → 6.8"),
  ),
  "an upright rule with a label that is cut off": ruled(upright(30, `−6.0 %: driver ${"5".repeat(200)}`)),
  "bars, references and intervals on either side of an end": bars([
    [
      bar("alone", 20, { text: "20.0, all of it" }),
      bar("at once", 40, { low: 35, high: 50 }),
      bar("beside", 30, { low: 5, high: 25 }),
      bar("below", 15, { low: -30, high: 20 }),
    ],
    [bar("low alone", 20, { low: 15 }), bar("high alone", 25, { high: 30 })],
  ]),
  "bars on an axis that includes 200": bars(
    [[bar("alone", 20), bar("wide", 30, { low: 10, high: 100 })]],
    axis("GB/s", { includes: [200] }),
  ),
  "bars of 0": bars([[bar("alone", 0), bar("at once", 0)]]),
  "no bars": bars([[]]),
  "bars with long names and figures": bars([
    [
      bar("a name as long as they come", 55, { text: "55.2, 99.8 % of alone", high: 60 }),
      bar("beside device memory", 199, { text: "164.1, 73.9 % as fast" }),
    ],
  ]),
  "changes of cells, each with its label, figure and threshold": forest([
    ...[-0.1, 0, 0.1].map((value, i) =>
      row({ value, low: value - 0.01, high: value + 0.01, label: `cell ${i}`, figure: `${100 * value} %` }),
    ),
    ...[row({ kind: 1, limits: [-0.1, 0.1] }), row({ low: null, high: null })],
  ]),
  "changes of which some reach too far": forest([
    row(),
    row({ value: -0.01, low: -8, high: 25 }),
    row({ value: -0.01, low: -8, high: 0 }),
    row({ value: -0.01, low: -0.02, high: 25 }),
  ]),
  "changes without a threshold": forest([row({ limits: [] }), row({ limits: [] })], { limitName: null }),
  "changes with a long name of a kind, and a long title": forest([row()], {
    kinds: [longKind, "slower"].map((name, style) => ({ name, style })),
    title: "Change of each cell ".repeat(8).trim(),
  }),
  "strips with a mark, and with a rule beyond all": strips(
    [strip({ marks: [mark(-0.5, "n07 GPU 3")] }), strip({ label: "D2H", figure: "50.0", dots: [0.02] })],
    { rules: [upright(0.5, "limit")] },
  ),
  "strips of fifty equal values, without a mark": strips([strip({ dots: Array<number>(50).fill(0) })]),
  "strips with names that have room": strips([
    strip({ label: "H2D", marks: [mark(-0.1, "n08 GPU 1"), mark(-0.9, "n09 GPU 0")] }),
  ]),
  "strips with a name that has no room": strips([
    strip({
      label: "H2D",
      marks: [mark(-0.1, "n08 GPU 1"), mark(-0.9, "n09 GPU 0"), mark(-0.45, "n10 GPU 2")],
    }),
  ]),
  "strips with forty marks close to each other": strips([
    strip({ marks: Array.from({ length: 40 }, (_, i) => mark(-0.5 + i / 1000, `n${i} GPU 0`)) }),
  ]),
  "strips with a long name": strips([strip({ marks: [mark(-0.5, "n07 GPU 3 of a very long name")] })]),
};
const hostile = '"/><script>alert(1)</script>\u0000';
const hostileCharts: Chart[] = [
  strips([strip({ label: hostile, figure: hostile, marks: [mark(0, hostile)] })], {
    title: hostile,
    dotsName: hostile,
  }),
  bars([[bar(hostile, 1, { text: hostile })]], axis(hostile)),
  forest([row({ label: hostile, figure: hostile, text: hostile })], { title: hostile }),
  curves([curve([point(1, 5, null, { text: hostile })], { name: hostile })], {
    title: hostile,
    rules: [upright(1, hostile)],
  }),
];

it("charts of every kind are drawn as recorded in pictures.txt", async () => {
  const texts = Object.entries(charts).map(([title, chart]) => {
    const [before, after] = chartFile(chart).split(/<style>.*<\/style>/s);
    return `# ${title}\n${(before! + after!).replaceAll("><", ">\n<")}`;
  });
  await expect(texts.join("\n")).toMatchFileSnapshot("pictures.txt");
});

/** Where a text begins and ends, if its letters are as wide as most of this size. */
function spanOf({ attributes, text }: Shape): [number, number] {
  const [x, width] = [Number(attributes.x), 7 * text.length];
  if (attributes["text-anchor"] === "end") return [x - width, x];
  return attributes["text-anchor"] === "middle" ? [x - width / 2, x + width / 2] : [x, x + width];
}

it.each(Object.entries(charts))(
  "a chart has all marks, intervals, rules and texts inside the picture: %s",
  (_, chart) => {
    const svg = pictureOf(chart);
    const height = Number(/viewBox="0 0 \d+ (\d+)"/.exec(svg)![1]);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    expect(pictureOf(chart)).toBe(svg);
    const lines = ["rule", "error", "whisker"]
      .flatMap((name) => ofClass(svg, name))
      .filter(({ attributes }) => "x1" in attributes);
    const places = [
      ...[...marksIn(svg), ...ofClass(svg, "band").flatMap(cornersOf)],
      ...lines.flatMap((line) =>
        [1, 2].map((end) => ({ x: number(line, `x${end}`), y: number(line, `y${end}`) })),
      ),
    ];
    expect(places.filter(({ x, y }) => !(x >= 0 && x <= chartWidth && y >= 0 && y <= height))).toEqual([]);
    // The labels of an axis's marks are left out, as their chart places them.
    const isMark = ({ attributes }: Shape) => attributes["text-anchor"] === "middle";
    const texts = shapesIn(svg).filter(
      (shape) => shape.name === "text" && "x" in shape.attributes && !isMark(shape),
    );
    for (const text of texts) {
      const [from, to] = spanOf(text);
      expect([text.text, from >= 0, to <= chartWidth]).toEqual([text.text, true, true]);
    }
  },
);

it("charts are well-formed SVG, and show hostile names as text", async () => {
  const files = hostileCharts.map(chartFile);
  expect(await faultsOfXml([...files, ...Object.values(charts).map(chartFile)])).toEqual([]);
  expect(files.join("")).not.toContain("<script>");
});
