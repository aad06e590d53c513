import { describe, expect, it } from "vitest";
import { joinedSeries } from "../../src/compare/evidence/evidence.js";
import { caseOf, times } from "./evidence-case.js";

/** A member, at `scale` times the others' speeds; of one whose unit is us, these are inverse times. */
const member = (first: readonly number[], part: { scale?: number; fresh?: number[]; unit?: "us" } = {}) =>
  caseOf({ ...part, baseline: [1, 1.02, 0.98].map((one) => one * (part.scale ?? 1)), first }).series;

const values = (figures: readonly { value: number }[]) => figures.map(({ value }) => +value.toFixed(10));

describe("a group as a whole", () => {
  it("has the median of its members' speeds, each relative to the median of its baseline", () => {
    const whole = joinedSeries([
      member([0.9, 1]),
      member([4 * 0.8, 4 * 1.1], { scale: 4 }),
      member([0.5 * 0.7, 0.5 * 1.2], { scale: 0.5, unit: "us" }),
    ]);
    expect(whole).toMatchObject({ unit: "GB/s", fresh: [] });
    expect(values(whole.baseline)).toEqual([1, 1.02, 0.98]);
    expect(values(whole.first)).toEqual([0.8, 1.1]);
  });

  it("has the fresh runs that measured all of its members", () => {
    const all = [member([1], { fresh: [0.9, 0.8] }), member([1], { fresh: [0.9, 0.8] })];
    expect(values(joinedSeries(all).fresh)).toEqual([0.9, 0.8]);
    expect(joinedSeries([...all, member([1], { fresh: [0.9] })]).fresh).toEqual([]);
    expect(joinedSeries([member(times(1, 1)), ...all]).fresh).toEqual([]);
  });
});
