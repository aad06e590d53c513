import { describe, expect, it } from "vitest";
import { usualSetting } from "../../src/results/loader-setting.js";
import { cannotWin, enoughFor, liveStopping } from "../../src/tune/search/stopping.js";
import { generator } from "../helpers/simulated-loader.js";
import { evenly, scoreAt, stopping } from "../helpers/tune.js";

const ms = 1e6;
const none = usualSetting(0, false);
const four = usualSetting(4, false);
const isEnough = (
  arrivalsNs: number[],
  { setting = none, best = null as ReturnType<typeof scoreAt> | null, rule = {} } = {},
) => enoughFor(setting, { ...stopping, ...rule }, best)(arrivalsNs);

/** Gaps of 10 ms within `spread`. */
function noisy(batches: number, spread: number): number[] {
  const random = generator(5);
  let now = 0;
  return Array.from({ length: batches }, () => {
    now += 10 * ms * (1 + spread * (random() - 0.5));
    return now;
  });
}

describe("a trial has enough batches", () => {
  it("when its interval is narrow, but not before the least time", () => {
    expect(isEnough(evenly(31, 10 * ms))).toBe(false);
    expect(isEnough(evenly(32, 10 * ms))).toBe(true);
    expect(isEnough(noisy(40, 1))).toBe(false);
    expect(isEnough(noisy(110, 0.3))).toBe(true);
  });

  it("counts the least time after the dropped batches alone", () => {
    expect(isEnough(evenly(48, 10 * ms), { setting: four })).toBe(true);
    expect(isEnough(evenly(47, 10 * ms), { setting: four })).toBe(false);
  });

  it("not by a narrow interval of fewer than 8 cycles: some look alike by chance", () => {
    expect(isEnough(evenly(16 + 31, 20 * ms), { setting: four })).toBe(false);
    expect(isEnough(evenly(16 + 32, 20 * ms), { setting: four })).toBe(true);
  });

  it("after the most time, however wide the interval, unless that is open", () => {
    const wide = noisy(200, 1.9);
    expect(isEnough(wide.slice(0, 80))).toBe(false);
    expect(isEnough(wide.filter((time) => time < 1400 * ms))).toBe(true);
    expect(isEnough(evenly(5, 700 * ms))).toBe(false);
    expect(isEnough(evenly(6, 700 * ms))).toBe(true);
    expect(isEnough(evenly(16 + 15, 700 * ms), { setting: four, rule: { mostNs: 60e9 } })).toBe(false);
    expect(isEnough(evenly(16 + 16, 700 * ms), { setting: four, rule: { mostNs: 60e9 } })).toBe(true);
  });

  it("when all of its time is up, settled or not", () => {
    expect(isEnough([14e9], { setting: four })).toBe(false);
    expect(isEnough([15e9], { setting: four })).toBe(true);
  });

  it("in a running job when it has been slower for longer than a job may be held up", () => {
    const best = scoreAt(100);
    const heldUp = (batches: number) => isEnough(evenly(batches, 13 * ms), { best, rule: liveStopping });
    expect(heldUp(110)).toBe(false);
    expect(heldUp(120)).toBe(true);
  });

  it("is not asked of a trial without batches", () => {
    expect(isEnough([])).toBe(false);
  });
});

describe("a setting that cannot win", () => {
  it("lies below the best one with its whole interval, by more than the tolerance", () => {
    expect(cannotWin(scoreAt(90), scoreAt(100), 0.02)).toBe(true);
    expect(cannotWin(scoreAt(97), scoreAt(100), 0.02)).toBe(false);
    expect(cannotWin(scoreAt(90, 0.1), scoreAt(100), 0.02)).toBe(false);
    expect(cannotWin(scoreAt(90), scoreAt(100, 0.15), 0.02)).toBe(false);
    expect(cannotWin(scoreAt(1), null, 0.02)).toBe(false);
  });

  it("is given up before the least time, but not at once", () => {
    const best = scoreAt(200);
    expect(isEnough(evenly(15, 10 * ms), { best })).toBe(false);
    expect(isEnough(evenly(17, 10 * ms), { best })).toBe(true);
    expect(isEnough(evenly(17, 10 * ms), { best: scoreAt(101) })).toBe(false);
  });

  it("is measured anyway if nothing may be ruled out", () => {
    expect(isEnough(evenly(17, 10 * ms), { best: scoreAt(200), rule: { tolerance: 1 } })).toBe(false);
  });
});
