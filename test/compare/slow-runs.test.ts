import { describe, expect, it } from "vitest";
import { areMoreFrequent, countSlow } from "../../src/compare/slow-runs.js";

describe("a slow run", () => {
  it.each([
    ["lies below its session's median by more than the threshold", [[0, 0, 0, -0.06]], 0.05, 0, 1],
    ["does not count within six standard deviations between runs", [[0, 0, 0, -0.06]], 0.05, 0.02 ** 2, 0],
    [
      "does not count in a session that is slow as a whole",
      [
        [0, 0, 0],
        [-0.4, -0.4, -0.4],
      ],
      0.05,
      0,
      0,
    ],
  ])("%s", (_, sessions, limit, variance, slow) => {
    expect(countSlow(sessions, limit, variance)).toEqual({ slow, runs: sessions.flat().length });
  });
});

describe("slow runs are more frequent", () => {
  it.each<[number, number, number, number, boolean]>([
    // slow, runs: baseline and candidate
    [0, 40, 2, 24, true],
    [0, 40, 1, 24, false],
    [0, 39, 2, 24, false],
    [0, 5, 2, 29, false],
    [0, 10, 9, 24, false],
    [0, 10, 10, 24, true],
    [20, 40, 12, 24, false],
    [1, 40, 6, 24, true],
    [0, 40, 0, 24, false],
  ])(
    "with %i of %i in the baseline and %i of %i in the candidate: %s",
    (slow, runs, slowNow, runsNow, isSo) => {
      expect(areMoreFrequent({ slow, runs }, { slow: slowNow, runs: runsNow })).toBe(isSo);
    },
  );
});
