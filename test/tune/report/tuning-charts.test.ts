import { describe, expect, it } from "vitest";
import type { ChartPoint, CurveChart } from "../../../src/draw/chart/chart.js";
import { usualSetting } from "../../../src/results/loader-setting.js";
import { rateCharts } from "../../../src/tune/report/tuning-charts.js";
import { buildTried, buildTuning, type TuningPart } from "../../helpers/tuning.js";

const chartOf = (part: TuningPart = {}) => rateCharts(buildTuning(part))[0] as CurveChart;

const pointsOf = (chart: CurveChart, name: string): readonly ChartPoint[] =>
  chart.curves.find((curve) => curve.name === name)?.points ?? [];

describe("a tuning's chart", () => {
  it("has the rate against workers, a curve for pinned and one for not pinned, with intervals", () => {
    const chart = chartOf();
    expect(chart).toMatchObject({ name: "rate-by-workers", y: { label: "batches/s", includes: [0] } });
    expect(pointsOf(chart, "not pinned").map(({ x, y }) => [x, y])).toEqual(
      expect.arrayContaining([
        [0, 20],
        [8, 72],
        [16, 72.5],
      ]),
    );
    expect(pointsOf(chart, "pinned").map(({ x }) => x)).toEqual([0, 16]);
    expect(pointsOf(chart, "pinned")[1]).toMatchObject({ low: 70 * 0.99, high: 70 * 1.01 });
  });

  it("joins no line to points without workers", () => {
    for (const { x, isApart } of pointsOf(chartOf(), "not pinned")) expect(isApart ?? false).toBe(x === 0);
  });

  it("marks the recommendation, and the rate of the present setting", () => {
    expect(chartOf().rules).toEqual([
      { axis: "y", value: 20, label: "DataLoader's defaults: 20.0" },
      { axis: "x", value: 8, label: "recommended: 8 workers, not pinned, 72.0 batches/s" },
    ]);
  });

  it("shows one point for two settings that differ only in what is not shown", () => {
    const own = { ...usualSetting(8, false), persistentWorkers: false };
    const chart = chartOf({
      probe: { startingPoint: own },
      tried: [...buildTuning().tried, buildTried(own, 70)],
    });
    const ofEight = pointsOf(chart, "not pinned").filter(({ x }) => x === 8);
    expect(ofEight.map(({ y }) => y)).toEqual([72]);
  });

  it("draws an interval that is as wide as its rate", () => {
    const wide = buildTried(usualSetting(4, false), 50);
    wide.score = { ...wide.score!, low: 20, high: 80 };
    const chart = chartOf({ tried: [...buildTuning().tried, wide] });
    expect(pointsOf(chart, "not pinned").find(({ x }) => x === 4)).toMatchObject({ low: 20, high: 80 });
  });

  it("draws no interval that is wider than its rate", () => {
    const wide = buildTried(usualSetting(4, false), 50);
    wide.score = { ...wide.score!, low: 1, high: 4000 };
    const chart = chartOf({ tried: [...buildTuning().tried, wide] });
    const point = pointsOf(chart, "not pinned").find(({ x }) => x === 4);
    expect(point).toMatchObject({ low: null, high: null, text: "4 workers: 50.0 batches/s ±?" });
  });

  const four = buildTried(usualSetting(4, false), 40);

  it("has a tick for each number of workers up to 12", () => {
    const ticks = (maxWorkers: number) => chartOf({ method: { maxWorkers }, tried: [four] }).x.ticks?.length;
    expect([ticks(2), ticks(12), ticks(13)]).toEqual([5, 13, undefined]);
  });

  it("has a style for each kind of memory, and others for other prefetch factors", () => {
    const tried = [
      usualSetting(4, false, 4),
      usualSetting(4, true, 4),
      usualSetting(4, false),
      usualSetting(4, true),
    ];
    const { curves } = chartOf({ tried: tried.map((setting) => buildTried(setting, 40)) });
    const styles = curves.filter(({ isJoined }) => isJoined).map(({ style }) => style);
    expect(styles).toHaveLength(4);
    expect(new Set(styles).size).toBe(4);
  });

  it("draws rough figures hollow, names the highest rate, and includes the user's setting", () => {
    const rough = { ...four, score: { ...four.score!, isSettled: false } };
    const startingPoint = usualSetting(8, false);
    const chart = chartOf({ tried: [...buildTuning().tried, rough], probe: { startingPoint } });
    const points = pointsOf(chart, "not pinned");
    expect(points.find(({ x }) => x === 4)).toMatchObject({
      ...{ isOpen: true, text: expect.stringMatching(/, a rough figure$/) },
    });
    expect(
      points
        .filter(({ isOpen }) => !isOpen)
        .map(({ x }) => x)
        .sort(),
    ).toEqual([0, 16, 8]);
    expect(chart.description).toContain("The highest rate is 72.5 batches/s with 16 workers, not pinned;");
  });

  it("does not exist if no setting has a rate", () => {
    const tuning = buildTuning({ tried: [buildTried(usualSetting(0, false), null)], recommendation: null });
    expect(rateCharts(tuning)).toEqual([]);
  });
});
