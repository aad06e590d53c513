import { describe, expect, it } from "vitest";
import type { StripChart, StripMark, StripRow } from "../../../src/draw/chart/chart.js";
import { textPixels } from "../../../src/draw/chart/chart-frame.js";
import { chartFile } from "../../../src/draw/chart/draw-chart.js";
import { faultsOfXml, gridOf, marksIn, number, ofClass, pictureOf, shapesIn } from "../../helpers/picture.js";

function buildStrips(rows: StripRow[], part: Partial<StripChart> = {}): StripChart {
  return {
    kind: "strips",
    name: "gpus",
    title: "Each GPU",
    description: "1 is slow.",
    x: { label: "change of speed", scale: "linear", format: (value) => `${100 * value} %` },
    rows,
    dotsName: "GPU",
    marksName: "slow",
    rules: [{ axis: "x", value: 0, label: "centre" }],
    ...part,
  };
}

const row = (part: Partial<StripRow> = {}): StripRow => ({
  label: "H2D pinned 64 MiB",
  figure: "55.4 GB/s",
  dots: [-0.01, 0, 0.01],
  marks: [],
  ...part,
});

/** Where the dots of each row begin: circles, of which a path has a step to the right end of each. */
const dotsIn = (picture: string) =>
  ofClass(picture, "dots").map(({ attributes }) =>
    [...attributes.d!.matchAll(/M(-?[\d.]+) (-?[\d.]+)/g)].map(([, x, y]) => ({
      x: Number(x),
      y: Number(y),
    })),
  );

describe("a chart of strips", () => {
  it("has a dot for each value, where it lies on the axis, in the row that it belongs to", () => {
    const [first, second] = dotsIn(pictureOf(buildStrips([row(), row({ dots: [0.02] })])));
    expect(first).toHaveLength(3);
    expect(second).toHaveLength(1);
    const [a, b, c] = first!;
    expect(b!.x - a!.x).toBeCloseTo(c!.x - b!.x, 0);
    expect(second![0]!.x).toBeGreaterThan(c!.x);
    expect(Math.min(...second!.map(({ y }) => y))).toBeGreaterThan(Math.max(...first!.map(({ y }) => y)));
  });

  it("spreads dots of one value over the height of their row, the same at each drawing", () => {
    const chart = buildStrips([row({ dots: Array<number>(50).fill(0) })]);
    const [dots] = dotsIn(pictureOf(chart));
    expect(new Set(dots!.map(({ x }) => x)).size).toBe(1);
    expect(new Set(dots!.map(({ y }) => y)).size).toBeGreaterThan(25);
    expect(pictureOf(chart)).toBe(pictureOf(chart));
  });

  it("has a readable mark for each thing to distinguish, and its name in the legend", () => {
    const marks = [{ value: -0.5, name: "n07 GPU 3", text: "n07 GPU 3: 27.7 GB/s" }];
    const picture = pictureOf(buildStrips([row({ marks }), row()]));
    expect(marksIn(picture)).toHaveLength(1);
    const [dots] = dotsIn(picture);
    expect(marksIn(picture)[0]!.x).toBeLessThan(Math.min(...dots!.map(({ x }) => x)) - 100);
    expect(marksIn(picture)[0]!.x).toBeGreaterThan(0);
    expect(picture).toContain("<title>H2D pinned 64 MiB, n07 GPU 3: 27.7 GB/s</title>");
    expect(picture).toMatch(/>slow<\/text>/);
    expect(pictureOf(buildStrips([row()]))).not.toMatch(/>slow<\/text>/);
  });

  it("has each row's own label and figure at its height, and rules within the frame", () => {
    const rules = [{ axis: "x", value: 0.5, label: "limit" } as const];
    const rows = [
      row({ marks: [{ value: 0, name: "n", text: "n" }] }),
      row({ label: "D2H", figure: "50.0" }),
    ];
    const picture = pictureOf(buildStrips(rows, { rules }));
    const heightOf = (wanted: string) => number(shapesIn(picture).find(({ text }) => text === wanted)!, "y");
    expect(heightOf("H2D pinned 64 MiB")).toBe(heightOf("55.4 GB/s"));
    expect(heightOf("H2D pinned 64 MiB")).toBe(marksIn(picture)[0]!.y + 4);
    expect(heightOf("D2H")).toBe(heightOf("50.0"));
    expect(heightOf("D2H")).toBeGreaterThan(heightOf("55.4 GB/s"));
    const [limit] = ofClass(picture, "rule");
    expect(number(limit!, "x1")).toBeLessThanOrEqual(gridOf(picture).right);
  });

  describe("names beside marks", () => {
    const mark = (value: number, name: string) => ({ value, name, text: `${name}: slow` });
    const namesIn = (marks: StripMark[]) =>
      shapesIn(pictureOf(buildStrips([row({ label: "H2D", marks })])))
        .filter(({ name, text }) => name === "text" && /^n\d+ GPU/.test(text))
        .map(({ text, attributes }) => ({
          text,
          x: Number(attributes.x),
          isLeft: attributes["text-anchor"] === "end",
        }));

    it("are those of all that have room, and none lies over another or over a mark", () => {
      const few = [mark(-0.1, "n08 GPU 1"), mark(-0.9, "n09 GPU 0")];
      expect(namesIn(few).map(({ text }) => text)).toEqual(["n09 GPU 0", "n08 GPU 1"]);
      const marks = [...few, mark(-0.45, "n10 GPU 2")];
      const names = namesIn(marks);
      expect(names.map(({ text }) => text)).toEqual(["n09 GPU 0 +1", "n10 GPU 2"]);
      const spans = names
        .map(({ text, x, isLeft }) => (isLeft ? [x - textPixels(text), x] : [x, x + textPixels(text)]))
        .sort(([a], [b]) => a! - b!);
      for (const [i, [start]] of spans.slice(1).entries()) {
        expect(start).toBeGreaterThanOrEqual(spans[i]![1]!);
      }
      for (const { x } of marksIn(pictureOf(buildStrips([row({ label: "H2D", marks })])))) {
        for (const [start, end] of spans) expect(x <= start! || x >= end!).toBe(true);
      }
    });

    it("are the lowest's and how many have none, where marks are close to each other", () => {
      const marks = Array.from({ length: 40 }, (_, i) => mark(-0.5 + i / 1000, `n${i} GPU 0`));
      expect(namesIn(marks).map(({ text }) => text)).toEqual(["n0 GPU 0 +39"]);
    });

    it("are cut off where they are long", () => {
      expect(namesIn([mark(-0.5, "n07 GPU 3 of a very long name")])[0]!.text).toBe("n07 GPU 3 of a ve…");
    });
  });

  it("shows what is hostile as text, in a file that is well formed", async () => {
    const label = '"/><script>alert(1)</script>\u0000';
    const chart = buildStrips(
      [row({ label, figure: label, marks: [{ value: 0, name: label, text: label }] })],
      {
        title: label,
        dotsName: label,
      },
    );
    expect(await faultsOfXml([chartFile(chart)])).toEqual([]);
    expect(chartFile(chart)).not.toContain("<script>");
  });
});
