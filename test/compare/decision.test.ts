import { describe, expect, it } from "vitest";
import { decide, isSuspect, limitOf, lossThatWouldShow } from "../../src/compare/decision.js";

const limit = limitOf(0.05);
const change = (share: number, errors: number) => {
  const log = Math.log1p(share);
  return { change: log, standardError: Math.abs(log) / errors };
};

describe("a change, with a threshold of 5 %,", () => {
  it.each([
    [-0.06, 4.1, "slower"],
    [-0.06, 3.9, "undecided"],
    [-0.06, 3.1, "undecided"],
    [-0.06, 2.9, "not slower"],
    [-0.049, 50, "not slower"],
    [-0.9, 2.9, "not slower"],
    [0.06, 4.1, "faster"],
    [0.06, 3.9, "not slower"],
    [0, 0, "not slower"],
  ] as const)("of %f at %f standard errors is %s", (share, errors, verdict) => {
    expect(decide(share === 0 ? { change: 0, standardError: 0.01 } : change(share, errors), limit)).toBe(
      verdict,
    );
  });

  it("of one cell against its group counts beyond six standard errors", () => {
    expect([5.9, 6.1].map((errors) => decide(change(-0.1, errors), limit, 6))).toEqual([
      "undecided",
      "slower",
    ]);
  });

  it.each([
    [-0.026, 2.1, true],
    [-0.026, 1.9, false],
    [-0.02, 9, false],
    [0.5, 9, false],
  ])("of %f at %f standard errors is measured again: %s", (share, errors, isAgain) => {
    expect(isSuspect(change(share, errors), limit)).toBe(isAgain);
  });

  it("would be detected from two standard errors beyond the threshold on", () => {
    expect(lossThatWouldShow(0, limit)).toBeCloseTo(0.05, 12);
    expect(lossThatWouldShow(0.01, limit)).toBeCloseTo(-Math.expm1(-(limit + 0.02)), 12);
    expect(lossThatWouldShow(0.02, limit)).toBeCloseTo(-Math.expm1(-0.12), 12);
  });
});
