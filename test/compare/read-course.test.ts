import { describe, expect, it } from "vitest";
import { type CourseReading, readCourse } from "../../src/compare/history/read-course.js";
import { seeded } from "../helpers/seeded.js";

interface Part {
  checks?: number;
  hoursApart?: number;
  /** Hour of the day (UTC) of the first check. */
  firstHour?: number;
  noise?: number;
  /** Standard error of the last value. */
  lastError?: number;
  seed?: number;
}

/** The reading of a course whose checks lie off its level by `offset`, as a logarithm. */
function read(
  offset: (check: number) => number,
  { checks = 60, hoursApart = 24, firstHour = 0, noise = 0.01, lastError, seed = 1 }: Part = {},
): CourseReading {
  const normals = seeded(seed).normals(checks);
  return readCourse(
    normals.map((z, check) => ({
      value: offset(check) + noise * z,
      error: check === checks - 1 ? (lastError ?? noise / 3) : noise / 3,
      time: Date.UTC(2026, 0, 1, firstHour) + check * hoursApart * 3_600_000,
    })),
  );
}

const half = Math.log(0.5);
const found = ({ pattern, outages, end, newest }: CourseReading) => [
  ...(pattern === null ? [] : [pattern.kind]),
  ...outages.map(({ first, end }) => `outage ${first} to ${end - 1}`),
  ...(end === null ? [] : [`end from ${end.first}`]),
  ...(newest?.isBeyond ? ["newest"] : []),
];

describe("the last checks of a course", () => {
  it.each([1, 2, 3])("are a step at the end, if %i of them are far lower", (count) => {
    const reading = read((check) => (check >= 30 - count ? half : 0), { checks: 30 });
    expect(found(reading)).toEqual([`end from ${30 - count}`, "newest"]);
    expect(reading.end!.change).toBeCloseTo(half, 1);
    expect(reading.fit.steps).toEqual([]);
  });

  it("are an ordinary step if there are four", () => {
    const { end, fit, newest } = read((check) => (check >= 26 ? half : 0), { checks: 30 });
    expect(end).toBeNull();
    expect(fit.steps.map(({ at }) => at)).toEqual([26]);
    expect(newest).toMatchObject({ isBeyond: true });
  });

  it.each([
    ["three far higher ones", [-half, -half, -half], ["end from 27", "newest"]],
    ["a far higher one", [-half], ["end from 29", "newest"]],
    ["one beside an outage to the other side", [half, -half], ["outage 28 to 28", "end from 29", "newest"]],
    ["one beside an outage a third as far", [half, 3 * half], ["outage 28 to 28", "end from 29", "newest"]],
  ])("are as far as they lie together: %s", (_, offsets, expected) => {
    const reading = read((check) => offsets[check - 30 + offsets.length] ?? 0, { checks: 30 });
    expect(found(reading)).toEqual(expected);
    expect(reading.end!.change).toBeCloseTo(offsets.at(-1)!, 1);
  });

  it("are not far off if they are less certain than that", () => {
    const fall = (check: number) => (check === 29 ? half : 0);
    expect(found(read(fall, { checks: 30, lastError: 0.01 }))).toEqual(["end from 29", "newest"]);
    expect(found(read(fall, { checks: 30, lastError: 0.2 }))).toEqual([]);
  });

  it.each([
    [1, 8, []],
    [1, 12, ["end from 29", "newest"]],
    [2, 8, ["end from 28", "newest"]],
    [2, 5, []],
  ])("%i of them are found %i deviations off: %j", (count, deviations, expected) => {
    const reading = read((check) => (check < 30 - count ? 0 : -0.01 * deviations), { checks: 30 });
    expect(found(reading)).toEqual(expected);
  });

  it("may be back at an earlier level", () => {
    expect(found(read((check) => (check < 40 || check > 57 ? 0 : half)))).toContain("end from 58");
  });

  it("are no step if a steep drift goes on", () => {
    expect(found(read((check) => -0.05 * check)).filter((one) => one.startsWith("end"))).toEqual([]);
  });

  it("may end a drift", () => {
    const reading = read((check) => -0.01 * check + (check >= 58 ? half : 0));
    expect(found(reading)).toContain("end from 58");
    expect(reading.end!.change).toBeCloseTo(half, 1);
  });

  it("may end a drift that began after a level", () => {
    const reading = read((check) => -0.01 * Math.max(0, check - 30) + (check >= 58 ? half : 0));
    expect(found(reading)).toContain("end from 58");
    expect(reading.end!.change).toBeCloseTo(half, 1);
  });

  it.each([2, 7])("say nothing of a course of fewer than eight, such as %i", (checks) => {
    expect(found(read((check) => (check === checks - 1 ? half : 0), { checks }))).toEqual([]);
  });
});

