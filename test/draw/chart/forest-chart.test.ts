import { describe, expect, it } from "vitest";
import type { ForestChart, ForestRow } from "../../../src/draw/chart/chart.js";
import { chartWidth, lineHeight } from "../../../src/draw/chart/chart-frame.js";
import { chartFile, chartPicture } from "../../../src/draw/chart/draw-chart.js";

function buildRow(part: Partial<ForestRow> = {}): ForestRow {
  return {
    label: "H2D pinned 64 MiB",
    kind: 0,
    value: -0.1,
    low: -0.12,
    high: -0.08,
    limits: [-0.05, 0.05],
    figure: "−10.0 %",
    text: "H2D pinned 64 MiB: 61.4 GB/s before, 55.3 GB/s now",
    ...part,
  };
}

function buildForest(rows: ForestRow[], part: Partial<ForestChart> = {}): ForestChart {
  return {
    kind: "forest",
    name: "throughput-changes",
    title: "Change of each cell",
    description: "2 slower.",
    x: { label: "change of GB/s", scale: "linear", format: (value) => `${value * 100} %` },
    kinds: [
      { name: "slower", style: 1 },
      { name: "inconclusive", style: 3, isOpen: true },
    ],
    rows,
    limitName: "threshold",
    ...part,
  };
}

const drawn = (chart: ForestChart) => chartPicture(chart).text;

/** Where the marks of a picture are, from left to right and from top to bottom. */
const marksIn = (picture: string) =>
  [...picture.matchAll(/class="(mark(?: open)?)" transform="translate\(([\d.]+) ([\d.]+)\)"/g)]
    .map(([, name, x, y]) => ({ name, x: Number(x), y: Number(y) }))
    // Marks of the legend stand elsewhere, in groups of their own.
    .slice(2);

