import { describe, expect, it } from "vitest";
import { type CourseReading, readCourse } from "../../src/compare/history/read-course.js";
import { frozen } from "../helpers/frozen.js";
import { seeded } from "../helpers/seeded.js";

interface Part {
  checks?: number;
  noise?: number;
  /** Standard error of the last value. */
  lastError?: number;
}

/** The reading of a course whose checks lie off its level by `offset`, as a logarithm. */
function read(
  offset: (check: number) => number,
  { checks = 60, noise = 0.01, lastError }: Part = {},
): CourseReading {
  const points = seeded(1).normals(checks);
  return readCourse(
    frozen(
      points.map((z, check) => ({
        value: offset(check) + noise * z,
        error: check === checks - 1 ? (lastError ?? noise / 3) : noise / 3,
      })),
    ),
  );
}

const half = Math.log(0.5);
const found = ({ fit, outages, end, newest }: CourseReading) => [
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
  const later = ["end from 58", "newest"];
  const single = ["newest"];
  const short = { checks: 30 };

  it.each<[string, (check: number) => number, Part, string[]]>([
    ["a last check far lower", last(half), short, single],
    ["two of these", last(half, half), short, ["end from 28", "newest"]],
    ["three of these", last(half, half, half), short, ["end from 27", "newest"]],
    ["four of these, an ordinary step", last(half, half, half, half), short, ["step at 26", "newest"]],
    ["three last checks far higher", last(-half, -half, -half), short, ["end from 27", "newest"]],
    ["one beside an outage to the other side", last(half, -half), short, ["outage 28 to 28", ...single]],
    ["one thrice as far as an outage", last(half, 3 * half), short, ["outage 28 to 28", ...single]],
    ["one that is certain enough", last(half), { ...short, lastError: 0.01 }, single],
    ["a last check that is too uncertain", last(half), { ...short, lastError: 0.2 }, []],
    ["a last check 12 deviations off", last(-0.12), short, single],
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
    [
      "two lasting levels",
      (at) => (Math.floor(at / 15) % 2) * half,
      {},
      [...[15, 30, 45].map((at) => `step at ${at}`), "newest"],
    ],
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
      const points = Array.from({ length: lengths[seed % lengths.length]! }, () => {
        last = correlation * last + draw(random);
        return { value: 0.01 * last, error: null };
      });
      const findings = found(readCourse(points));
      if (findings.some((finding) => !finding.startsWith("step"))) ++wrong;
    }
    expect(wrong).toBeLessThanOrEqual(5);
  });
});
