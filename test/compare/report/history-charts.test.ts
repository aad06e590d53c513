import { describe, expect, it } from "vitest";
import { describeHistory } from "../../../src/compare/history/courses.js";
import { historyCharts } from "../../../src/compare/report/history-charts.js";
import type { CurveChart } from "../../../src/draw/chart/chart.js";
import type { HistoryEntry } from "../../../src/results/history-entry.js";
import { buildCourse, buildEntry, buildFigure } from "../../helpers/history.js";

const chartsOf = (entries: HistoryEntry[]): CurveChart[] => {
  const history = { entries, notes: [] };
  return historyCharts(describeHistory({ version: "0.1.0", path: "history", history, cells: null }));
};

/** Days since 1970, as the axis counts. */
const dayOf = (date: string) => Date.parse(date) / 864e5;

/** Checks of one figure; a new driver comes with `driverFrom`. */
function checks(factors: readonly number[], driverFrom = Number.POSITIVE_INFINITY): HistoryEntry[] {
  return factors.map((factor, day) => {
    const entry = buildEntry(day, { series: [buildFigure({ figure: 55.4 * factor })] });
    const driver = day < driverFrom ? "580.159.04" : "590.10";
    return { ...entry, fingerprint: { ...entry.fingerprint, driver } };
  });
}

/** The knots of the line that a course of these factors has. */
const levelOf = (factors: readonly number[]) =>
  chartsOf(checks(factors))[0]!
    .curves.find(({ name }) => name === "level")!
    .points.map(({ x, y }) => ({ day: Math.floor(x - dayOf("2026-01-01")), y }));

