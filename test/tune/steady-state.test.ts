import { describe, expect, it } from "vitest";
import { usualSetting } from "../../src/results/loader-setting.js";
import { cycleBatches, droppedBatches, steadyState } from "../../src/tune/score.js";
import { generator } from "../helpers/simulated-loader.js";
import { evenly } from "../helpers/tune.js";

const ms = 1e6;

it("drops twice what may be in flight, and four cycles at least", () => {
  expect(droppedBatches(usualSetting(0, false))).toBe(2);
  expect(droppedBatches(usualSetting(8, false))).toBe(32);
  expect(droppedBatches(usualSetting(8, true, 4))).toBe(64);
  expect(droppedBatches(usualSetting(8, true, 1))).toBe(32);
  // At most half of an epoch.
  expect([null, 1000, 64, 20, 1].map((length) => droppedBatches(usualSetting(8, false), length))).toEqual([
    32, 32, 32, 10, 1,
  ]);
});

it("counts one batch of each worker as a cycle, or each batch without workers", () => {
  expect(cycleBatches(usualSetting(0, false))).toBe(1);
  expect(cycleBatches(usualSetting(1, false))).toBe(1);
  expect(cycleBatches(usualSetting(12, true, 4))).toBe(12);
});

describe("the rate", () => {
  it("is that of the batches after the dropped ones, from the arrival of the last of those", () => {
    const madeAhead = evenly(4, 0.1 * ms, 500 * ms);
    const steady = steadyState([...madeAhead, ...evenly(20, 10 * ms, 510.3 * ms)], 4, 1);
    expect(steady?.batches).toBe(20);
    expect(steady?.durationNs).toBeCloseTo(200 * ms, 0);
    expect(steady?.batchesPerSecond).toBeCloseTo(100, 6);
    // However even they are: ±1 %.
    expect(steady?.low).toBeCloseTo(100 / 1.01, 6);
    expect(steady?.high).toBeCloseTo(100 / 0.99, 6);
  });

  it("is not known until a cycle was timed", () => {
    expect(steadyState([], 2, 1)).toBeNull();
    expect(steadyState([ms], 2, 1)).toBeNull();
    expect(steadyState([ms, 2 * ms], 2, 1)).toBeNull();
    expect(steadyState([ms, 2 * ms, 2 * ms], 2, 1)).toBeNull();
    expect(steadyState([ms, 2 * ms, 3 * ms], 2, 1)).toMatchObject({ batches: 1, batchesPerSecond: 1000 });
    expect(steadyState(evenly(11, ms), 8, 4)).toBeNull();
    expect(steadyState(evenly(12, ms), 8, 4)).toMatchObject({ batches: 4, cycles: 1 });
  });

  it("is that of whole cycles, wherever in a burst it was looked at", () => {
    // Four workers deliver at once, every 40 ms: 100 batches a second.
    const bursts = Array.from({ length: 48 }, (_, batch) => (Math.floor(batch / 4) * 40 + (batch % 4)) * ms);
    for (const length of [28, 29, 30, 31, 44, 45, 47, 48]) {
      for (const dropped of [8, 9, 10, 11]) {
        const { batchesPerSecond, batches } = steadyState(bursts.slice(0, length), dropped, 4)!;
        expect(batchesPerSecond).toBeCloseTo(100, 6);
        expect(batches % 4).toBe(0);
      }
    }
  });

  it.each([1, 3])("has no interval after %i cycles", (cycles) => {
    const open = { low: 0, high: Number.POSITIVE_INFINITY, cycles };
    expect(steadyState(evenly(2 + cycles, ms), 2, 1)).toMatchObject(open);
    expect(steadyState(evenly(8 + 4 * cycles + 3, ms), 8, 4)).toMatchObject(open);
  });

  it("has one after 4 cycles, with an open upper end if they are very uneven", () => {
    expect(steadyState(evenly(6, ms), 2, 1)?.high).toBeCloseTo(1000 / 0.99);
    expect(steadyState(evenly(24, ms), 8, 4)?.high).toBeCloseTo(1000 / 0.99);
    const uneven = [1, 2, 2.01, 2.02, 2.03, 2.04, 20].map((time) => time * ms);
    expect(steadyState(uneven, 2, 1)?.high).toBe(Number.POSITIVE_INFINITY);
    expect(steadyState(uneven, 2, 1)?.low).toBeGreaterThan(0);
  });

  it("has the one of batch means: five blocks of a cycle each, by hand", () => {
    // Cycles of 8 to 12 ms: the squares about their mean of 10 ms are 4 + 1 + 0 + 1 + 4 = 10 ms², the standard error of
    // their sum sqrt(10 x 5 / 4) = 3.53553 ms, and Student's t for 4 degrees of freedom 2.77645: 0.196325 of 50 ms. The 1 %
    // that no interval goes below is added in squares.
    const steady = steadyState(
      [1, 2, 10, 19, 29, 40, 52].map((time) => time * ms),
      2,
      1,
    )!;
    const half = Math.hypot(0.196325, 0.01);
    expect(steady.batchesPerSecond).toBeCloseTo(100, 6);
    expect(steady.low).toBeCloseTo(100 / (1 + half), 3);
    expect(steady.high).toBeCloseTo(100 / (1 - half), 3);
  });

  it("has ten blocks at most, which may differ by a cycle", () => {
    // 11 cycles: ten blocks, the last one of two. One cycle of the first block takes 10 ms longer than the others' 10 ms:
    // beyond their share of 120 ms in 11 cycles that is +9.0909, 8 x -0.9091 and -1.8182 ms, 92.562 ms² in all.
    const arrivals = evenly(13, 10 * ms).map((time, batch) => time + (batch > 1 ? 10 * ms : 0));
    const { batchesPerSecond, low } = steadyState(arrivals, 2, 1)!;
    const half = Math.hypot((2.26216 * Math.sqrt((92.562 * 10) / 9)) / 120, 0.01);
    expect(low).toBeCloseTo(batchesPerSecond / (1 + half), 3);
  });

  it.each([16, 17, 27, 103])("counts a late batch for its interval too, wherever in %i it is", (batches) => {
    for (let late = 0; late < batches; ++late) {
      const arrivals = evenly(batches + 2, ms).map(
        (time, batch) => time + (batch >= late + 2 ? 400 * ms : 0),
      );
      const { batchesPerSecond, high } = steadyState(arrivals, 2, 1)!;
      expect(high).toBeGreaterThan(1.5 * batchesPerSecond);
    }
  });
});

it("widens if there are rhythms, and narrows with time", () => {
  const random = generator(3);
  const width = (batches: number, spread: number) => {
    let now = 0;
    const arrivals = Array.from({ length: batches }, () => {
      now += ms * (1 + spread * (random() - 0.5));
      return now;
    });
    const { low, high, batchesPerSecond } = steadyState(arrivals, 2, 1)!;
    return (high - low) / batchesPerSecond;
  };
  expect(width(1000, 0.4)).toBeLessThan(width(50, 0.4));
  expect(width(200, 0.1)).toBeLessThan(width(200, 1));
});
