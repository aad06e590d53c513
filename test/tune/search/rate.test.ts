import { describe, expect, it } from "vitest";
import { usualSetting } from "../../../src/results/loader-setting.js";
import {
  counted,
  deviationOf,
  droppedBatches,
  enoughFor,
  pooledScore,
  scoreOf,
  steadyState,
  toDocument,
  uncertainty,
  waitingShare,
} from "../../../src/tune/search/rate.js";
import { seeded } from "../../helpers/seeded.js";
import { generator } from "../../helpers/simulated-loader.js";
import { evenly, scoreAt, stopping, trialOf } from "../../helpers/tune.js";

const ms = 1e6;
const none = usualSetting(0, false);
const two = usualSetting(2, false);
const four = usualSetting(4, false);
const sixteen = usualSetting(16, false);

it.each([
  [none, null, 2],
  [usualSetting(8, false), null, 32],
  [usualSetting(8, true, 4), null, 64],
  [usualSetting(8, false), 20, 10],
  [usualSetting(8, false), 1, 1],
])("%j, epochs of %s: drops %i, twice those in flight, 1 to half an epoch", (setting, length, dropped) => {
  expect(droppedBatches(setting, length)).toBe(dropped);
});

describe("the steady state", () => {
  it("is measured from the arrival of the last dropped batch", () => {
    const madeAhead = evenly(4, 0.1 * ms, 500 * ms);
    const steady = steadyState([...madeAhead, ...evenly(20, 10 * ms, 510.3 * ms)], 4, 1)!;
    expect(steady.durationNs).toBeCloseTo(200 * ms, 0);
    // At least ±1 %, however even the gaps are.
    const { batchesPerSecond, low, high } = steady;
    expect([low, batchesPerSecond, high].map((rate) => rate.toFixed(3))).toEqual([
      "99.010",
      "100.000",
      "101.010",
    ]);
  });

  it("is unknown until a whole cycle of the workers was timed", () => {
    expect(steadyState([], 2, 1)).toBeNull();
    expect(steadyState([ms, 2 * ms, 2 * ms], 2, 1)).toBeNull();
    expect(steadyState(evenly(11, ms), 8, 4)).toBeNull();
    expect(steadyState(evenly(12, ms), 8, 4)).toMatchObject({ cycles: 1 });
  });

  it("is the rate of whole cycles, wherever in a burst it ends", () => {
    // Four workers deliver at once, every 40 ms: 100 batches a second.
    const bursts = Array.from({ length: 48 }, (_, batch) => (Math.floor(batch / 4) * 40 + (batch % 4)) * ms);
    for (const length of [28, 29, 30, 31, 44, 45, 47, 48]) {
      for (const dropped of [8, 9, 10, 11]) {
        expect(steadyState(bursts.slice(0, length), dropped, 4)!.batchesPerSecond).toBeCloseTo(100, 6);
      }
    }
  });

  it("has an interval after four cycles, with an open end if they are very uneven", () => {
    expect(steadyState(evenly(5, ms), 2, 1)).toMatchObject({ low: 0, high: Number.POSITIVE_INFINITY });
    expect(steadyState(evenly(6, ms), 2, 1)?.high).toBeCloseTo(1000 / 0.99);
    const uneven = [1, 2, 2.01, 2.02, 2.03, 2.04, 20].map((time) => time * ms);
    expect(steadyState(uneven, 2, 1)?.high).toBe(Number.POSITIVE_INFINITY);
  });

  it("has the interval of batch means that a hand calculation of five blocks gives", () => {
    // Cycles of 8 to 12 ms: the squares about their mean of 10 ms are 4 + 1 + 0 + 1 + 4 = 10 ms², the standard error of
    // their sum sqrt(10 x 5 / 4) = 3.53553 ms, and Student's t for 4 degrees of freedom 2.77645: 0.196325 of 50 ms. The 1 %
    // that no interval goes below is added in squares.
    const arrivalsNs = [1, 2, 10, 19, 29, 40, 52].map((time) => time * ms);
    const half = Math.hypot(0.196325, 0.01);
    expect(steadyState(arrivalsNs, 2, 1)!.low).toBeCloseTo(100 / (1 + half), 3);
    expect(steadyState(arrivalsNs, 2, 1)!.high).toBeCloseTo(100 / (1 - half), 3);
  });

  it("is divided into at most ten blocks, which may differ by a cycle", () => {
    // 11 cycles: ten blocks, the last one of two. One cycle of the first block takes 10 ms longer than the others' 10 ms:
    // beyond their share of 120 ms in 11 cycles that is +9.0909, 8 x -0.9091 and -1.8182 ms, 92.562 ms² in all.
    const arrivals = evenly(13, 10 * ms).map((time, batch) => time + (batch > 1 ? 10 * ms : 0));
    const { batchesPerSecond, low } = steadyState(arrivals, 2, 1)!;
    const half = Math.hypot((2.26216 * Math.sqrt((92.562 * 10) / 9)) / 120, 0.01);
    expect(low).toBeCloseTo(batchesPerSecond / (1 + half), 3);
  });

  it.each([16, 17, 27, 103])("gets a wide interval from a late batch, wherever among %i it is", (batches) => {
    for (let late = 0; late < batches; ++late) {
      const arrivals = evenly(batches + 2, ms).map(
        (time, batch) => time + (batch >= late + 2 ? 400 * ms : 0),
      );
      const { batchesPerSecond, high } = steadyState(arrivals, 2, 1)!;
      expect(high).toBeGreaterThan(1.5 * batchesPerSecond);
    }
  });
});

