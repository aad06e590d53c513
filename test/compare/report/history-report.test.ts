import { describe, expect, it } from "vitest";
import { describeHistory } from "../../../src/compare/history/courses.js";
import type { Course, CourseDrift, CourseStep } from "../../../src/compare/history/history-document.js";
import {
  courseFindings,
  findingsOf,
  foundIn,
  lastChange,
  newestText,
} from "../../../src/compare/report/history-findings.js";
import { datesAlong, historyKind, sparkline } from "../../../src/compare/report/history-report.js";
import { fileScreen } from "../../../src/draw/screen.js";
import type { HistoryEntry } from "../../../src/results/history-entry.js";
import { blocksOf, drawn, reportOf } from "../../helpers/drawn.js";
import { frozen } from "../../helpers/frozen.js";
import { buildCourse, buildEntry, buildFigure, pinnedId } from "../../helpers/history.js";

/** When check 0, 1, 2… started, and how that is written. */
const startOf = (check: number) => new Date(Date.UTC(2026, 0, 1 + check, 5)).toISOString();
const timeOf = (check: number) => `${startOf(check).slice(0, 10)} 05:00 UTC`;
const named = (check: number) => `check ${check + 1} (${timeOf(check)})`;

function courseOf(part: Partial<Course>): Course {
  const none = {
    steps: [],
    drifts: [],
    outages: [],
    endStep: null,
    behind: null,
    newest: null,
  };
  const points = Array.from({ length: 30 }, (_, check) => ({ check, change: 0 }));
  return frozen({ ...none, name: "a", unit: "GB/s", points, ...part } as unknown as Course);
}

const stepAt = (after: number, part: Partial<CourseStep> = {}): CourseStep => ({
  ...{ change: -0.1, low: -0.12, high: -0.08, before: after - 1, after, earliest: after, latest: after },
  ...{ startedBefore: startOf(after - 1), startedAfter: startOf(after), differences: [], ...part },
});
const far = (first: number, last: number, change: number) => ({
  ...{ first, last, change, checks: last - first + 1 },
  ...{ startedFirst: startOf(first), startedLast: startOf(last) },
});
const endStep = (first: number, change: number) => ({ ...far(first, 29, change), differences: [] });
const driftOf = (first: number, last: number): CourseDrift => ({
  ...{ ...far(first, last, -0.1), low: -0.12, high: -0.08, perCheck: -0.01 },
});
const newest = (change: number, isBeyond = false, figure: number | null = null) => ({
  ...{ check: 29, startedAt: startOf(29), figure, change, checksBefore: 29, deviation: 0.01, isBeyond },
});
const tenth = "−10.0 % (−12.0 to −8.0 %)";
const up = { change: 0.1, low: 0.08, high: 0.12 };
const behind = { machine: "node-0", change: -0.5 };
const beyond = "the newest check differs from the median of the 29 before by more than their noise";

describe("a finding in a course", () => {
  it.each<[Partial<Course>, string, string, boolean]>([
    [{ steps: [stepAt(4)] }, `step between ${named(3)} and 5 (${timeOf(4)})`, tenth, true],
    [
      { steps: [stepAt(9, { earliest: 8, latest: 11, ...up })] },
      `step between ${named(8)} and 10 (${timeOf(9)}), perhaps as early as check 9 or as late as 12`,
      "+10.0 % (+8.0 to +12.0 %)",
      false,
    ],
    [{ drifts: [driftOf(3, 9)] }, `drift from ${named(3)} to 10 (${timeOf(9)})`, tenth, true],
    [{ outages: [far(4, 4, -0.0501)] }, `outage in ${named(4)}`, "−5.1 %", true],
    [{ outages: [far(4, 6, -0.5)] }, `outage from ${named(4)} to 7 (${timeOf(6)})`, "−50.0 %", true],
    [{ outages: [far(4, 4, 0.5)] }, `short rise in ${named(4)}`, "+50.0 %", false],
    [{ unit: "us", outages: [far(4, 4, 0.0501)] }, `outage in ${named(4)}`, "+5.1 %", true],
    [{ unit: "us", outages: [far(4, 4, -0.5)] }, `short rise in ${named(4)}`, "−50.0 %", false],
    [{ endStep: endStep(27, 0.5) }, `the last 3 checks, from ${named(27)} on, are faster`, "+50.0 %", false],
    [{ endStep: endStep(28, -0.5) }, `the last 2 checks, from ${named(28)} on, are slower`, "−50.0 %", true],
    [{ behind }, "slower than node-0", "−50.0 %", true],
    [{ newest: newest(-0.5, true) }, beyond, "−50.0 %", true],
    [{ newest: newest(0.5, true, 27.7) }, beyond, "+50.0 %, 27.7 GB/s", false],
  ])("%# has its place, its size and its direction in words", (part, place, size, isSlower) => {
    expect(courseFindings(courseOf(part))).toMatchObject([{ place, size, isSlower }]);
  });

  it.each([
    [-0.0501, null, "newest 5.1 % below the median of 29 checks before"],
    [0.0509, 55.4, "newest 55.4 GB/s, 5.0 % above the median of 29 checks before"],
    [0, null, "newest at the median of 29 checks before"],
  ])("of the newest check has its distance of %f in words", (change, figure, words) => {
    expect(newestText(courseOf({ newest: newest(change, false, figure) }))).toBe(words);
  });
});

