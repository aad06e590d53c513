import { describe, expect, it } from "vitest";
import type { BarChart, Chart, CurveChart } from "../../../src/draw/chart/chart.js";
import type { Chapter } from "../../../src/draw/page/chapter.js";
import { withSharedAxes } from "../../../src/draw/page/page.js";
import { gridOf, marksIn, ofClass, pictureOf } from "../../helpers/picture.js";

function chapterOf(...charts: Chart[]): Chapter {
  return { report: { command: "", version: "", name: "", hasTerms: false, blocks: [] }, charts };
}

/** A curve through these rates at 1, 2, 3 and so on. */
function curves(rates: readonly number[], part: Partial<CurveChart> = {}): CurveChart {
  const points = rates.map((y, index) => ({ x: index + 1, y, low: null, high: null, text: "" }));
  return {
    kind: "curves",
    name: "h2d-by-size",
    title: "H2D",
    description: "",
    x: { label: "size", scale: "log", ticks: points.map(({ x }) => x), format: String },
    y: { label: "GB/s", scale: "linear", includes: [0], format: String },
    curves: [{ name: "pinned", style: 3, isJoined: true, points }],
    rules: [],
    ...part,
  };
}

const chartsOf = (...chapters: Chapter[]) => withSharedAxes(chapters).flatMap(({ charts }) => charts);

describe("charts of the same name in several results", () => {
  it("show equal values at the same place", () => {
    const [small, large] = chartsOf(chapterOf(curves([5, 10])), chapterOf(curves([5, 10, 55]))).map(
      pictureOf,
    );
    expect(marksIn(small!)).toEqual(marksIn(large!).slice(0, 2));
    expect(gridOf(small!)).toEqual(gridOf(large!));
    const marked = [small!, large!].map((svg) => ofClass(svg, "quiet").map(({ text }) => text));
    expect(marked[0]).toEqual(marked[1]);
  });

  it("have axes that include the intervals and rules of all", () => {
    const limit = curves([5, 10], { rules: [{ axis: "y", value: 63, label: "limit" }] });
    const [plain] = chartsOf(chapterOf(curves([5, 10])), chapterOf(limit)) as [CurveChart];
    expect(plain.y.includes).toContain(63);
    const wide = curves([5, 10]);
    const [first] = wide.curves[0]!.points;
    Object.assign(first!, { low: -2, high: 20 });
    const [narrow] = chartsOf(chapterOf(curves([5, 10])), chapterOf(wide)) as [CurveChart];
    expect(narrow.y.includes).toEqual(expect.arrayContaining([-2, 20]));
    expect(narrow.x.includes).not.toContain(20);
  });

  it("have the axis marks of all, unless one chart sets none", () => {
    const [one] = chartsOf(chapterOf(curves([5])), chapterOf(curves([5, 10]))) as [CurveChart];
    expect(new Set(one.x.ticks)).toEqual(new Set([1, 2]));
    const { ticks: _, ...x } = curves([]).x;
    const [other] = chartsOf(chapterOf(curves([5], { x })), chapterOf(curves([5, 10]))) as [CurveChart];
    expect(other.x.ticks).toBeUndefined();
  });

  it("draw bars to the same scale", () => {
    const bars = (value: number): BarChart => ({
      kind: "bars",
      name: "h2d-at-once",
      title: "",
      description: "",
      value: { label: "GB/s", scale: "linear", format: String },
      groups: [{ name: "", style: 0, bars: [{ name: "", value, low: null, high: null, text: "same" }] }],
    });
    const [one, other] = chartsOf(chapterOf(bars(10)), chapterOf(bars(50))).map((chart) => {
      const [bar] = ofClass(pictureOf(chart), "bar");
      return Number(bar!.attributes.width);
    });
    expect(other).toBeCloseTo(5 * one!, 0);
    const withInterval = bars(10);
    Object.assign(withInterval.groups[0]!.bars[0]!, { low: 5, high: 90 });
    const [plain] = chartsOf(chapterOf(bars(10)), chapterOf(withInterval)) as [BarChart];
    expect(plain.value.includes).toContain(90);
  });
});

describe("no axis is shared by", () => {
  it.each([
    ["charts of different names", curves([1000], { name: "d2h-by-size" })],
    [
      "charts whose axes have different units",
      curves([1000], { y: { label: "µs", scale: "linear", format: String } }),
    ],
    ["charts with other x axes", curves([1000], { x: { label: "workers", scale: "log", format: String } })],
  ])("%s", (_, other) => {
    const one = curves([5], { name: other.name === "d2h-by-size" ? "h2d-by-size" : other.name });
    expect(chartsOf(chapterOf(one), chapterOf(other))).toEqual([one, other]);
  });

  it("the chart of a single result", () => {
    const one = curves([5, 10]);
    expect(chartsOf(chapterOf(one))).toEqual([one]);
  });
});

it("sharing axes between results leaves the original charts unchanged", () => {
  const chapters = [chapterOf(curves([5])), chapterOf(curves([50]))];
  const before = JSON.stringify(chapters);
  withSharedAxes(chapters);
  expect(JSON.stringify(chapters)).toBe(before);
});
