import { describe, expect, it } from "vitest";
import { spread } from "../../src/results/loader-setting.js";

describe("the counts of workers", () => {
  it.each([0, 1, 4, 13])("are all of them up to %i", (most) => {
    expect(spread(most)).toEqual(Array.from({ length: most + 1 }, (_, count) => count));
  });

  it.each([14, 16, 24, 32, 64, 128, 192, 256])("are 14 up to %i, denser among the few", (most) => {
    const counts = spread(most);
    expect(counts).toHaveLength(14);
    expect(counts.slice(0, 3)).toEqual([0, 1, 2]);
    expect(counts.at(-1)).toBe(most);
    const steps = counts.slice(1).map((count, index) => count - counts[index]!);
    expect(Math.min(...steps)).toBe(1);
    // But for rounding, steps grow.
    for (const [index, step] of steps.slice(1).entries()) {
      expect(step).toBeGreaterThanOrEqual(steps[index]! - 1);
      expect(step).toBeLessThanOrEqual(2 * steps[index]! + 1);
    }
  });
});