describe("an outage", () => {
  it.each([1, 2, 3])("is a run of %i checks that are far lower, after which the level is back", (count) => {
    const reading = read((check) => (check >= 12 && check < 12 + count ? half : 0), { checks: 30 });
    expect(found(reading)).toEqual([`outage 12 to ${11 + count}`]);
    expect(reading.outages[0]!.change).toBeCloseTo(half, 1);
    expect(reading.fit.steps).toEqual([]);
  });

  it("is one for itself beside a check that is as far higher", () => {
    const reading = read((check) => (check === 12 ? half : check === 13 ? -half : 0), { checks: 30 });
    expect(found(reading)).toEqual(["outage 12 to 12", "outage 13 to 13"]);
    expect(reading.outages.map(({ change }) => Math.sign(change))).toEqual([-1, 1]);
  });

  it("is found in a course with a step, beside another one", () => {
    const reading = read(
      (check) => (check < 40 ? 0 : -0.2) + ([10, 11, 50, 51, 52].includes(check) ? half : 0),
    );
    expect(found(reading).slice(0, 2)).toEqual(["outage 10 to 11", "outage 50 to 52"]);
    expect(reading.fit.steps.map(({ at }) => at)).toEqual([40]);
  });
});

describe("two levels that take turns", () => {
  it("are found, and are no outages and no steps", () => {
    const random = seeded(3);
    const levels = Array.from({ length: 60 }, () => (random.uniform() < 0.5 ? Math.log(0.85) : 0));
    const reading = read((check) => levels[check]!);
    expect(found(reading)).toEqual(["alternation"]);
    expect(reading.pattern).toMatchObject({ checksLow: levels.filter((level) => level < 0).length });
    expect(reading.pattern!.change).toBeCloseTo(Math.log(0.85), 1);
    expect(reading.fit.steps).toEqual([]);
  });

  it("differ by as much, however high they are", () => {
    const { pattern, fit } = read((check) => Math.log(50) + (check % 2 === 0 ? 0 : Math.log(0.85)));
    expect(pattern).toMatchObject({ kind: "alternation", checksLow: 30 });
    expect(pattern!.change).toBeCloseTo(Math.log(0.85), 1);
    expect(fit.deviation).toBeLessThan(0.015);
  });

  it("are not told again as a newest value on the rarer level", () => {
    const reading = read((check) => (check % 4 === 3 ? half : 0));
    expect(found(reading)).toEqual(["alternation"]);
    expect(reading.newest!.change).toBeCloseTo(half, 1);
  });

  it.each([
    [30, ["outage 30 to 30"]],
    [59, ["end from 59", "newest"]],
  ])("do not hide that check %i is far below both", (low, more) => {
    const reading = read((check) => (check % 2 === 0 ? 0 : Math.log(0.85)) + (check === low ? 2 * half : 0));
    expect(found(reading)).toEqual(["alternation", ...more]);
  });

  it("are steps, if the course stays at each", () => {
    const reading = read((check) => (Math.floor(check / 15) % 2 === 0 ? 0 : half));
    expect(reading.pattern).toBeNull();
    expect(reading.fit.steps).toHaveLength(3);
  });
});