describe("a forest plot", () => {
  it("has the names of its legend in several lines if one has no room for them", () => {
    const name = "not comparable: a loss of the cell's threshold could be neither shown nor ruled out";
    const picture = drawn(buildForest([buildRow()], { kinds: [{ name, style: 3 }] }));
    const lines = [...picture.matchAll(/<tspan[^>]*>([^<]*)</g)].map(([, text]) => text!);
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.join("")).toBe(name.replaceAll("'", "&#39;"));
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(65);
    const kinds = [name, "slower"].map((one, style) => ({ name: one, style }));
    const legend = drawn(buildForest([buildRow()], { kinds }));
    const [first, next] = [
      ...legend.matchAll(/class="legend s\d" data-curve="\d" transform="translate\(0 ([\d.]+)\)"/g),
    ];
    expect(Number(next![1]) - Number(first![1])).toBe(lines.length * lineHeight);
  });

  it("has a row a change, the marks where their values lie, and grows with the rows", () => {
    const rows = [-0.1, 0, 0.1].map((value) => buildRow({ value, low: value - 0.01, high: value + 0.01 }));
    const marks = marksIn(drawn(buildForest(rows)));
    expect(marks).toHaveLength(3);
    expect(marks[1]!.x - marks[0]!.x).toBeCloseTo(marks[2]!.x - marks[1]!.x, 0);
    expect(marks[1]!.y - marks[0]!.y).toBe(marks[2]!.y - marks[1]!.y);
    const heightOf = (count: number) => {
      const picture = drawn(buildForest(Array.from({ length: count }, () => buildRow())));
      return Number(/viewBox="0 0 \d+ (\d+)"/.exec(picture)![1]);
    };
    expect(heightOf(60) - heightOf(59)).toBe(heightOf(3) - heightOf(2));
  });

  it("reaches over each interval, and cuts off with an arrow what would press all others together", () => {
    const wide = buildRow({ value: -0.01, low: -8, high: 25 });
    const [narrowMark, wideMark] = marksIn(drawn(buildForest([buildRow(), wide])));
    // A change of 10 % is still told from one of 1 %.
    expect(wideMark!.x - narrowMark!.x).toBeGreaterThan(20);
    for (const { x } of [narrowMark!, wideMark!]) {
      expect(x).toBeGreaterThan(0);
      expect(x).toBeLessThan(chartWidth);
    }
    const paths = [...drawn(buildForest([wide])).matchAll(/class="whisker" d="([^"]+)"/g)].map(([, d]) => d!);
    expect(paths).toHaveLength(1);
    const xs = [...paths[0]!.matchAll(/[ML](-?[\d.]+),/g)].map(([, x]) => Number(x));
    for (const x of xs) {
      expect(x).toBeGreaterThanOrEqual(0);
      expect(x).toBeLessThanOrEqual(chartWidth);
    }
    expect(paths[0]!.match(/L/g)).toHaveLength(4);
    const arrowsOf = (low: number, high: number) => {
      const picture = drawn(buildForest([buildRow({ value: -0.01, low, high })]));
      const ends = /d="M([\d.]+),[\d.]+H([\d.]+)/.exec(picture)!.slice(1);
      return ends.indexOf(/M[\d.]+,[\d.]+L([\d.]+),/.exec(picture)![1]!);
    };
    expect([arrowsOf(-8, 0), arrowsOf(-0.02, 25)]).toEqual([0, 1]);
  });

  it("has each row's own label on its left and figure on its right, at the height of its mark", () => {
    const picture = drawn(
      buildForest([
        buildRow({ label: "H2D", figure: "−10.0 %" }),
        buildRow({ label: "D2H", figure: "+1.0 %" }),
      ]),
    );
    const heightOf = (text: string) => Number(new RegExp(` y="([\\d.]+)"[^>]*>${text}<`).exec(picture)![1]);
    const marks = marksIn(picture).map(({ y }) => y + 4);
    expect(["H2D", "D2H"].map(heightOf)).toEqual(marks);
    expect(["−10.0 %", "\\+1.0 %"].map(heightOf)).toEqual(marks);
  });

  it("has no room for a threshold where there is none", () => {
    const topOf = (limitName: string | null) =>
      marksIn(drawn(buildForest([buildRow({ limits: [] }), buildRow()], { limitName })))[0]!.y;
    expect(topOf(null)).toBeLessThan(topOf("threshold"));
  });

  it("has marks without intervals if none is known", () => {
    const picture = drawn(buildForest([buildRow({ low: null, high: null })]));
    expect(marksIn(picture)).toHaveLength(1);
    expect(picture).not.toContain('whisker"');
  });

  it("draws one line down for rows that share a threshold, and another piece for one that has its own", () => {
    const limitsOf = (rows: ForestRow[]) =>
      [...drawn(buildForest(rows)).matchAll(/class="rule" d="([^"]+)"/g)].map(
        ([, d]) => d!.match(/M/g)!.length,
      );
    expect(limitsOf([buildRow(), buildRow(), buildRow()])).toEqual([1, 1]);
    expect(limitsOf([buildRow(), buildRow({ limits: [-0.1, 0.1] }), buildRow()])).toEqual([3, 3]);
    const picture = drawn(buildForest([buildRow()]));
    const at = (pattern: RegExp) => Number(pattern.exec(picture)![1]);
    expect(at(/ x="([\d.]+)"[^>]*>threshold</)).toBeCloseTo(at(/class="rule" d="M([\d.]+),/), 0);
  });

  it("tells what is not decided by hollow marks, and says of each row what it is", () => {
    const picture = drawn(buildForest([buildRow(), buildRow({ kind: 1 })]));
    expect(marksIn(picture).map(({ name }) => name)).toEqual(["mark", "mark open"]);
    expect(picture).toContain("55.3 GB/s now (slower)</title>");
    expect(picture).toContain("55.3 GB/s now (inconclusive)</title>");
  });

  it("escapes names from outside, and cuts off those that leave no room for the marks", () => {
    const picture = drawn(buildForest([buildRow({ label: `<script>${"x".repeat(10_000)}` })]));
    expect(picture).not.toContain("<script>");
    expect(picture).toContain("…</text>");
    expect(marksIn(picture)[0]!.x).toBeLessThan(chartWidth);
  });

  it("is a file of its own with its title", () => {
    const file = chartFile(buildForest([buildRow()]));
    expect(file).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    expect(file).toContain(">Change of each cell</text>");
    expect(file).toContain('aria-label="Change of each cell. 2 slower."');
    const [, box, width, height] = /viewBox="((?:-?\d+ ){2}(\d+) (\d+))"/.exec(file)!;
    const [x, y] = box!.split(" ");
    const ground = `class="ground" x="${x}" y="${y}" width="${width}" height="${height}"`;
    expect(file).toContain(ground);
    expect(file).not.toMatch(/NaN|undefined|Infinity/);
  });

  it("has a long title in lines below each other, all of them above the picture", () => {
    const file = chartFile(buildForest([buildRow()], { title: "Change of each cell ".repeat(8).trim() }));
    const ys = [...file.matchAll(/class="caption" x="0" y="(-?[\d.]+)"/g)].map(([, y]) => Number(y));
    expect(ys.length).toBeGreaterThan(1);
    expect(ys).toEqual([...ys].sort((a, b) => a - b));
    expect(new Set(ys).size).toBe(ys.length);
    expect(Math.min(...ys) - 12).toBeGreaterThan(Number(/viewBox="-?\d+ (-\d+)/.exec(file)![1]));
    expect(Math.max(...ys)).toBeLessThan(0);
  });
});
