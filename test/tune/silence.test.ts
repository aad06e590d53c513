import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { afterSilence } from "../../src/tune/silence.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("a silence is reported once, when its time has passed", () => {
  const isOver = vi.fn();
  afterSilence(100, isOver);
  vi.advanceTimersByTime(99);
  expect(isOver).not.toHaveBeenCalled();
  vi.advanceTimersByTime(200);
  expect(isOver).toHaveBeenCalledOnce();
});

it("no silence is reported if something comes before its time has passed, or just then", () => {
  const isOver = vi.fn();
  for (const comesMs of [50, 100]) setTimeout(afterSilence(100, isOver), comesMs);
  vi.advanceTimersByTime(300);
  expect(isOver).not.toHaveBeenCalled();
});