describe("a history's charts", () => {
  it("have a point for each check with its time and figure", () => {
    const [chart] = chartsOf(checks(buildCourse({ checks: 20 })));
    const title = "h2d pinned, from check to check";
    expect(chart).toMatchObject({ kind: "curves", name: "history-h2d-pinned", title });
    const points = chart!.curves.filter(({ isJoined }) => !isJoined).flatMap(({ points }) => points);
    expect(points.map(({ x }) => x - dayOf("2026-01-01"))).toEqual(
      Array.from({ length: 20 }, (_, day) => expect.closeTo(day + 5 / 24)),
    );
    expect(points[0]!.text).toMatch(/^check 1 \(2026-01-01 05:00 UTC\): [−+]?0\.\d %$/);
    expect(chart!.description).toMatch(
      /^20 checks: no step and no drift\. Newest .* Apart from that, checks differ by 0\.\d+ %\.$/,
    );
    const history = { entries: checks([1, 1, 0.5]), notes: [] };
    const ofCell = describeHistory({ version: "0.1.0", path: "history", history, cells: ["*"] });
    const texts = historyCharts(ofCell)[0]!.curves[1]!.points.map(({ text }) => text);
    expect(texts[2]).toBe("check 3 (2026-01-03 05:00 UTC): −50.0 %, 27.7 GB/s");
  });

  it("have round dates on their axis, or times of day", () => {
    const [chart] = chartsOf(checks(buildCourse({ checks: 20 })));
    expect(chart!.x).toMatchObject({ label: "date of the check (UTC)" });
    expect(chart!.x.ticks!.map(chart!.x.format).slice(0, 2)).toEqual(["2026-01-03", "2026-01-05"]);
    const hourly = checks(buildCourse({ checks: 60 })).map((entry, hour) => ({
      ...entry,
      startedAt: new Date(Date.UTC(2026, 0, 1, hour)).toISOString(),
    }));
    const [short] = chartsOf(hourly.slice(0, 40));
    expect(short!.x.format(short!.x.ticks![1]!)).toBe("01-01 06:00");
  });

  it("have a gap during long pauses between checks", () => {
    const [chart] = chartsOf(
      checks(buildCourse({ checks: 20 })).map((entry, day) =>
        day < 10 ? entry : { ...entry, startedAt: buildEntry(day + 100).startedAt },
      ),
    );
    const xs = chart!.curves.at(-1)!.points.map(({ x }) => x);
    expect(xs[10]! - xs[9]!).toBeCloseTo(101);
  });

  it("give the newest check's distance from the earlier ones, and mark a step at the end", () => {
    const [chart] = chartsOf(checks(buildCourse({ checks: 30, steps: { 28: -0.5 } })));
    expect(chart!.description).toMatch(
      /Newest 27\.\d GB\/s, (49|50)\.\d % below the median of 29 checks before\./,
    );
    expect(chart!.description).not.toContain("the newest check differs");
    expect(chart!.rules).toMatchObject([{ axis: "x", value: dayOf("2026-01-28T17:00Z") }]);
  });

  it("mark a step with a vertical line that names the changed facts", () => {
    const [chart] = chartsOf(checks(buildCourse({ checks: 40, steps: { 20: -0.06 } }), 20));
    expect(chart!.rules).toHaveLength(1);
    const [rule] = chart!.rules;
    expect(rule).toMatchObject({ axis: "x", value: dayOf("2026-01-20T17:00Z") });
    expect(rule!.label).toMatch(/^−[56]\.\d %: driver 580\.159\.04 → 590\.10$/);
    const level = chart!.curves.find(({ name }) => name === "level")!;
    expect(level.points.map(({ x }) => Math.floor(x - dayOf("2026-01-01")))).toEqual([0, 19, 20, 39]);
    expect(level.points[1]!.y - level.points[2]!.y).toBeGreaterThan(0.05);
    expect(level.points.map(({ text }) => text.replace(/: .*/, ""))).toEqual(
      [1, 20, 21, 40].map((check) => `level at check ${check}`),
    );
  });

  it("draw a drift as a slope", () => {
    const [chart] = chartsOf(checks(buildCourse({ checks: 60, drift: [0, 60, -0.002] })));
    expect(chart!.description).toMatch(/drift from check 1 \(.*\) to 60 \(.*\): −11\.\d %/);
    const { points } = chart!.curves.find(({ name }) => name === "level")!;
    expect(points[0]!.y - points.at(-1)!.y).toBeGreaterThan(0.08);
    const [before, first, last, after] = levelOf(buildCourse({ checks: 90, drift: [30, 60, -0.005] }));
    expect([before!.day, before!.y - first!.y, last!.y - after!.y, after!.day]).toEqual([0, 0, 0, 89]);
    expect(Math.abs(first!.day - 30)).toBeLessThan(5);
    expect(Math.abs(last!.day - 59)).toBeLessThan(5);
    expect(first!.y - last!.y).toBeGreaterThan(0.1);
  });

  it("distinguish checks of other outcomes", () => {
    const entries = checks(buildCourse({ checks: 10 })).map((entry, day) => ({
      ...entry,
      outcome: day === 4 ? "regression" : day === 7 ? "an outcome to come" : "pass",
    }));
    const [chart] = chartsOf(entries);
    const named = new Map(
      chart!.curves.map(({ name, points, style }) => [name, { count: points.length, style }]),
    );
    expect(named.get("check: regression")!.count).toBe(1);
    expect(named.get("check: an outcome to come")!.count).toBe(1);
    const styles = [...named.values()].map(({ style }) => style);
    expect(new Set(styles).size).toBe(styles.length);
  });

  it("are none of a single check, and none of an empty history", () => {
    expect(chartsOf(checks([1]))).toEqual([]);
    expect(chartsOf([])).toEqual([]);
  });

  it("have names of their own", () => {
    const entries = checks(buildCourse({ checks: 10 })).map((entry) => ({
      ...entry,
      series: ["h2d", "d2h"].map((moved) =>
        buildFigure({ id: `d0/${moved}/pinned/16777216/w1/throughput/wall/cold`, moved: moved as "h2d" }),
      ),
    }));
    expect(chartsOf(entries).map(({ name }) => name)).toEqual(["history-h2d-pinned", "history-d2h-pinned"]);
    const history = { entries, notes: [] };
    const described = describeHistory({ version: "0.1.0", path: "history", history, cells: null });
    const courses = ["a b", "a-b", "A b"].map((name) => ({ ...described.courses[0]!, name }));
    expect(historyCharts({ ...described, courses }).map(({ name }) => name)).toEqual([
      ...["history-a-b", "history-a-b-2", "history-a-b-3"],
    ]);
  });
});
