import { describe, expect, it } from "vitest";
import { type CourseReading, readCourse } from "../../src/compare/history/read-course.js";
import { frozen } from "../helpers/frozen.js";
import { seeded } from "../helpers/seeded.js";

interface Part {
  checks?: number;
  hoursApart?: number;
  /** Hour of the day (UTC) of the first check. */
  firstHour?: number;
  noise?: number;
  /** Standard error of the last value. */
  lastError?: number;
}

/** The reading of a course whose checks lie off its level by `offset`, as a logarithm. */
function read(
  offset: (check: number) => number,
  { checks = 60, hoursApart = 24, firstHour = 0, noise = 0.01, lastError }: Part = {},
): CourseReading {
  const points = seeded(1).normals(checks);
  return readCourse(
    frozen(
      points.map((z, check) => ({
        value: offset(check) + noise * z,
        error: check === checks - 1 ? (lastError ?? noise / 3) : noise / 3,
        time: Date.UTC(2026, 0, 1, firstHour) + check * hoursApart * 3_600_000,
      })),
    ),
  );
}

const half = Math.log(0.5);
const low = Math.log(0.85);
const found = ({ pattern, fit, outages, end, newest }: CourseReading) => [
  ...(pattern === null ? [] : [pattern.kind]),
  ...fit.steps.map(({ at }) => `step at ${at}`),
  ...outages.map(({ first, end }) => `outage ${first} to ${end - 1}`),
  ...(end === null ? [] : [`end from ${end.first}`]),
  ...(newest?.isBeyond ? ["newest"] : []),
];

describe("a course", () => {
  const last =
    (...offsets: number[]) =>
    (check: number) =>
      offsets[check - 30 + offsets.length] ?? 0;
  const turns = (check: number) => (check % 2 === 0 ? 0 : low);
  const later = ["end from 58", "newest"];
  const end = ["end from 29", "newest"];
  const short = { checks: 30 };

  it.each<[string, (check: number) => number, Part, string[]]>([
    ["a last check far lower", last(half), short, end],
    ["two of these", last(half, half), short, ["end from 28", "newest"]],
    ["three of these", last(half, half, half), short, ["end from 27", "newest"]],
    ["four of these, an ordinary step", last(half, half, half, half), short, ["step at 26", "newest"]],
    ["three last checks far higher", last(-half, -half, -half), short, ["end from 27", "newest"]],
    ["one beside an outage to the other side", last(half, -half), short, ["outage 28 to 28", ...end]],
    ["one thrice as far as an outage", last(half, 3 * half), short, ["outage 28 to 28", ...end]],
    ["one that is certain enough", last(half), { ...short, lastError: 0.01 }, end],
    ["a last check that is too uncertain", last(half), { ...short, lastError: 0.2 }, []],
    ["a last check 12 deviations off", last(-0.12), short, end],
    ["a last check 8 deviations off", last(-0.08), short, []],
    ["two last checks 8 deviations off", last(-0.08, -0.08), short, ["end from 28", "newest"]],
    ["two last checks 5 deviations off", last(-0.05, -0.05), short, []],
    ["a level back at its end", (at) => (at < 40 || at > 57 ? 0 : half), {}, ["step at 40", ...later]],
    ["seven checks, too few for an end", (check) => (check === 6 ? half : 0), { checks: 7 }, []],
    ["two checks", (check) => (check === 1 ? half : 0), { checks: 2 }, []],
    ["one far lower check", (check) => (check === 12 ? half : 0), short, ["outage 12 to 12"]],
    ["three of these", (check) => (check >= 12 && check < 15 ? half : 0), short, ["outage 12 to 14"]],
    [
      "one lower and one higher",
      (at) => ({ 12: half, 13: -half })[at] ?? 0,
      short,
      ["outage 12 to 12", "outage 13 to 13"],
    ],
    [
      "a step between two outages",
      (check) => (check < 40 ? 0 : -0.2) + ([10, 11, 50, 51, 52].includes(check) ? half : 0),
      {},
      ["step at 40", "outage 10 to 11", "outage 50 to 52"],
    ],
    ["two levels", (check) => Math.log(50) + (check % 2 === 0 ? 0 : low), {}, ["alternation"]],
    ["two levels, the newest on the rarer one", (check) => (check % 4 === 3 ? half : 0), {}, ["alternation"]],
    [
      "two levels and an outage",
      (at) => turns(at) + (at === 30 ? 2 * half : 0),
      {},
      ["alternation", "outage 30 to 30"],
    ],
    [
      "two levels and an end",
      (at) => turns(at) + (at === 59 ? 2 * half : 0),
      {},
      ["alternation", "end from 59", "newest"],
    ],
    [
      "two lasting levels",
      (at) => (Math.floor(at / 15) % 2) * half,
      {},
      [...[15, 30, 45].map((at) => `step at ${at}`), "newest"],
    ],
    ...[3, 5, 7, 10].map((period): [string, (check: number) => number, Part, string[]] => [
      ...([
        `a sawtooth of ${period} checks`,
        (check: number) => (-0.08 * (check % period)) / (period - 1),
      ] as const),
      ...([{}, ["cycle"]] as [Part, string[]]),
    ]),
  ])("has %s", (_, offset, part, expected) => {
    expect(found(read(offset, part))).toEqual(expected);
  });

  it("has its findings' sizes, of an end after a drift too", () => {
    const close = expect.closeTo(half, 1);
    expect(read(last(half, half), short).end!.change).toEqual(close);
    expect(read((check) => (check === 12 ? half : 0)).outages[0]!.change).toEqual(close);
    for (const drift of [(check: number) => check, (check: number) => Math.max(0, check - 30)])
      expect(read((check) => -0.01 * drift(check) + (check >= 58 ? half : 0)).end).toMatchObject({
        ...{ first: 58, change: close },
      });
    expect(read((check) => -0.05 * check).end).toBeNull();
    const turns = read((check) => (check % 4 === 3 ? half : 0));
    expect([turns.newest!.change, turns.pattern!.change]).toEqual([close, close]);
    expect(turns.pattern).toMatchObject({ checksLow: 15 });
    expect(turns.fit.deviation).toBeLessThan(0.015);
  });

  it("has a pattern taken off more checks than it was found in, each phase at its place", () => {
    const { fit, pattern } = read((check) => (-0.08 * (check % 7)) / 6, { checks: 320, noise: 0.005 });
    expect(pattern).toMatchObject({ kind: "cycle", period: 7, change: expect.closeTo(-0.08, 2) });
    expect(fit.deviation).toBeLessThan(0.006);
    expect(Math.max(...fit.residuals.map(Math.abs))).toBeLessThan(0.04);
  });
});

