import { describe, expect, it } from "vitest";
import { pooledScore, trialSpread, uncertainty } from "../../src/tune/score.js";
import { seeded } from "../helpers/seeded.js";
import { scoreAt } from "../helpers/tune.js";

const scores = (...rates: number[]) => rates.map((rate) => scoreAt(rate, 0.005));

describe("the spread between trials", () => {
  it("is assumed to be 2 % until a setting was tried again, and learnt from all of them then", () => {
    expect(trialSpread([])).toEqual({ relative: 0.02, degreesOfFreedom: 3 });
    expect(trialSpread([scores(100), scores(50)])).toEqual({ relative: 0.02, degreesOfFreedom: 3 });
    // Of trials that were not tried to their end nothing is learnt.
    const cutOff = scores(100, 50).map((score) => ({ ...score, isSettled: false }));
    expect(trialSpread([cutOff])).toEqual({ relative: 0.02, degreesOfFreedom: 3 });
    const steady = Array.from({ length: 5 }, () => scores(100, 100.1, 99.9));
    expect(trialSpread(steady)).toMatchObject({ degreesOfFreedom: 13, relative: expect.closeTo(0.01, 2) });
    expect(trialSpread([scores(100, 110), scores(50, 46), scores(20, 22)]).relative).toBeGreaterThan(0.04);
  });

  it("is not made large by one trial of three that was disturbed", () => {
    expect(trialSpread([scores(100, 50, 101)]).relative).toBeLessThan(0.04);
  });

  it("makes intervals that hold the truth in 95 % or so, for machines from quiet to unquiet", () => {
    const { normals } = seeded(3);
    for (const noise of [0.01, 0.03, 0.05]) {
      let held = 0;
      for (let search = 0; search < 400; ++search) {
        const settings = [100, 90, 40].map((truth) =>
          normals(4).map((z) => scoreAt(truth * (1 + noise * z), 0.005)),
        );
        const { low, high } = pooledScore(settings[0]!, trialSpread(settings))!;
        if (low <= 100 && high >= 100) ++held;
      }
      expect(held / 400, String(noise)).toBeGreaterThan(0.9);
    }
  });
});

describe("the trials of a setting together", () => {
  const spread = { relative: 0.02, degreesOfFreedom: 8 };

  it("have the own score of a single trial, except in comparisons", () => {
    const [one] = scores(100);
    expect(pooledScore([one!], spread)).toEqual(one);
    expect(uncertainty(one!, 1, spread)).toBeGreaterThan(0.04);
    expect(pooledScore([], spread)).toBeNull();
  });

  it("that agree have an interval no narrower than that of the middle one of them alone", () => {
    // A tenth to each side of two of them, which is more than the spread between trials, whichever comes first.
    const alike = [0.1, 0.1, 0.001].map((half) => scoreAt(100, half));
    const { high } = pooledScore(alike, spread)!;
    expect(pooledScore([...alike].reverse(), spread)!.high).toBeCloseTo(high, 9);
    expect(high).toBeGreaterThan(pooledScore(scores(100, 100, 100), spread)!.high + 2);
    // Two trials are compared by that interval, without the spread once more.
    const two = pooledScore(scores(100, 100), spread)!;
    expect(uncertainty(two, 2, spread)).toBeCloseTo((two.high - two.low) / 200, 9);
  });

  it("of two that do not agree hold both", () => {
    const { low, high } = pooledScore(scores(100, 50), spread)!;
    expect(low).toBeLessThanOrEqual(50);
    expect(high).toBeGreaterThanOrEqual(100);
  });

  it("leave out rough figures beside settled ones, and are rough without", () => {
    const rough = { ...scoreAt(500), isSettled: false };
    expect(pooledScore([rough, ...scores(100)], spread)).toEqual(scores(100)[0]);
    expect(pooledScore([rough, rough], spread)?.isSettled).toBe(false);
  });

  it("have an open interval if they are rough, as for a slow loader that is tried again", () => {
    const open = (rate: number) => ({ batchesPerSecond: rate, low: 0, high: Infinity, isSettled: false });
    for (const rates of [
      [4, 6],
      [4, 5, 9],
    ]) {
      expect(pooledScore(rates.map(open), spread)).toEqual(open(5));
    }
    expect(trialSpread([[open(4), open(9)]])).toEqual(trialSpread([]));
  });

  it("of rough figures begin at the lowest of their ends, and have no upper one", () => {
    const rough = (batchesPerSecond: number, low: number) =>
      ({ batchesPerSecond, low, high: Number.POSITIVE_INFINITY, isSettled: false }) as const;
    expect(pooledScore([rough(10, 4), rough(12, 3), rough(17, 5)], spread)).toEqual(rough(12, 3));
    expect(pooledScore([rough(10, 4), rough(12, 3)], spread)).toEqual(rough(11, 3));
    expect(pooledScore([rough(10, 4), { ...rough(12, 3), high: 20 }], spread)).toEqual(rough(11, 3));
  });

  it("are never below 0, and those of a median a quarter wider than those of a mean", () => {
    expect(pooledScore(scores(100, 100), { relative: 2, degreesOfFreedom: 3 })!.low).toBe(0);
    // 1.96 standard errors of 10 %, of a mean of two and of a median of three.
    const halfOf = (...rates: number[]) =>
      pooledScore(scores(...rates), { relative: 0.1, degreesOfFreedom: 1e9 })!.high - 100;
    expect(halfOf(100, 100)).toBeCloseTo(19.6 / Math.sqrt(2), 1);
    expect(halfOf(100, 100, 100)).toBeCloseTo((19.6 * Math.sqrt(Math.PI / 2)) / Math.sqrt(3), 1);
  });
});
