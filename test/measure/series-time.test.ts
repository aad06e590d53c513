import { describe, expect, it } from "vitest";
import { SeriesTime } from "../../src/measure/remaining-time.js";

const seconds = 1e9;

describe("what is left of a series", () => {
  it("is what each presumably takes, less what has passed", () => {
    const time = new SeriesTime(4, 10 * seconds);
    expect(time.leftNs(0)).toBe(40 * seconds);
    time.next(0);
    expect(time.leftNs(3 * seconds)).toBeCloseTo(37 * seconds, -3);
  });

  it("has nothing of one that has ended, though the next has not begun", () => {
    const time = new SeriesTime(4, 10 * seconds);
    time.next(0);
    time.finish(8 * seconds);
    expect(time.leftNs(8 * seconds)).toBe(3 * 8 * seconds);
    time.finish(9 * seconds);
    time.next(9 * seconds);
    expect(new SeriesTime(1, null).leftNs(0)).toBeNull();
    expect(time.leftNs(9 * seconds)).toBeCloseTo(24 * seconds, -9.5);
  });

  it("is the median of what they took for each that waits, whether the current one is late or not", () => {
    const late = new SeriesTime(3, 10 * seconds);
    late.next(0);
    expect(late.leftNs(25 * seconds)).toBe(20 * seconds);
    const time = new SeriesTime(5, null);
    for (const second of [0, 9, 11]) time.next(second * seconds);
    time.finish(14 * seconds);
    expect(time.leftNs(14 * seconds)).toBe(2 * 3 * seconds);
  });

  it("follows what they really take, in small steps", () => {
    const time = new SeriesTime(4, 10 * seconds);
    time.next(0);
    let shown = time.leftNs(0)!;
    for (let second = 1; second <= 60; ++second) {
      // Each takes 20 s.
      if (second % 20 === 0) time.next(second * seconds);
      const next = time.leftNs(second * seconds)!;
      // Once it is known, 30 s more are left, which are not shown all at once.
      expect(next - shown).toBeLessThan(15 * seconds);
      shown = next;
    }
    expect(shown).toBeGreaterThan(15 * seconds);
    expect(shown).toBeLessThan(25 * seconds);
  });

  it("is not known before the first, if nothing tells", () => {
    const time = new SeriesTime(3, null);
    time.next(0);
    expect(time.leftNs(seconds)).toBeNull();
    time.next(5 * seconds);
    expect(time.leftNs(5 * seconds)).toBe(10 * seconds);
  });

  it("is nothing after the last, and never less", () => {
    const time = new SeriesTime(1, seconds);
    time.next(0);
    expect(time.leftNs(9 * seconds)).toBe(0);
    time.finish(9 * seconds);
    expect(time.leftNs(30 * seconds)).toBe(0);
  });
});
