import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { afterSilence } from "../../src/tune/silence.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("silence is over once, when its time has passed", () => {
  const isOver = vi.fn();
  afterSilence(100, isOver);
  vi.advanceTimersByTime(99);
  expect(isOver).not.toHaveBeenCalled();
  vi.advanceTimersByTime(200);
  expect(isOver).toHaveBeenCalledOnce();
});

it("silence is not over if something comes before, or is there to be read when its time has passed", () => {
  const isOver = vi.fn();
  for (const comesMs of [50, 100]) setTimeout(afterSilence(100, isOver), comesMs);
  vi.advanceTimersByTime(300);
  expect(isOver).not.toHaveBeenCalled();
});