describe("a daily pattern", () => {
  const wave = (hour: number) => 0.075 * Math.sin((2 * Math.PI * (hour - 8)) / 24);

  it.each([
    [1, 0, 336],
    [4, 0, 84],
    [5, 0, 67],
    [6, 0, 56],
    [8, 0, 42],
    [12, 0, 28],
    [6, 7, 56],
    [6, 15, 56],
    [6, 20, 56],
    // A course of years.
    [6, 6, 2020],
    [6, 18, 2020],
  ])(
    "is found with a check every %i hours, from hour %i on, in %i checks",
    (hoursApart, firstHour, checks) => {
      const offset = (check: number) => wave(firstHour + check * hoursApart);
      const reading = read(offset, { checks, hoursApart, firstHour });
      expect(found(reading)).toEqual(["daily"]);
      expect(reading.pattern).toMatchObject({ lowestHour: 0, highestHour: 12 });
      expect(reading.fit.deviation).toBeLessThan(0.02);
    },
  );

  it("has the hours at which its lowest and its highest figures begin, and does not hide a step", () => {
    const part = { checks: 120, hoursApart: 6 };
    expect(read((check) => wave(check * 6 - 6), part).pattern).toMatchObject({
      lowestHour: 6,
      highestHour: 18,
    });
    const stepped = read((check) => wave(check * 6) + (check < 60 ? 0 : -0.1), part);
    expect(found(stepped).slice(0, 2)).toEqual(["daily", "step at 60"]);
  });
});

describe("a course in which nothing changes", () => {
  const studentOf3 = ({ normal, chiSquare }: ReturnType<typeof seeded>) =>
    normal() / Math.sqrt(chiSquare(3) / 3);

  it.each<[string, number, (random: ReturnType<typeof seeded>) => number]>([
    ["independent noise", 0, ({ normal }) => normal()],
    ["a lag-1 correlation of 0.4", 0.4, ({ normal }) => normal()],
    ["the tails of Student's t with 3 degrees of freedom", 0, studentOf3],
    ["such tails and a lag-1 correlation of 0.4", 0.4, studentOf3],
  ])("with %s gets a finding besides steps in at most 1 of 100 cases", (_, correlation, draw) => {
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
      const findings = found(readCourse(points));
      if (findings.some((finding) => !finding.startsWith("step"))) ++wrong;
    }
    expect(wrong).toBeLessThanOrEqual(5);
  });
});
