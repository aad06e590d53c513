import { describe, expect, it } from "vitest";
import { describeHistory } from "../../../src/compare/history/courses.js";
import { comparisonCharts } from "../../../src/compare/report/comparison-charts.js";
import { historyCharts } from "../../../src/compare/report/history-charts.js";
import type { CurveChart, ForestChart } from "../../../src/draw/chart/chart.js";
import type { HistoryEntry } from "../../../src/results/history-entry.js";
import {
  buildCellComparison,
  buildCellComparisons,
  buildComparison,
  buildGroup,
  type CellComparisonPart,
  type ComparisonPart,
} from "../../helpers/comparison.js";
import { buildCourse, buildEntry, buildFigure, type CoursePart } from "../../helpers/history.js";
import { MiB } from "../../helpers/result-document.js";

const forestsOf = (part: ComparisonPart) => comparisonCharts(buildComparison(part)) as ForestChart[];
const ofCells = (...cells: CellComparisonPart[]) => forestsOf({ cells: cells.map(buildCellComparison) });
const labels = ({ rows }: ForestChart) => rows.map(({ label }) => label);

describe("a comparison's forest plot", () => {
  it("has a row a cell with its change, interval and thresholds, sorted by change and then by id", () => {
    const [chart] = ofCells(
      { change: 0.01, threshold: 0.1, workers: 2 },
      { change: 0.01, workers: 1 },
      { sizeBytes: 64 * MiB, change: -0.098, margin: 0.003, verdict: "slower", threshold: 0.05 },
    );
    expect(chart).toMatchObject({
      ...{ kind: "forest", name: "throughput-changes", limitName: "threshold" },
      title: "Throughput: change of each cell (more is faster)",
      description:
        "2 not slower and 1 slower; from −9.8 % (H2D pinned 64 MiB x1) to +1.0 % (H2D pinned 16 MiB x1).",
      x: { label: "change of GB/s" },
    });
    expect(chart!.rows).toMatchObject([
      {
        ...{ label: "H2D pinned 64 MiB x1", figure: "−9.8 %", limits: [-0.05, 0.05] },
        ...{ value: expect.closeTo(-0.098), low: expect.closeTo(-0.101), high: expect.closeTo(-0.095) },
        text: expect.stringMatching(/^H2D pinned 64 MiB x1: 55\.4 GB\/s before, .* now: −9\.8 %/),
      },
      { label: "H2D pinned 16 MiB x1", limits: [-0.03, 0.03] },
      { label: "H2D pinned 16 MiB x2", limits: [-0.1, 0.1] },
    ]);
    expect(chart!.kinds[chart!.rows[0]!.kind]!.name).toMatch(/^slower: /);
  });

  it("shows times in a chart of their own, and leaves what has no change to the table", () => {
    const missing = { change: null, verdict: "missing" } as const;
    const [throughput, times] = ofCells({}, missing, { mode: "latency", baseline: 6, change: 0.2 });
    expect(throughput!.rows).toHaveLength(1);
    expect(throughput!.description).toContain("1 cell without a change is only in the table");
    expect(times).toMatchObject({
      name: "latency-changes",
      title: "Time of a copy: change of each cell (less is faster)",
      x: { label: "change of µs a copy" },
      description: expect.not.stringContaining("only in the table"),
    });
    expect(ofCells(missing)).toEqual([]);
  });

  it("shows of more than 24 cells those that are not the same, then the largest changes, and sums up all by kind", () => {
    const [cells, kinds] = ofCells(
      ...Array.from({ length: 90 }, (_, i) => ({
        ...{ sizeBytes: (i + 1) * MiB, memory: i < 30 ? "pageable" : "pinned", change: (i - 4) / 10_000 },
        verdict: i === 3 ? ("inconclusive" as const) : ("not slower" as const),
      })),
    );
    expect(cells!.rows).toHaveLength(24);
    expect(cells!.title).toContain("24 most remarkable of 90 cells");
    expect(labels(cells!)).toContain("H2D pageable 4 MiB x1");
    expect(labels(cells!)).not.toContain("H2D pageable 1 MiB x1");
    expect(kinds).toMatchObject({
      name: "throughput-changes-by-kind",
      title: "Throughput: change of all 90 cells, by direction and memory (more is faster)",
      rows: [
        {
          ...{ label: "H2D pageable, 30 cells", low: expect.closeTo(-0.0004), high: expect.closeTo(0.0025) },
          text: "H2D pageable, 30 cells: +0.1 % in the middle, from −0.1 % to +0.3 %",
        },
        { label: "H2D pinned, 60 cells" },
      ],
    });
  });

  it("shows large losses of many cells as well as large gains, and each direction by itself", () => {
    const [cells, kinds] = ofCells(
      ...Array.from({ length: 40 }, (_, i) => ({
        ...{ sizeBytes: (i + 1) * MiB, change: i < 30 ? 0.001 : -0.1 },
        direction: i % 2 === 0 ? ("h2d" as const) : ("d2h" as const),
      })),
    );
    expect(cells!.rows.filter(({ value }) => value < 0)).toHaveLength(10);
    expect(labels(kinds!)).toEqual(["H2D pinned, 20 cells", "D2H pinned, 20 cells"]);
  });

  const many = buildCellComparisons(30, { change: -0.0999 });
  const late = buildCellComparisons(30, { mode: "latency", change: 0.1 });

  it.each([
    ["the change of their group", many, buildGroup(many, { change: -0.0985 }), -0.0985, "−9.9 %"],
    ["that, beyond those of all cells", many, buildGroup(many, { change: -0.05 }), -0.05, "−5.0 %"],
    ["their median without it", many, buildGroup(many.slice(1), { change: -0.05 }), -0.0999, "−10.0 %"],
    ["their median elsewhere", many, buildGroup(many, { moved: "d2h" }), -0.0999, "−10.0 %"],
    ["their median of times", late, buildGroup(late, { change: -0.09 }), 0.1, "+10.0 %"],
  ])("has as the middle of a kind's cells %s", (_, cells, group, value, figure) => {
    const [, kinds] = forestsOf({ cells, groups: [group] });
    expect(kinds!.rows).toMatchObject([{ value: expect.closeTo(value, 12), figure }]);
    const { low, high } = kinds!.rows[0]!;
    expect([low! <= value, high! >= value]).toEqual([true, true]);
  });
});

