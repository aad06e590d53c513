import { describe, expect, it } from "vitest";
import type { Axis, ChartPoint, Curve, CurveChart } from "../../../src/draw/chart/chart.js";
import { cornersOf, gridOf, marksIn, number, ofClass, pictureOf } from "../../helpers/picture.js";

const linear: Axis = { label: "GB/s", scale: "linear", includes: [0], format: String };
const sizes: Axis = { label: "size", scale: "log", ticks: [1, 10, 100], format: String };

function point(x: number, y: number, halfWidth: number | null = null): ChartPoint {
  const [low, high] = halfWidth === null ? [null, null] : [y - halfWidth, y + halfWidth];
  return { x, y, low, high, text: `${x}: ${y}` };
}

function chart(points: readonly ChartPoint[], part: Partial<CurveChart> = {}, curve: Partial<Curve> = {}) {
  return pictureOf({
    kind: "curves",
    name: "a-chart",
    title: "A chart",
    description: "What it shows.",
    x: sizes,
    y: linear,
    curves: [{ name: "pinned", style: 0, isJoined: true, points, ...curve }],
    rules: [],
    ...part,
  });
}

describe("where points lie", () => {
  it("is as far up as they are great, from 0 at the foot of the grid", () => {
    const svg = chart([point(1, 0), point(10, 20), point(100, 40)]);
    const [zero, half, whole] = marksIn(svg);
    expect(zero!.y).toBeCloseTo(gridOf(svg).bottom, 0);
    expect(zero!.y - whole!.y).toBeCloseTo(2 * (zero!.y - half!.y), 0);
  });

  it("is not on the frame for one at 0 of the axis across", () => {
    const svg = chart([point(0, 5), point(1, 6), point(2, 7)], { x: { ...linear, includes: [] } });
    const [zero] = marksIn(svg);
    const [left] = ofClass(svg, "grid").map((line) => number(line, "x1"));
    expect(zero!.x - left!).toBeGreaterThan(10);
    const without = chart([point(1, 6), point(2, 7)], { x: linear });
    const upright = ofClass(without, "grid").filter((line) => number(line, "x1") === number(line, "x2"));
    expect(number(upright[0]!, "x1")).toBe(gridOf(without).left);
  });

  it("is equally far apart on a logarithmic axis for equal ratios", () => {
    const [one, ten, hundred] = marksIn(chart([point(1, 5), point(10, 5), point(100, 5)]));
    expect(hundred!.x - ten!.x).toBeCloseTo(ten!.x - one!.x, 0);
    expect(ten!.x).toBeGreaterThan(one!.x);
  });

  it("follows x, in whatever order they come", () => {
    const line = ofClass(chart([point(100, 3), point(1, 1), point(10, 2)]), "line").at(-1)!;
    const xs = cornersOf(line).map(({ x }) => x);
    expect(xs).toEqual([...xs].sort((a, b) => a - b));
  });

  it("is nowhere for what a logarithmic axis has no place for", () => {
    expect(marksIn(chart([point(0, 5), point(10, 5)]))).toHaveLength(1);
    const y: Axis = { ...linear, scale: "log", includes: [] };
    expect(marksIn(chart([point(1, 0), point(10, 5)], { y }))).toHaveLength(1);
    const reaching = chart([point(1, 5, 6), point(10, 50)], { y });
    expect(marksIn(reaching)).toHaveLength(2);
    expect(ofClass(reaching, "whisker")).toEqual([]);
    const x = { ...sizes, ticks: [0, 1, 10] };
    expect(chart([point(1, 5)], { x, y: { ...linear, scale: "log" } })).not.toMatch(/NaN|Infinity/);
  });

  it("is not on the frame, except for 0 at the foot of the grid", () => {
    const y: Axis = { ...linear, includes: [] };
    const workers: Axis = { label: "workers", scale: "linear", ticks: [1, 2, 4], format: String };
    const svg = chart([point(1, 10), point(2, 15), point(4, 20)], { x: workers, y });
    const lines = ofClass(svg, "grid");
    const across = lines.filter((line) => number(line, "y1") === number(line, "y2"));
    const [left, right] = [number(across[0]!, "x1"), number(across[0]!, "x2")];
    const upright = lines.find((line) => number(line, "x1") === number(line, "x2"))!;
    const [top, bottom] = [number(upright, "y1"), number(upright, "y2")];
    for (const { x, y } of marksIn(svg)) {
      expect(Math.min(x - left, right - x)).toBeGreaterThan(8);
      expect(Math.min(y - top, bottom - y)).toBeGreaterThan(5);
    }
  });

  it("is hollow if they are open", () => {
    const points = [point(1, 5), { ...point(10, 5), isOpen: true }];
    expect(marksIn(chart(points)).map(({ isOpen }) => isOpen)).toEqual([false, true]);
    const legendMark = (svg: string) => ofClass(svg, "mark")[0]!.attributes.class;
    expect(legendMark(chart(points))).toBe("mark");
    expect(legendMark(chart(points.slice(1)))).toBe("mark open");
  });
});

