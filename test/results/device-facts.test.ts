import { describe, expect, it } from "vitest";
import { linkLimitGBps } from "../../src/results/device-facts.js";

describe("linkLimitGBps", () => {
  it.each([
    [1, 16, 4],
    [2, 16, 8],
    [3, 16, 15.754],
    [4, 16, 31.508],
    [5, 16, 63.015],
    [6, 16, 121],
    [4, 8, 15.754],
    [3, 1, 0.985],
  ])("gives generation %i x%i its published %f GB/s", (generation, width, expected) => {
    expect(linkLimitGBps(generation, width)).toBeCloseTo(expected, 3);
  });

  it.each([
    [null, 16],
    [5, null],
    [0, 16],
    [9, 16],
    [5, 0],
  ])("does not guess for generation %s x%s", (generation, width) => {
    expect(linkLimitGBps(generation, width)).toBeNull();
  });
});
