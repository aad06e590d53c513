import { describe, expect, it } from "vitest";
import { twoLevels } from "../../src/stats/two-levels.js";

/** Values whose runs at the low and at the high level, which take turns, have these lengths. */
function course(lengths: readonly number[], high = 14): number[] {
  const isHigh = lengths.flatMap((length, run) => Array<boolean>(length).fill(run % 2 === 1));
  let [lows, highs] = [0, 0];
  // Of each level 0, 1, 2, 0, 1, 2...
  return isHigh.map((one) => (one ? high + (highs++ % 3) : lows++ % 3));
}

const turns = (runs: number) => Array<number>(runs).fill(1);

describe("twoLevels", () => {
  it("are the medians of two clusters, and which value is of which", () => {
    expect(twoLevels(course([1, 2, 1, 1, 2, 1, 2, 2]))).toEqual({
      low: 1,
      high: 15,
      isHigh: [0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 1, 1].map(Boolean),
    });
  });

  it("have a gap between them of more than eight robust deviations", () => {
    // Two of three values lie 1 off their level's median: 8 deviations are 11.861, and 2 lies below the gap.
    expect(twoLevels(course(turns(12), 13.87))).not.toBeNull();
    expect(twoLevels(course(turns(12), 13.85))).toBeNull();
    expect(twoLevels(Array<number>(20).fill(3))).toBeNull();
  });

  it("need 12 values", () => {
    expect(twoLevels(course(turns(12)))).not.toBeNull();
    expect(twoLevels(course(turns(11)))).toBeNull();
  });

  it("have a fifth of the values each", () => {
    const near = [0, 5, 10, 2, 7, 12, 4, 9, 1, 6, 11, 3, 8];
    const withFar = (far: number, ...places: number[]) =>
      near.map((one, i) => (places.includes(i) ? far : one));
    for (const far of [100, -100]) {
      expect(twoLevels(withFar(far, 2, 5, 8))).not.toBeNull();
      expect(twoLevels(withFar(far, 2, 5))).toBeNull();
    }
  });

  it("lie on both sides of the widest gap", () => {
    const values = course(turns(20)).map((value, i) => (i === 0 ? -9 : value));
    expect(twoLevels(values)!.isHigh.filter(Boolean)).toHaveLength(10);
  });

  it("take turns four times at least: fewer are steps", () => {
    expect(twoLevels(course([3, 3, 3, 3, 3]))).not.toBeNull();
    expect(twoLevels(course([4, 4, 4, 4]))).toBeNull();
  });

  it("take turns about as often as in random order", () => {
    // 60 and 40 of 100 values in random order have 49 runs, with a deviation of 4.77: 34.7 are three deviations fewer.
    const lengths = (lowRuns: number, highRuns: number) =>
      Array.from({ length: lowRuns + highRuns }, (_, run) => {
        const [runs, values] = run % 2 === 0 ? [lowRuns, 60] : [highRuns, 40];
        const k = Math.floor(run / 2);
        return Math.floor(((k + 1) * values) / runs) - Math.floor((k * values) / runs);
      });
    expect(twoLevels(course(lengths(18, 17)))).not.toBeNull();
    expect(twoLevels(course(lengths(17, 17)))).toBeNull();
  });
});