describe("the findings of several courses", () => {
  const at9 = named(9);
  const drifting = { drifts: [driftOf(3, 9)], outages: [far(4, 4, -1)], steps: [stepAt(5)] };
  const up9 = { steps: [stepAt(9, up)] };
  const differences = [{ fact: "driver", before: "1", after: "2" }];
  const courses = [
    courseOf({ name: "a", steps: [stepAt(9)] }),
    courseOf({ name: "b", steps: [stepAt(4, up), stepAt(9)] }),
    courseOf({ name: "c", steps: [stepAt(9, { differences }), stepAt(4)] }),
  ];

  it("are in the order of the checks, one for all courses with the same at the same place", () => {
    const [lost, nothing] = [tenth, "no recorded fact changed there"];
    expect(findingsOf(courses).map(({ text, tone }) => [text.replace(/between.*?: /, ""), tone])).toEqual([
      [`step b +10.0 % (+8.0 to +12.0 %), c ${lost}; ${nothing}`, "warning"],
      [`step a ${lost}, b ${lost}; ${nothing}`, "warning"],
      [`step c ${lost}; changed there: driver 1 → 2`, "warning"],
    ]);
    expect(findingsOf([courseOf({ steps: [stepAt(4, up)] })])).toMatchObject([{ tone: "plain" }]);
  });

  it.each<[Partial<Course>[], string, string | null]>([
    [[{ newest: newest(-0.5, true) }], "the newest check is far off", null],
    [[{ steps: [stepAt(9), stepAt(4)], newest: newest(-0.5, true) }], "2 steps", `at ${at9}, to slower`],
    [[drifting], "1 step, 1 drift and 1 outage", `up to ${at9}, to slower`],
    [[{ outages: [far(4, 4, -0.5)], behind }], "1 outage and 1 slower machine", null],
    [[{ steps: [stepAt(9)] }, up9], "2 steps", `at ${at9}, to slower and to faster`],
    [[{ steps: [stepAt(9, up), stepAt(4)] }], "2 steps", `at ${at9}, to faster`],
    [[{ endStep: endStep(28, -0.5) }], "1 step at the end", `at ${named(28)}, to slower`],
  ])("%# are counted by kind, with the last lasting change", (parts, found, last) => {
    const all = parts.map(courseOf);
    expect(foundIn(all)).toBe(found);
    expect(lastChange(all)).toBe(last && `the last ${last} figures`);
  });
});

const describeEntries = (entries: HistoryEntry[], cells: string[] | null = null, notes: string[] = []) =>
  describeHistory({ version: "0.1.0", path: "history", history: { entries, notes }, cells });
const d2h = pinnedId.replace("h2d", "d2h");
const course = buildCourse({ checks: 40, steps: { 20: -0.05 } });
const entries = course.map((factor, day) =>
  buildEntry(day, {
    outcome: day === 20 ? "regression" : "pass",
    series: [
      buildFigure({ figure: 55 * factor }),
      buildFigure({ id: d2h, moved: "d2h", figure: 50 * factor }),
    ],
  }),
);
const history = describeEntries(entries, null, ["line 3 is left out"]);
const plain = fileScreen({ columns: 120 });
const textOf = (...args: Parameters<typeof describeEntries>) =>
  drawn(historyKind, describeEntries(...args), "table", plain).replaceAll(/\s+/g, " ");

