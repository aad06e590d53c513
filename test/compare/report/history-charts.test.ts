import { describe, expect, it } from "vitest";
import { describeHistory } from "../../../src/compare/history/trends.js";
import { historyCharts } from "../../../src/compare/report/history-charts.js";
import type { CurveChart } from "../../../src/draw/chart/chart.js";
import type { HistoryEntry } from "../../../src/results/history-entry.js";
import { buildEntry, buildFigure, buildTrend, type TrendPart } from "../../helpers/history.js";

const describeEntries = (entries: HistoryEntry[]) =>
  describeHistory({ version: "0.1.0", path: "history", history: { entries, notes: [] }, cells: null });
const chartsOf = (...args: Parameters<typeof describeEntries>): CurveChart[] =>
  historyCharts(describeEntries(...args));

/** Days since 1970, as the axis counts, and since the first check. */
const dayOf = (date: string) => Date.parse(date) / 864e5;
const since = ({ x }: { x: number }) => x - dayOf("2026-01-01");

/** Checks of one figure, with a new driver from check `driverFrom` on. */
function checks(factors: readonly number[], driverFrom = Number.POSITIVE_INFINITY): HistoryEntry[] {
  return factors.map((factor, day) => {
    const entry = buildEntry(day, { series: [buildFigure({ figure: 55.4 * factor })] });
    const driver = day < driverFrom ? "580.159.04" : "590.10";
    return { ...entry, fingerprint: { ...entry.fingerprint, driver } };
  });
}
const ofTrend = (part: TrendPart, driverFrom?: number) => chartsOf(checks(buildTrend(part), driverFrom))[0]!;
const levelOf = ({ curves }: CurveChart) => curves.find(({ name }) => name === "level")!.points;

describe("a history's charts", () => {
  it("have a point for each check with its time and figure, and words on the trend", () => {
    const chart = ofTrend({ checks: 20 });
    const title = "h2d pinned, from check to check";
    expect(chart).toMatchObject({ kind: "curves", name: "history-h2d-pinned", title });
    const points = chart.curves.filter(({ isJoined }) => !isJoined).flatMap(({ points }) => points);
    expect(points.map(since)).toEqual(Array.from({ length: 20 }, (_, day) => expect.closeTo(day + 5 / 24)));
    expect(points[0]!.text).toMatch(/^check 1 \(2026-01-01 05:00 UTC\): [−+]?0\.\d %, 55\.\d GB\/s$/);
    expect(chart.description).toMatch(/^20 checks: no change\. Noise between checks: 0\.\d+ %\.$/);
    expect([chartsOf(checks([1])), chartsOf([])]).toEqual([[], []]);
  });

  it("have round dates on their axis, or times of day, and gaps during long pauses", () => {
    const entries = checks(buildTrend({ checks: 60 }));
    const [chart] = chartsOf(entries.slice(0, 20));
    expect(chart!.x).toMatchObject({ label: "date of the check (UTC)" });
    expect(chart!.x.ticks!.map(chart!.x.format).slice(0, 2)).toEqual(["2026-01-03", "2026-01-05"]);
    const hourly = entries.slice(0, 40).map((entry, hour) => ({
      ...entry,
      startedAt: new Date(Date.UTC(2026, 0, 1, hour)).toISOString(),
    }));
    const [short] = chartsOf(hourly);
    expect(short!.x.format(short!.x.ticks![1]!)).toBe("01-01 06:00");
    const paused = entries
      .slice(0, 20)
      .map((entry, day) => (day < 10 ? entry : { ...entry, startedAt: buildEntry(day + 100).startedAt }));
    const xs = chartsOf(paused)[0]!
      .curves.at(-1)!
      .points.map(({ x }) => x);
    expect(xs[10]! - xs[9]!).toBeCloseTo(101);
  });

  it("mark a step with a vertical line that names the changed facts", () => {
    const chart = ofTrend({ checks: 40, steps: { 20: -0.06 } }, 20);
    expect(chart.rules).toEqual([
      {
        ...{ axis: "x", value: dayOf("2026-01-20T17:00Z") },
        label: expect.stringMatching(/^−[56]\.\d %: driver 580\.159\.04 → 590\.10$/),
      },
    ]);
    const level = levelOf(chart);
    expect(level.map((knot) => Math.floor(since(knot)))).toEqual([0, 19, 20, 39]);
    expect(level[1]!.y - level[2]!.y).toBeGreaterThan(0.05);
    expect(level.map(({ text }) => text.replace(/: .*/, ""))).toEqual(
      [1, 20, 21, 40].map((check) => `level at check ${check}`),
    );
    expect(chart.description).toMatch(
      /^40 checks: slower since check 21 .*; driver 580\.159\.04 → 590\.10\./,
    );
  });

  it("draw checks of each outcome in a style of its own, unknown outcomes too", () => {
    const [chart] = chartsOf(
      checks(buildTrend({ checks: 10 })).map((entry, day) => ({
        ...entry,
        outcome: day === 4 ? "regression" : day === 7 ? "an outcome to come" : "pass",
      })),
    );
    expect(chart!.curves.map(({ name, points }) => `${name} ${points.length}`).slice(1)).toEqual([
      ...["check: pass 8", "check: regression 1", "check: an outcome to come 1"],
    ]);
    expect(new Set(chart!.curves.map(({ style }) => style)).size).toBe(4);
  });

  it("have different names even if the trends' names differ only in punctuation", () => {
    const described = describeEntries(checks(buildTrend({ checks: 10 })));
    const trends = ["a b", "a-b", "A b"].map((name) => ({ ...described.trends[0]!, name }));
    expect(historyCharts({ ...described, trends }).map(({ name }) => name)).toEqual([
      ...["history-a-b", "history-a-b-2", "history-a-b-3"],
    ]);
  });
});
