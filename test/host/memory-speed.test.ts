import { expect, it, onTestFinished, vi } from "vitest";
import { measureMemorySpeed } from "../../src/host/memory.js";

it("the speed of the host's memory is one that memory has", () => {
  for (const rateGBps of Object.values(measureMemorySpeed())) {
    expect(rateGBps).toBeGreaterThan(0.001);
    expect(rateGBps).toBeLessThan(10_000);
  }
});

it("the speed of the host's memory is that of the middle one of all pieces, and of all copies of them together", () => {
  // 16 pieces that take 1 to 16 ms, and 7 copies that take 10 to 70.
  const takeMs = [
    ...Array.from({ length: 16 }, (_, i) => i + 1),
    ...[1, 2, 3, 4, 5, 6, 7].map((i) => 10 * i),
  ];
  let nowMs = 0;
  let calls = 0;
  const now = vi.spyOn(performance, "now").mockImplementation(() => {
    // The clock is asked before and after each.
    if (calls++ % 2 === 1) nowMs += takeMs.shift()!;
    return nowMs;
  });
  onTestFinished(() => now.mockRestore());
  const { firstTouchGBps, copyGBps } = measureMemorySpeed();
  expect(takeMs).toEqual([]);
  expect(firstTouchGBps).toBeCloseTo(2 ** 20 / 9e6, 9);
  expect(copyGBps).toBeCloseTo(2 ** 23 / 40e6, 9);
});