describe("the score of a trial", () => {
  it("is rough until four cycles have come after the dropped batches", () => {
    const isSettled = (batches: number) => scoreOf(evenly(batches, 10 * ms), two)?.isSettled;
    expect(isSettled(8 + 4 * 2 - 1)).toBe(false);
    expect(isSettled(8 + 4 * 2)).toBe(true);
  });

  it.each([
    ["of its second half", [100, 110, 120, 130, 330, 530, 730], two, 5],
    ["at most that since its start, if its first batches came together", [1000, 1001, 1002], none, 3 / 1.002],
  ] as const)("that ended too soon is rough, and the rate is %s", (_, arrivals, setting, rate) => {
    const arrivalsNs = arrivals.map((time) => time * ms);
    const score = scoreOf(arrivalsNs, setting)!;
    expect(score).toMatchObject({ isSettled: false, low: 0, high: Number.POSITIVE_INFINITY });
    expect(score.batchesPerSecond).toBeCloseTo(rate, 6);
  });

  it("is absent if a worker has not delivered, or no time has passed", () => {
    expect(scoreOf(evenly(15, 0.1 * ms, 1000 * ms), sixteen)).toBeNull();
    expect(scoreOf(evenly(16, 0.1 * ms, 1000 * ms), sixteen)).not.toBeNull();
    expect(scoreOf(evenly(20, 0, 0), two)).toBeNull();
  });

  it("has null for an open end in the document", () => {
    const open = { batchesPerSecond: 10, low: 0, high: Number.POSITIVE_INFINITY, isSettled: false };
    expect(toDocument(open)).toEqual({ batchesPerSecond: 10, low: null, high: null, isSettled: false });
    expect(toDocument(scoreAt(100))).toEqual({ batchesPerSecond: 100, low: 99, high: 101, isSettled: true });
  });
});

/** Gaps of 10 ms within `spread`. */
function noisy(batches: number, spread: number): number[] {
  const random = generator(5);
  let now = 0;
  return Array.from({ length: batches }, () => {
    now += 10 * ms * (1 + spread * (random() - 0.5));
    return now;
  });
}

describe("a trial", () => {
  const isEnough = (arrivalsNs: number[], { setting = none, best = null as number | null, rule = {} } = {}) =>
    enoughFor(setting, { ...stopping, ...rule }, best === null ? null : scoreAt(best))(arrivalsNs);

  it.each([
    ["does not end before half a second", evenly(51, 10 * ms), {}, false],
    ["ends when its interval is narrow after half a second", evenly(52, 10 * ms), {}, true],
    ["does not end while its interval is wide", noisy(60, 1), {}, false],
    [
      "does not end before ten cycles, as fewer may look alike by chance",
      evenly(16 + 39, 20 * ms),
      { setting: four },
      false,
    ],
    ["ends after ten cycles", evenly(16 + 40, 20 * ms), { setting: four }, true],
    [
      "ends after the most time, however wide the interval",
      noisy(200, 1.9).filter((ns) => ns < 1400 * ms),
      {},
      true,
    ],
    ["does not end while it has no interval", evenly(5, 700 * ms), {}, false],
    ["ends when its whole time is up", [21e9], { setting: four }, true],
    ["ends when it cannot become the best", noisy(60, 1), { best: 200 }, true],
    ["does not end while it may become the best", noisy(60, 1), { best: 101 }, false],
    ["does not end if nothing may be ruled out", noisy(60, 1), { best: 200, rule: { tolerance: 1 } }, false],
    ["does not end without any batch", [], {}, false],
  ])("%s", (_, arrivalsNs, options, verdict) => {
    expect(isEnough(arrivalsNs, options)).toBe(verdict);
  });
});

const scores = (...rates: number[]) => rates.map((rate) => scoreAt(rate, 0.005));

