import { describe, expect, it } from "vitest";
import type { Course, CourseDrift, CourseStep } from "../../../src/compare/history/history-document.js";
import {
  courseFindings,
  findingsOf,
  foundIn,
  lastChange,
  newestText,
} from "../../../src/compare/report/history-findings.js";

/** When check 0, 1, 2… started. */
const startOf = (check: number) => new Date(Date.UTC(2026, 0, 1 + check, 5)).toISOString();

function courseOf(part: Partial<Course>): Course {
  const none = {
    steps: [],
    drifts: [],
    outages: [],
    endStep: null,
    pattern: null,
    behind: null,
    newest: null,
  };
  const points = Array.from({ length: 30 }, (_, check) => ({ check, change: 0 }));
  return { ...none, name: "a", unit: "GB/s", points, ...part } as unknown as Course;
}

const stepAt = (after: number, part: Partial<CourseStep> = {}): CourseStep => ({
  ...{ change: -0.1, low: -0.12, high: -0.08, before: after - 1, after, earliest: after, latest: after },
  ...{ startedBefore: startOf(after - 1), startedAfter: startOf(after), differences: [], ...part },
});
const far = (first: number, last: number, change: number) => ({
  ...{ first, last, change, checks: last - first + 1 },
  ...{ startedFirst: startOf(first), startedLast: startOf(last) },
});
const driftOf = (first: number, last: number): CourseDrift => ({
  ...far(first, last, -0.1),
  ...{ low: -0.12, high: -0.08, perCheck: -0.01 },
});
const newest = (change: number, isBeyond = false) => ({
  ...{ check: 29, startedAt: startOf(29), figure: null, change, checksBefore: 29, deviation: 0.01, isBeyond },
});
const placesOf = (part: Partial<Course>) => courseFindings(courseOf(part)).map(({ place }) => place);

describe("a finding", () => {
  it("tells from which to which check a step may be, if that is not sure", () => {
    expect(placesOf({ steps: [stepAt(4), stepAt(9, { earliest: 8, latest: 11 })] })).toEqual([
      "step between check 4 (2026-01-04 05:00 UTC) and 5 (2026-01-05 05:00 UTC)",
      "step between check 9 (2026-01-09 05:00 UTC) and 10 (2026-01-10 05:00 UTC), perhaps as early as check 9 or as late as 12",
    ]);
  });

  it.each([
    ["GB/s", -0.5, "outage", true],
    ["GB/s", 0.5, "short rise", false],
    ["us", 0.5, "outage", true],
    ["us", -0.5, "short rise", false],
  ] as const)("in %s of %f is an %s", (unit, change, word, isSlower) => {
    const [found] = courseFindings(courseOf({ unit, outages: [far(4, 4, change)] }));
    expect(found).toMatchObject({ place: `${word} in check 5 (2026-01-05 05:00 UTC)`, isSlower });
  });

  it("of the last checks is from the first of them on, and slower or faster", () => {
    const endStep = (first: number, change: number) => ({ ...far(first, 29, change), differences: [] });
    expect([placesOf({ endStep: endStep(29, 0.5) }), placesOf({ endStep: endStep(28, -0.5) })]).toEqual([
      ["the last check, from check 30 (2026-01-30 05:00 UTC) on, is faster"],
      ["the last 2 checks, from check 29 (2026-01-29 05:00 UTC) on, are slower"],
    ]);
  });

  it("of a day has the six hours of its lowest and its highest figures", () => {
    const pattern = { kind: "daily", change: -0.1501, lowestHour: 18, highestHour: 6 } as const;
    expect(courseFindings(courseOf({ pattern }))).toMatchObject([
      { place: "daily pattern, lowest from 18 to 24 UTC, highest from 06 to 12 UTC", size: "−15.1 %" },
    ]);
  });

  it("has its size with the sign of its course, rounded towards the slower", () => {
    const sizeOf = (unit: Course["unit"], change: number) =>
      courseFindings(courseOf({ unit, outages: [far(4, 4, change)] }))[0]!.size;
    expect([sizeOf("GB/s", -0.0501), sizeOf("us", 0.0501)]).toEqual(["−5.1 %", "+5.1 %"]);
  });
});

describe("the findings of several courses", () => {
  const differences = [{ fact: "driver", before: "1", after: "2" }];
  const courses = [
    courseOf({ name: "a", steps: [stepAt(9)] }),
    courseOf({ name: "b", steps: [stepAt(4, { change: 0.1, low: 0.08, high: 0.12 }), stepAt(9)] }),
    courseOf({ name: "c", steps: [stepAt(9, { differences }), stepAt(4)] }),
  ];

  it("are in the order of the checks, one for all courses with the same at the same place", () => {
    expect(findingsOf(courses).map(({ text, tone }) => [text.replace(/between.*?: /, ""), tone])).toEqual([
      [
        "step b +10.0 % (+8.0 to +12.0 %), c −10.0 % (−12.0 to −8.0 %); no recorded fact changed there",
        "warning",
      ],
      [
        "step a −10.0 % (−12.0 to −8.0 %), b −10.0 % (−12.0 to −8.0 %); no recorded fact changed there",
        "warning",
      ],
      ["step c −10.0 % (−12.0 to −8.0 %); changed there: driver 1 → 2", "warning"],
    ]);
    expect(findingsOf([courseOf({ steps: [stepAt(4, { change: 0.1 })] })])).toMatchObject([
      { tone: "plain" },
    ]);
  });

  it("are counted by kind; the newest check counts if it is all that was found", () => {
    const beyond = courseOf({ newest: newest(-0.5, true) });
    expect(foundIn([beyond])).toBe("the newest check is far off");
    expect(foundIn([...courses, beyond])).toBe("5 steps");
    expect(foundIn([courseOf({ drifts: [driftOf(3, 9)], outages: [far(4, 4, -1)] })])).toBe(
      "1 drift and 1 outage",
    );
  });
});

describe("the last change of a history", () => {
  const up = { change: 0.1, low: 0.08, high: 0.12 };

  it.each<[string, Partial<Course>[], string]>([
    ["a step", [{ steps: [stepAt(9), stepAt(4)] }], "at check 10 (2026-01-10 05:00 UTC), to slower"],
    [
      "to both sides",
      [{ steps: [stepAt(9)] }, { steps: [stepAt(9, up)] }],
      "at check 10 (2026-01-10 05:00 UTC), to slower and to faster",
    ],
    [
      "to higher figures",
      [{ steps: [stepAt(9, up), stepAt(4)] }],
      "at check 10 (2026-01-10 05:00 UTC), to faster",
    ],
    [
      "a drift up to its last check",
      [{ drifts: [driftOf(3, 9)], steps: [stepAt(5)] }],
      "up to check 10 (2026-01-10 05:00 UTC), to slower",
    ],
    [
      "at the end",
      [{ endStep: { ...far(28, 29, -0.5), differences: [] } }],
      "at check 29 (2026-01-29 05:00 UTC), to slower",
    ],
  ])("is %s", (_, parts, words) => {
    expect(lastChange(parts.map(courseOf))).toBe(`the last ${words} figures`);
  });

  it("is none of outages", () => {
    expect(lastChange([courseOf({ outages: [far(4, 4, -0.5)] })])).toBeNull();
  });
});

it.each([
  [-0.0501, "newest 5.1 % below the median of 29 checks before"],
  [0.0509, "newest 5.0 % above the median of 29 checks before"],
  [0, "newest at the median of 29 checks before"],
])("the newest check's distance of %f is in words: %s", (change, words) => {
  expect(newestText(courseOf({ newest: newest(change) }))).toBe(words);
});
