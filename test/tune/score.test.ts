import { describe, expect, it } from "vitest";
import { usualSetting } from "../../src/results/loader-setting.js";
import { scoreOf } from "../../src/tune/score.js";
import { loaderGBps } from "../../src/tune/search/recommend.js";
import { evenly, scoreAt } from "../helpers/tune.js";

const ms = 1e6;
const two = usualSetting(2, false);
const started = evenly(8, 0.1 * ms, 900 * ms);
/** 8 batches at once after 900 ms, then one every 10 ms. */
const arrivals = (batches: number) => [...started, ...evenly(batches, 10 * ms, 910.7 * ms)];

describe("a score", () => {
  it("is the steady state", () => {
    const score = scoreOf(arrivals(50), two, false)!;
    expect(score.batchesPerSecond).toBeCloseTo(100, 6);
    expect(score.isSettled).toBe(true);
  });

  it("that has ended too soon is at most the rate since its start, as its first batches came together", () => {
    const together = [1000, 1001, 1002].map((at) => at * ms);
    expect(scoreOf(together, usualSetting(0, false), true)!.batchesPerSecond).toBeCloseTo(3 / 1.002);
  });

  it("is not known before there is one", () => {
    expect(scoreOf([], two, false)).toBeNull();
    expect(scoreOf(started, two, false)).toBeNull();
    expect(scoreOf(arrivals(3), two, false)).toMatchObject({ isSettled: false });
  });

  it("is a rough figure of a trial that ended before, of its second half", () => {
    const score = scoreOf(evenly(6, 100 * ms), two, true)!;
    expect(score).toMatchObject({ isSettled: false, low: 0, high: Number.POSITIVE_INFINITY });
    expect(score.batchesPerSecond).toBeCloseTo(10, 6);
    const slower = [100, 110, 120, 130, 330, 530, 730].map((time) => time * ms);
    expect(scoreOf(slower, two, true)!.batchesPerSecond).toBeCloseTo(5, 6);
  });

  it("is no faster for a first burst, which is all that came", () => {
    // 16 workers that take a second for a batch each make 16 a second, not one every 0.1 ms.
    const burst = evenly(16, 0.1 * ms, 1000 * ms);
    const score = scoreOf(burst, usualSetting(16, false), true)!;
    expect(score.isSettled).toBe(false);
    expect(score.batchesPerSecond).toBeGreaterThan(15);
    expect(score.batchesPerSecond).toBeLessThanOrEqual(16);
    expect(score.low).toBeLessThanOrEqual(score.batchesPerSecond);
    expect(score.high).toBeGreaterThanOrEqual(score.batchesPerSecond);
  });

  it("is absent if a worker has not delivered: a few batches made ahead mean nothing", () => {
    const sixteen = usualSetting(16, false);
    expect(scoreOf(evenly(15, 0.1 * ms, 1000 * ms), sixteen, true)).toBeNull();
    expect(scoreOf(evenly(16, 0.1 * ms, 1000 * ms), sixteen, true)).not.toBeNull();
  });

  it("is rough until four cycles came behind the dropped batches", () => {
    const isSettled = (batches: number) => scoreOf(evenly(batches, 10 * ms), two, true)?.isSettled;
    expect(isSettled(8 + 4 * 2 - 1)).toBe(false);
    expect(isSettled(8 + 4 * 2)).toBe(true);
  });

  it("is absent if no time has passed: a rate is finite", () => {
    expect(scoreOf(evenly(20, 0, 0), two, true)).toBeNull();
  });
});

it("loaderGBps is decimal", () => {
  expect(loaderGBps(scoreAt(100), 38_535_168)).toBeCloseTo(3.8535, 4);
});