describe("the deviation between trials", () => {
  it("is assumed to be 2 % until a setting has two trials, and then learnt from all of them", () => {
    expect(deviationOf([])).toEqual({ relative: 0.02, degreesOfFreedom: 3 });
    const cutOff = scores(100, 50).map((score) => ({ ...score, isSettled: false }));
    expect(deviationOf([cutOff])).toEqual({ relative: 0.02, degreesOfFreedom: 3 });
    const steady = Array.from({ length: 5 }, () => scores(100, 100.1, 99.9));
    expect(deviationOf(steady)).toMatchObject({ degreesOfFreedom: 13, relative: expect.closeTo(0.01, 2) });
    expect(deviationOf([scores(100, 110), scores(50, 46), scores(20, 22)]).relative).toBeGreaterThan(0.04);
  });

  it("stays small if one trial of three was disturbed", () => {
    expect(deviationOf([scores(100, 50, 101)]).relative).toBeLessThan(0.04);
  });

  it("gives intervals that hold the true rate in more than 90 %, on quiet and noisy machines", () => {
    const { normals } = seeded(3);
    for (const noise of [0.01, 0.03, 0.05]) {
      let held = 0;
      for (let search = 0; search < 400; ++search) {
        const settings = [100, 90, 40].map((truth) =>
          normals(4).map((z) => scoreAt(truth * (1 + noise * z), 0.005)),
        );
        const { low, high } = pooledScore(settings[0]!, deviationOf(settings))!;
        if (low <= 100 && high >= 100) ++held;
      }
      expect(held / 400, String(noise)).toBeGreaterThan(0.9);
    }
  });
});

describe("the trials of a setting together", () => {
  const deviation = { relative: 0.02, degreesOfFreedom: 8 };

  it("have the score of a single trial, which is more uncertain in comparisons", () => {
    const [one] = scores(100);
    expect(pooledScore([one!], deviation)).toEqual(one);
    expect(uncertainty([{ score: one!, trials: 1 }], deviation)).toBeGreaterThan(0.04);
    expect(pooledScore([], deviation)).toBeNull();
  });

  it("of two different rates get an interval over both, and of three the median", () => {
    const { low, high } = pooledScore(scores(100, 50), deviation)!;
    expect(low).toBeLessThanOrEqual(50);
    expect(high).toBeGreaterThanOrEqual(100);
    expect(pooledScore(scores(100, 50, 101), deviation)!.batchesPerSecond).toBe(100);
  });

  it("have intervals that are never below 0, and a quarter wider for a median than for a mean", () => {
    expect(pooledScore(scores(100, 100), { relative: 2, degreesOfFreedom: 3 })!.low).toBe(0);
    // 1.96 standard errors of 10 %, of a mean of two and of a median of three.
    const halfOf = (...rates: number[]) =>
      pooledScore(scores(...rates), { relative: 0.1, degreesOfFreedom: 1e9 })!.high - 100;
    expect(halfOf(100, 100)).toBeCloseTo(19.6 / Math.sqrt(2), 1);
    expect(halfOf(100, 100, 100)).toBeCloseTo((19.6 * Math.sqrt(Math.PI / 2)) / Math.sqrt(3), 1);
  });

  it("have an open interval if they are rough", () => {
    const open = (rate: number) => ({ batchesPerSecond: rate, low: 0, high: Infinity, isSettled: false });
    expect(pooledScore([4, 5, 9].map(open), deviation)).toEqual(open(5));
  });

  it("count only if they are settled, unless none is", () => {
    const [settled] = scores(100);
    const rough = { ...scoreAt(500), isSettled: false };
    expect(counted([rough, settled!])).toEqual([settled]);
    expect(counted([rough])).toEqual([rough]);
  });
});

describe("the share of a loop's time that it waits", () => {
  const trial = (batches: number, waitMs: number | null) => {
    const waitNsPerBatch = waitMs === null ? null : waitMs * ms;
    return { ...trialOf(four, evenly(batches, 10 * ms), { waitNsPerBatch }), droppedBatches: 16 };
  };

  it.each([
    ["that of the middle trial", [trial(60, 2), trial(60, 9), trial(60, 4)], 0.4],
    ["that of trials with more than their first batches", [trial(10, 9), trial(60, 2)], 0.2],
    ["that of trials with only first batches, if there are no longer trials", [trial(10, 9)], 0.9],
    ["unknown without a wait", [trial(60, null)], null],
  ])("is %s", (_, trials, share) => {
    expect(waitingShare({ trials, score: scoreAt(100) })).toEqual(
      share === null ? null : expect.closeTo(share),
    );
  });
});
