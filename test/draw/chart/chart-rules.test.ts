import { describe, expect, it } from "vitest";
import type { CurveChart, RuleLine } from "../../../src/draw/chart/chart.js";
import { chartWidth } from "../../../src/draw/chart/chart-frame.js";
import { chartPicture } from "../../../src/draw/chart/draw-chart.js";
import { gridOf, marksIn, number, ofClass } from "../../helpers/picture.js";

const upright = (value: number, label: string): RuleLine => ({ axis: "x", value, label });

function drawn(...rules: RuleLine[]): string {
  const chart: CurveChart = {
    kind: "curves",
    name: "course",
    title: "A course",
    description: "None.",
    x: { label: "check", scale: "linear", format: String },
    y: { label: "change", scale: "linear", format: String },
    curves: [
      {
        name: "checks",
        style: 0,
        isJoined: false,
        points: [0, 60].map((x) => ({ x, y: x, low: null, high: null, text: `check ${x}` })),
      },
    ],
    rules,
  };
  return chartPicture(chart).text;
}

const labelsIn = (picture: string) =>
  [
    ...picture.matchAll(/<text class="quiet halo" x="([\d.]+)"( text-anchor="end")? y="([\d.]+)">([^<]*)</g),
  ].map(([, x, end, y, text]) => ({ x: Number(x), endsThere: end !== undefined, y: Number(y), text: text! }));

describe("upright rules", () => {
  it("have their labels above the frame, a row each, from left to right", () => {
    const [first, second] = labelsIn(drawn(upright(10, "a new driver"), upright(20, "a new kernel")));
    expect(second!.y).toBeGreaterThan(first!.y);
    expect(second!.x).toBeGreaterThan(first!.x);
    const top = Math.min(
      ...[...drawn().matchAll(/class="grid"[^>]* y1="([\d.]+)"/g)].map(([, y]) => Number(y)),
    );
    const moved = [...drawn(upright(10, "a new driver")).matchAll(/class="grid"[^>]* y1="([\d.]+)"/g)];
    expect(Math.min(...moved.map(([, y]) => Number(y)))).toBeGreaterThan(top);
  });

  it("have their rows by where they stand, whatever their order, and the first again after six", () => {
    const [right, left] = labelsIn(drawn(upright(20, "a new kernel"), upright(10, "a new driver")));
    expect(right!.y).toBeGreaterThan(left!.y);
    const rows = labelsIn(drawn(...[1, 2, 3, 4, 5, 6, 7].map((value) => upright(value, `rule ${value}`))));
    expect(new Set(rows.map(({ y }) => y)).size).toBe(6);
    expect(rows[6]!.y).toBe(rows[0]!.y);
  });

  it("have labels that end within the picture, however far to the right the rule is", () => {
    const [label] = labelsIn(drawn(upright(60, "−6.0 %: driver 580.159.04 → 590.10")));
    expect(label!.text).toBe("−6.0 %: driver 580.159.04 → 590.10");
    expect(label!.endsThere).toBe(true);
    expect(label!.x).toBeLessThan(chartWidth);
    // No letter of this size is wider than its height, and few are wider than half of it.
    expect(label!.x - label!.text.length * 7).toBeGreaterThan(0);
  });

  it("have labels that begin in the picture if neither side has room for them", () => {
    const [label] = labelsIn(drawn(upright(30, "−6.0 %: driver 580.159.04 → 590.10, kernel 6.1 → 6.8")));
    expect(label!.endsThere).toBe(false);
    expect(label!.x + label!.text.length * 7).toBeLessThan(chartWidth);
  });

  it("have labels cut off that are longer than the picture is wide, and the whole text to read", () => {
    const long = `−6.0 %: driver ${"5".repeat(200)}`;
    const picture = drawn(upright(30, long));
    expect(labelsIn(picture)[0]!.text).toMatch(/…$/);
    expect(picture).toContain(`<title>${long}</title>`);
  });
});

it("level rules lie at their value, end in their label, and take no room above the frame", () => {
  const picture = drawn({ axis: "y", value: 60, label: "limit" });
  const [rule] = ofClass(picture, "rule");
  const [label] = ofClass(picture, "halo");
  const grid = gridOf(picture);
  expect(number(rule!, "y1")).toBeCloseTo(marksIn(picture)[1]!.y, 0);
  expect([number(rule!, "x1"), number(rule!, "x2")]).toEqual([grid.left, grid.right]);
  expect(number(label!, "x")).toBe(grid.right);
  expect(number(rule!, "y1") - number(label!, "y")).toBeLessThan(10);
  expect(grid.top).toBe(gridOf(drawn()).top);
});

it("an upright rule stands at its value, inside of the frame even beyond all points", () => {
  for (const value of [60, 200]) {
    const picture = drawn(upright(value, "a new driver"));
    const x = number(ofClass(picture, "rule")[0]!, "x1");
    if (value === 60) expect(x).toBeCloseTo(marksIn(picture)[1]!.x, 0);
    else expect(x).toBeLessThanOrEqual(gridOf(picture).right);
  }
});
