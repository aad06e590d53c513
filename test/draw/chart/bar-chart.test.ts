import { describe, expect, it } from "vitest";
import type { Bar, BarChart } from "../../../src/draw/chart/chart.js";
import { number, ofClass, pictureOf, shapesIn } from "../../helpers/picture.js";

function bar(name: string, value: number, part: Partial<Bar> = {}): Bar {
  return { name, value, low: null, high: null, text: String(value), ...part };
}

function chart(bars: readonly Bar[], part: Partial<BarChart> = {}): string {
  const bar: BarChart = {
    kind: "bars",
    name: "bars",
    title: "Bars",
    description: "What they show.",
    value: { label: "GB/s", scale: "linear", format: String },
    groups: [{ name: "pinned", style: 3, bars }],
    ...part,
  };
  return pictureOf(bar);
}

describe("bars", () => {
  it("are as long as their values, from one foot", () => {
    const [half, whole] = ofClass(chart([bar("alone", 20), bar("at once", 40)]), "bar");
    expect(number(whole!, "width")).toBeCloseTo(2 * number(half!, "width"), 0);
    expect(number(whole!, "x")).toBe(number(half!, "x"));
    expect(number(whole!, "y")).toBeGreaterThan(number(half!, "y"));
  });

  it("have their names before and their figures behind them", () => {
    const svg = chart([bar("alone", 20, { text: "20.0, all of it" })]);
    const [only] = ofClass(svg, "bar");
    const textOf = (text: string) =>
      shapesIn(svg).find((shape) => shape.text === text && shape.name === "text")!;
    expect(number(textOf("alone"), "x")).toBeLessThan(number(only!, "x"));
    expect(number(textOf("20.0, all of it"), "x")).toBeGreaterThan(
      number(only!, "x") + number(only!, "width"),
    );
  });

  it("are an outline where others are held against them", () => {
    const bars = ofClass(chart([bar("alone", 20, { isReference: true }), bar("at once", 10)]), "bar");
    expect(bars.map(({ attributes }) => attributes.class)).toEqual(["bar reference", "bar"]);
  });

  it("have their intervals across their ends, and texts behind both", () => {
    const svg = chart([bar("alone", 20, { low: 15, high: 30 })]);
    const [only] = ofClass(svg, "bar");
    const [interval] = ofClass(svg, "error");
    const end = number(only!, "x") + number(only!, "width");
    expect(number(interval!, "x1")).toBeLessThan(end);
    expect(number(interval!, "x2")).toBeGreaterThan(end);
    const textAt = (svg: string) => number(shapesIn(svg).findLast(({ text }) => text === "20")!, "x");
    expect(textAt(svg)).toBeGreaterThan(number(interval!, "x2"));
    const before = chart([bar("alone", 20, { low: 5, high: 15 })]);
    const [whole] = ofClass(before, "bar");
    expect(textAt(before)).toBeGreaterThan(number(whole!, "x") + number(whole!, "width"));
  });

  it("have an interval only with both ends, which begins at their foot at the earliest", () => {
    expect(ofClass(chart([bar("alone", 20, { low: 15 })]), "error")).toEqual([]);
    expect(ofClass(chart([bar("alone", 20, { high: 25 })]), "error")).toEqual([]);
    const svg = chart([bar("alone", 20, { low: -30, high: 25 })]);
    expect(number(ofClass(svg, "error")[0]!, "x1")).toBe(number(ofClass(svg, "bar")[0]!, "x"));
  });

  it("share an axis that reaches as far as an interval, and as what it is to include", () => {
    const wide = chart([bar("alone", 20, { low: 10, high: 300 })]);
    expect(number(ofClass(wide, "error")[0]!, "x2")).toBeLessThan(560);
    const value = { label: "GB/s", scale: "linear", format: String, includes: [200] } as const;
    const widthIn = (svg: string) => number(ofClass(svg, "bar")[0]!, "width");
    expect(widthIn(chart([bar("alone", 20)], { value }))).toBeLessThan(
      widthIn(chart([bar("alone", 20)])) / 5,
    );
  });

  it("of a second group stand below its name, which stands apart from the first group", () => {
    const groups = ["pinned", "pageable"].map((name) => ({ name, style: 0, bars: [bar("alone", 20)] }));
    const svg = chart([], { groups });
    const [first, second] = ofClass(svg, "bar").map((one) => number(one, "y"));
    const [, heading] = ofClass(svg, "heading");
    expect(heading!.text).toBe("pageable");
    expect(number(heading!, "y")).toBeLessThan(second!);
    const [one, next] = ofClass(chart([bar("alone", 20), bar("at once", 20)]), "bar");
    // There is more than a row for the name between them.
    expect(second! - first!).toBeGreaterThan(2 * (number(next!, "y") - number(one!, "y")));
  });

  it.each([[[0, 0]], [[5]], [[]]])("of %j are drawn without a figure that is none", (values) => {
    expect(chart(values.map((value) => bar("one", value)))).not.toMatch(/NaN|Infinity|undefined/);
  });

  it("end within the picture, with room for their figures", () => {
    const svg = chart([bar("a name as long as they come", 55, { text: "55.2, 99.8 % of alone", high: 60 })]);
    const width = Number(svg.match(/viewBox="0 0 (\d+)/)![1]);
    const figure = shapesIn(svg).find(({ text, name }) => text.startsWith("55.2,") && name === "text")!;
    expect(number(figure, "x") + 21 * 8).toBeLessThanOrEqual(width);
  });

  it("have marks whose names do not overlap, however little room there is", () => {
    const svg = chart([bar("beside device memory", 199, { text: "164.1, 73.9 % as fast" })]);
    const marks = ofClass(svg, "quiet").map((mark) => ({ at: number(mark, "x"), text: mark.text }));
    expect(marks.length).toBeGreaterThan(1);
    marks.slice(1).forEach(({ at, text }, index) => {
      const before = marks[index]!;
      expect(at - before.at).toBeGreaterThan(((text.length + before.text.length) / 2) * 10.5);
    });
  });

  it.each(["beside device memory", "alone"])("have room for wide letters in %j and behind it", (name) => {
    const svg = chart([bar(name, 55, { text: "164.1, 73.9 % as fast", high: 60 })]);
    const width = Number(svg.match(/viewBox="0 0 (\d+)/)![1]);
    const textOf = (wanted: string) =>
      shapesIn(svg).find(({ text, name }) => text === wanted && name === "text")!;
    // As wide as the letters of DejaVu Sans are at 16 px, on average.
    expect(number(textOf(name), "x") - name.length * 9.5).toBeGreaterThanOrEqual(0);
    expect(number(textOf("164.1, 73.9 % as fast"), "x") + 21 * 9.5).toBeLessThanOrEqual(width);
  });
});