describe("a history's report", () => {
  const report = reportOf(historyKind, history);

  it("has the conclusion first, then the checks, the courses, the findings and what was left out", () => {
    expect(report.name).toBe(`History: 40 checks in history until ${timeOf(39)}`);
    const last = `the last at ${named(20)}, to slower figures`;
    expect(blocksOf(report, "answer")).toMatchObject([
      { text: `2 of 2 courses changed in 40 checks: 2 steps, ${last}` },
    ]);
    expect(blocksOf(report, "finding").map(({ text }) => text)).toEqual([
      expect.stringMatching(/^step between .* h2d pinned −5\.\d % .*, d2h pinned −5\.\d % /),
    ]);
    const text = drawn(historyKind, history, "table", plain);
    expect(text).toContain(`history, 40 checks from ${timeOf(0)} to ${timeOf(39)}`);
    expect(text).toContain("39 pass and 1 regression");
    expect(text).toMatch(
      /^ {2}h2d pinned +1 +- +[▆▇█]{20}[▁▂▃]{20} +−4\.\d % +−\d\.\d % +\+\d\.\d % +0\.\d\d %$/m,
    );
    expect(text).toContain("note: line 3 is left out");
    expect(JSON.parse(drawn(historyKind, history, "json"))).toEqual(history);
  });

  it("draws a trend in at least twelve columns", () => {
    expect(drawn(historyKind, history, "table", fileScreen({ columns: 30 }))).toMatch(/ [▁-█]{12}$/m);
  });

  it("marks a newest check that is far off", () => {
    const toneOf = (fall: number) => {
      const falling = course
        .slice(0, 20)
        .map((factor, day) =>
          buildEntry(day, { series: [buildFigure({ figure: 55 * factor * (day === 19 ? fall : 1) })] }),
        );
      const [table] = blocksOf(reportOf(historyKind, describeEntries(falling)), "table");
      return table!.grid.rows[0]![4]!.tone;
    };
    expect([toneOf(0.5), toneOf(1)]).toEqual(["warning", "plain"]);
  });

  it("has the names of the cells asked for, with their directions, not their ids", () => {
    const bidir = buildFigure({ id: pinnedId.replace("h2d", "bidir") });
    const some = entries.slice(0, 9).map((entry) => ({ ...entry, series: [...entry.series, bidir] }));
    const [table] = blocksOf(reportOf(historyKind, describeEntries(some, ["*"])), "table");
    expect(table!.grid.rows.map(([name]) => name!.text)).toEqual([
      "H2D pinned 16 MiB x1",
      "D2H pinned 16 MiB x1",
      "H2D+D2H pinned 16 MiB x1 (h2d)",
    ]);
  });

  it("names the machines", () => {
    const ofTwo = entries.map((entry, day) => ({
      ...entry,
      machine: { hostName: [`node-${day % 2}`], gpuUuids: [], pciAddresses: [] },
    }));
    expect(textOf(ofTwo)).toContain("Machines node-0; node-1");
  });

  it.each([
    [0, "=> history holds no check yet"],
    [0, "history, no check"],
    [1, "=> one check is not a course yet: each further check is compared with those before"],
    [1, `history, 1 check of ${timeOf(0)}`],
    [3, "with fewer than 8 checks, a step is hard to distinguish from noise"],
    [20, "=> no step and no drift was found in 20 checks (2 courses)"],
  ])("of %i checks says so", (count, sentence) => {
    const text = textOf(entries.slice(0, count));
    expect(text).toContain(sentence);
    expect(text.includes("with fewer than 8 checks")).toBe(count === 1 || count === 3);
  });

  it("without a figure says so", () => {
    expect(textOf([buildEntry(0, { series: [] })])).toContain("=> no check has a figure");
  });
});

it.each([
  [23, ["2026-01-01 – 2026-03-31"]],
  [22, ["2026-01-01 –", "2026-03-31"]],
])("the dates above a sparkline take as few lines as fit in %i columns", (width, lines) => {
  const checks = ["2026-01-01T05:00:00Z", "2026-03-31T05:00:00Z"].map((startedAt) => ({ startedAt }));
  expect(datesAlong(checks, width)).toEqual(lines);
});

it.each<[string, (number | null)[], number, string]>([
  ["goes from the least to the largest change, with blanks", [-0.1, null, 0, 0.1], 40, "▁ ▅█"],
  ["is flat if changes are small", [0.001, 0, -0.001], 40, "▅▅▄"],
  ["may have one check", [0], 40, "▅"],
  ["has medians of several checks in each column", [0, 0, -0.5, 0, -0.1, -0.1, -0.1, -0.1], 2, "█▁"],
])("a sparkline %s", (_, changes, width, line) => {
  const points = changes.flatMap((change, check) => (change === null ? [] : [{ check, change }]));
  expect(sparkline({ points }, changes.length, width)).toBe(line);
});