const describeEntries = (entries: HistoryEntry[], cells: string[] | null = null) =>
  describeHistory({ version: "0.1.0", path: "history", history: { entries, notes: [] }, cells });
const chartsOf = (...args: Parameters<typeof describeEntries>): CurveChart[] =>
  historyCharts(describeEntries(...args));

/** Days since 1970, as the axis counts, and since the first check. */
const dayOf = (date: string) => Date.parse(date) / 864e5;
const since = ({ x }: { x: number }) => x - dayOf("2026-01-01");

/** Checks of one figure; a new driver comes with `driverFrom`. */
function checks(factors: readonly number[], driverFrom = Number.POSITIVE_INFINITY): HistoryEntry[] {
  return factors.map((factor, day) => {
    const entry = buildEntry(day, { series: [buildFigure({ figure: 55.4 * factor })] });
    const driver = day < driverFrom ? "580.159.04" : "590.10";
    return { ...entry, fingerprint: { ...entry.fingerprint, driver } };
  });
}
const ofCourse = (part: CoursePart, driverFrom?: number) =>
  chartsOf(checks(buildCourse(part), driverFrom))[0]!;
const levelOf = ({ curves }: CurveChart) => curves.find(({ name }) => name === "level")!.points;

describe("a history's charts", () => {
  it("have a point for each check with its time and figure, and words on the course", () => {
    const chart = ofCourse({ checks: 20 });
    const title = "h2d pinned, from check to check";
    expect(chart).toMatchObject({ kind: "curves", name: "history-h2d-pinned", title });
    const points = chart.curves.filter(({ isJoined }) => !isJoined).flatMap(({ points }) => points);
    expect(points.map(since)).toEqual(Array.from({ length: 20 }, (_, day) => expect.closeTo(day + 5 / 24)));
    expect(points[0]!.text).toMatch(/^check 1 \(2026-01-01 05:00 UTC\): [−+]?0\.\d %$/);
    expect(chart.description).toMatch(
      /^20 checks: no step and no drift\. Newest .* Apart from that, checks differ by 0\.\d+ %\.$/,
    );
    const [ofCell] = chartsOf(checks([1, 1, 0.5]), ["*"]);
    expect(ofCell!.curves[1]!.points[2]!.text).toBe("check 3 (2026-01-03 05:00 UTC): −50.0 %, 27.7 GB/s");
    expect([chartsOf(checks([1])), chartsOf([])]).toEqual([[], []]);
  });

  it("have round dates on their axis, or times of day, and gaps during long pauses", () => {
    const entries = checks(buildCourse({ checks: 60 }));
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

  it("mark a step, also one at the end, with a vertical line that names the changed facts", () => {
    const chart = ofCourse({ checks: 40, steps: { 20: -0.06 } }, 20);
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
    const atEnd = ofCourse({ checks: 30, steps: { 28: -0.5 } });
    expect(atEnd.description).toMatch(
      /Newest 27\.\d GB\/s, (49|50)\.\d % below the median of 29 checks before\./,
    );
    expect(atEnd.description).not.toContain("the newest check differs");
    expect(atEnd.rules).toMatchObject([{ value: dayOf("2026-01-28T17:00Z") }]);
  });

  it("draw a drift as a slope", () => {
    const whole = ofCourse({ checks: 60, drift: [0, 60, -0.002] });
    expect(whole.description).toMatch(/drift from check 1 \(.*\) to 60 \(.*\): −11\.\d %/);
    const [before, first, last, after] = levelOf(ofCourse({ checks: 90, drift: [30, 60, -0.005] }));
    expect([before!.y - first!.y, last!.y - after!.y]).toEqual([0, 0]);
    expect([before!, first!, last!, after!].map((knot) => Math.round(since(knot) / 10))).toEqual([
      0, 3, 6, 9,
    ]);
    expect(first!.y - last!.y).toBeGreaterThan(0.1);
  });

  it("distinguish checks of other outcomes, known or not", () => {
    const [chart] = chartsOf(
      checks(buildCourse({ checks: 10 })).map((entry, day) => ({
        ...entry,
        outcome: day === 4 ? "regression" : day === 7 ? "an outcome to come" : "pass",
      })),
    );
    expect(chart!.curves.map(({ name, points }) => `${name} ${points.length}`).slice(1)).toEqual([
      ...["check: pass 8", "check: regression 1", "check: an outcome to come 1"],
    ]);
    expect(new Set(chart!.curves.map(({ style }) => style)).size).toBe(4);
  });

  it("have names of their own", () => {
    const described = describeEntries(checks(buildCourse({ checks: 10 })));
    const courses = ["a b", "a-b", "A b"].map((name) => ({ ...described.courses[0]!, name }));
    expect(historyCharts({ ...described, courses }).map(({ name }) => name)).toEqual([
      ...["history-a-b", "history-a-b-2", "history-a-b-3"],
    ]);
  });
});