describe("a daily pattern", () => {
  const wave = (hour: number) => 0.075 * Math.sin((2 * Math.PI * (hour - 8)) / 24);

  it.each([1, 4, 5, 6, 8, 12])("is found with a check every %i hours", (hoursApart) => {
    const checks = (14 * 24) / hoursApart;
    const reading = read((check) => wave(check * hoursApart), { checks, hoursApart });
    expect(found(reading)).toEqual(["daily"]);
    expect(reading.fit.steps).toEqual([]);
    expect(reading.fit.deviation).toBeLessThan(0.02);
    expect(reading.pattern).toMatchObject({ lowestHour: 0, highestHour: 12 });
  });

  it("has the hour of the day at which its lowest and its highest figures begin", () => {
    const reading = read((check) => wave(check * 6 - 6), { checks: 56, hoursApart: 6 });
    expect(reading.pattern).toMatchObject({ lowestHour: 6, highestHour: 18 });
  });

  it.each([7, 15, 20])("is found from hour %i of a day on", (firstHour) => {
    const reading = read((check) => wave(firstHour + check * 6), { checks: 56, hoursApart: 6, firstHour });
    expect(reading.pattern).toMatchObject({ kind: "daily", lowestHour: 0, highestHour: 12 });
  });

  it.each([6, 12, 18])("has its hours in a course of years that begins at hour %i", (firstHour) => {
    const reading = read((check) => wave(firstHour + check * 6), { checks: 2020, hoursApart: 6, firstHour });
    expect(reading.pattern).toMatchObject({ kind: "daily", lowestHour: 0, highestHour: 12 });
  });

  it("does not hide a step", () => {
    const reading = read((check) => wave(check * 6) + (check < 60 ? 0 : -0.1), {
      checks: 120,
      hoursApart: 6,
    });
    expect(found(reading)).toContain("daily");
    expect(reading.fit.steps.map(({ at }) => at)).toEqual([60]);
  });
});

describe("a sawtooth", () => {
  it.each([3, 5, 7, 10])("of %i checks is found with its period", (period) => {
    const reading = read((check) => (-0.08 * (check % period)) / (period - 1));
    expect(reading.pattern).toMatchObject({ kind: "cycle", period });
    expect(reading.pattern!.change).toBeLessThan(-0.06);
    expect(reading.fit.steps).toEqual([]);
  });
});

it("a pattern is taken off a course of more checks than it was found in, each phase at its place", () => {
  const { fit, pattern } = read((check) => (-0.08 * (check % 7)) / 6, { checks: 320, noise: 0.005 });
  expect(pattern).toMatchObject({ kind: "cycle", period: 7 });
  expect(fit.deviation).toBeLessThan(0.006);
  expect(Math.max(...fit.residuals.map(Math.abs))).toBeLessThan(0.04);
});

describe("a course in which nothing changes", () => {
  it.each<[string, number, (random: ReturnType<typeof seeded>) => number]>([
    ["independent noise", 0, ({ normal }) => normal()],
    ["a lag-1 correlation of 0.4", 0.4, ({ normal }) => normal()],
    ["the tails of Student's t with 3 degrees of freedom", 0, studentOf3],
    ["such tails and a lag-1 correlation of 0.4", 0.4, studentOf3],
  ])("with %s gets a finding in at most 1 of 100 cases", (_, correlation, draw) => {
    let wrong = 0;
    for (let seed = 1; seed <= 500; ++seed) {
      const random = seeded(seed);
      let last = 0;
      const lengths = [12, 20, 30, 60];
      const hoursApart = [24, 6, 1][seed % 3]!;
      const points = Array.from({ length: lengths[seed % lengths.length]! }, (_, check) => {
        last = correlation * last + draw(random);
        const time = Date.UTC(2026, 0, 1) + check * hoursApart * 3_600_000;
        return { value: 0.01 * last, error: null, time };
      });
      if (found(readCourse(points)).length > 0) ++wrong;
    }
    expect(wrong).toBeLessThanOrEqual(5);
  });
});

function studentOf3({ normal, chiSquare }: ReturnType<typeof seeded>): number {
  return normal() / Math.sqrt(chiSquare(3) / 3);
}
