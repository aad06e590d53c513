import { expect, it } from "vitest";
import { measureMemorySpeed } from "../../src/host/memory.js";

it("the speed of the host's memory is one that memory has", () => {
  for (const rateGBps of Object.values(measureMemorySpeed())) {
    expect(rateGBps).toBeGreaterThan(0.001);
    expect(rateGBps).toBeLessThan(10_000);
  }
});