describe("lines", () => {
  it("go through no point that stands apart", () => {
    const svg = chart([point(1, 5), { ...point(10, 5), isApart: true }, point(50, 6), point(100, 7)]);
    const at = marksIn(svg)[1]!.x;
    const xs = cornersOf(ofClass(svg, "line").at(-1)!).map(({ x }) => x);
    expect(xs.filter((x) => Math.abs(x - at) < 1)).toEqual([]);
  });

  it("alone, such as a fitted one, have no marks, in the legend neither", () => {
    const svg = chart([point(1, 5), point(10, 6)], {}, { hasNoMarks: true });
    expect(ofClass(svg, "mark")).toEqual([]);
    expect(ofClass(svg, "line")).toHaveLength(2);
    expect(ofClass(chart([point(1, 5)], {}, { isJoined: false }), "line")).toEqual([]);
  });
});

it("names of an upright axis have room beside it, however long they are", () => {
  const svg = chart([point(1, 5)], { y: { ...linear, format: (value) => `${value} gigabytes a second` } });
  const [name] = ofClass(svg, "quiet");
  expect(name!.text).toMatch(/^\d+ gigabytes a second$/);
  expect(number(name!, "x") - name!.text.length * 8).toBeGreaterThan(0);
});

it("round marks are further apart if their names are long", () => {
  const x: Axis = { ...linear, format: (value) => `${value} gigabytes` };
  const names = ofClass(chart([point(0, 5), point(100, 5)], { x }), "quiet").filter(
    ({ attributes }) => attributes["text-anchor"] === "middle",
  );
  expect(names.length).toBeGreaterThan(1);
  for (const [i, name] of names.slice(1).entries())
    expect(number(name, "x") - number(names[i]!, "x")).toBeGreaterThan(name.text.length * 8);
});

it("marks that have no room for all their names are evenly spread", () => {
  const ticks = Array.from({ length: 40 }, (_, index) => 1000 + index);
  const svg = chart([point(1000, 5), point(1039, 5)], { x: { ...linear, includes: [], ticks } });
  const shown = ofClass(svg, "quiet").flatMap(({ text, attributes }) =>
    attributes["text-anchor"] === "middle" ? [Number(text)] : [],
  );
  expect(shown.length).toBeGreaterThan(3);
  expect(new Set(shown.slice(1).map((value, index) => value - shown[index]!)).size).toBe(1);
});

describe("intervals", () => {
  it("are a band that holds the points between its edges", () => {
    const svg = chart([point(1, 20, 5), point(10, 20, 5), point(100, 30, 2)]);
    const corners = cornersOf(ofClass(svg, "band")[0]!);
    expect(corners).toHaveLength(6);
    for (const mark of marksIn(svg)) {
      const edges = corners.filter(({ x }) => Math.abs(x - mark.x) < 0.2).map(({ y }) => y);
      expect(Math.min(...edges)).toBeLessThan(mark.y);
      expect(Math.max(...edges)).toBeGreaterThan(mark.y);
    }
  });

  it("end the band if a point has none: it neither bridges that point nor ends in nothing", () => {
    const points = [point(1, 20, 5), point(10, 20, 5), point(20, 20), point(50, 20, 5), point(100, 20, 5)];
    const svg = chart(points);
    const marks = marksIn(svg);
    const bands = ofClass(svg, "band").map((band) => cornersOf(band).map(({ x }) => x));
    expect(bands).toHaveLength(2);
    expect(Math.max(...bands[0]!)).toBeCloseTo(marks[1]!.x, 0);
    expect(Math.min(...bands[1]!)).toBeCloseTo(marks[3]!.x, 0);
  });

  it("do not reach as a band from or to a point that stands apart", () => {
    const apart = { ...point(10, 20, 5), isApart: true };
    const svg = chart([point(1, 20, 5), apart, point(100, 20, 5)]);
    expect(ofClass(svg, "band")).toEqual([]);
    expect(ofClass(svg, "whisker")).toHaveLength(3);
    expect(ofClass(chart([apart, point(100, 20, 5)]), "band")).toEqual([]);
  });

  it("are an upright line where neither neighbour has one, and where nothing is joined", () => {
    const lone = chart([point(1, 20), point(10, 20, 5), point(100, 20)]);
    const [whisker] = ofClass(lone, "whisker");
    expect(ofClass(lone, "band")).toEqual([]);
    expect(number(whisker!, "x1")).toBeCloseTo(marksIn(lone)[1]!.x, 0);
    expect(number(whisker!, "y2")).toBeLessThan(number(whisker!, "y1"));
    expect(
      ofClass(chart([point(1, 20, 5), point(10, 20, 5)], {}, { isJoined: false }), "whisker"),
    ).toHaveLength(2);
  });
});

describe("a cloud of samples", () => {
  const points = Array.from({ length: 500 }, (_, index) => point(1 + index, 20 + (index % 7)));

  it("is one path, without a text for each", () => {
    const svg = chart(points, {}, { isJoined: false, isDense: true });
    expect(ofClass(svg, "dots")).toHaveLength(1);
    expect(ofClass(svg, "dots")[0]!.attributes.d!.match(/M/g)).toHaveLength(500);
    expect(svg).not.toContain("<title>");
    expect(svg).not.toContain('class="legend');
  });

  it("has smaller dots if there are many", () => {
    const sizeOf = (count: number) => {
      const svg = chart(points.slice(0, count), {}, { isJoined: false, isDense: true });
      return Number(/a([\d.]+) /.exec(ofClass(svg, "dots")[0]!.attributes.d!)![1]);
    };
    expect(sizeOf(201)).toBeLessThan(sizeOf(200));
  });

  it("has a name for each if there are several", () => {
    const cloud = { style: 0, isJoined: false, isDense: true, points };
    const curves = [
      { name: "process 1", ...cloud },
      { name: "process 2", ...cloud, style: 1 },
    ];
    const svg = chart([], { curves });
    expect(svg).toContain(">process 1<");
    expect(svg).toContain(">process 2<");
  });
});

describe("a histogram", () => {
  const x: Axis = { label: "GB/s", scale: "linear", format: String };
  const y: Axis = { label: "samples", scale: "linear", includes: [0], isWhole: true, format: String };
  const svg = chart(
    [point(10, 1), point(12, 3), point(14, 0)],
    { x, y },
    { isJoined: false, columnWidth: 2 },
  );
  const columns = ofClass(svg, "column");

  it("has columns beside each other, as high as their counts, on the foot of the grid", () => {
    expect(number(columns[1]!, "x")).toBeCloseTo(number(columns[0]!, "x") + number(columns[0]!, "width"), 0);
    expect(number(columns[1]!, "height")).toBeCloseTo(3 * number(columns[0]!, "height"), 0);
    expect(number(columns[2]!, "height")).toBe(0);
    for (const column of columns) {
      expect(number(column, "y") + number(column, "height")).toBeCloseTo(gridOf(svg).bottom, 0);
    }
  });

  it("lies within the grid, and needs no name if it is alone", () => {
    const { left, right } = gridOf(svg);
    expect(number(columns[0]!, "x")).toBeGreaterThanOrEqual(left);
    expect(number(columns[2]!, "x") + number(columns[2]!, "width")).toBeLessThanOrEqual(right);
    expect(ofClass(svg, "legend")).toEqual([]);
  });

  it("marks no part of a sample", () => {
    const counts = ofClass(svg, "quiet").map(({ text }) => Number(text));
    expect(counts).toContain(3);
    expect(counts.filter((count) => count < 5 && !Number.isInteger(count))).toEqual([]);
  });
});

describe("the marks of a logarithmic axis", () => {
  const marksOf = (from: number, to: number) => {
    const y: Axis = { label: "ms", scale: "log", format: String };
    const svg = chart([point(1, from), point(100, to)], { y });
    return ofClass(svg, "quiet").flatMap(({ attributes, text }) =>
      attributes["text-anchor"] === "end" ? [text] : [],
    );
  };

  it.each([
    [1, 1000, ["1", "10", "100", "1000"]],
    [0.07, 0.7, ["0.1", "0.2", "0.5"]],
    [2, 4, ["2", "3", "4"]],
  ])("from %d to %d are powers of ten, or as many as it takes to see its course", (from, to, ticks) => {
    expect(marksOf(from, to)).toEqual(ticks);
  });
});

it("reaches as far down as an interval, where an axis need not begin at 0", () => {
  const svg = chart([point(1, 50, 45), point(100, 60, 1)], { y: { ...linear, includes: [] } });
  const frame = ofClass(svg, "grid").find((line) => number(line, "x1") === number(line, "x2"))!;
  for (const { y } of ofClass(svg, "band").flatMap(cornersOf))
    expect(y).toBeLessThanOrEqual(number(frame, "y2"));
});

it("draws nothing outside of its picture, and the grid holds all points, bands and rules", () => {
  const svg = chart([point(1, 20, 19), point(100, 80, 15)], {
    rules: [{ axis: "y", value: 110, label: "limit" }],
  });
  const [, , width, height] = svg
    .match(/viewBox="([^"]*)"/)![1]!
    .split(" ")
    .map(Number);
  const grid = gridOf(svg);
  const places = [
    ...marksIn(svg),
    ...ofClass(svg, "band").flatMap(cornersOf),
    ...ofClass(svg, "rule").map((rule) => ({ x: number(rule, "x1"), y: number(rule, "y1") })),
  ];
  for (const { x, y } of places) {
    expect(x).toBeGreaterThanOrEqual(grid.left - 0.1);
    expect(x).toBeLessThanOrEqual(grid.right + 0.1);
    expect(y).toBeGreaterThanOrEqual(grid.top - 0.1);
    expect(y).toBeLessThanOrEqual(grid.bottom + 0.1);
  }
  expect(grid.right).toBeLessThanOrEqual(width!);
  expect(grid.bottom).toBeLessThanOrEqual(height!);
});
