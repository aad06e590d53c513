import { describe, expect, it } from "vitest";
import { cudaVersionName, linkLimitGBps, pcieLimitGBps } from "../../src/results/device-facts.js";

describe("the limit of a PCIe link", () => {
  it.each([
    [1, 16, 4],
    [2, 16, 8],
    [3, 16, 15.754],
    [4, 16, 31.508],
    [5, 16, 63.015],
    [6, 16, 121],
    [4, 8, 15.754],
    [3, 1, 0.985],
  ])("of generation %i x%i is the published %f GB/s", (generation, width, expected) => {
    expect(linkLimitGBps(generation, width)).toBeCloseTo(expected, 3);
  });

  it.each([
    [null, 16],
    [5, null],
    [0, 16],
    [9, 16],
    [5, 0],
  ])("is unknown for generation %s x%s", (generation, width) => {
    expect(linkLimitGBps(generation, width)).toBeNull();
  });
});

describe("the PCIe limit of a device", () => {
  const link = { generation: 5, width: 16 };

  it.each([
    [{ integrated: false, coherent: false }, 63.015],
    [{ integrated: true, coherent: false }, null],
    [{ integrated: false, coherent: true }, null],
  ])("with %o is %s, as integrated and coherent devices do not use PCIe", (device, expected) => {
    const limit = pcieLimitGBps(device, link);
    expect(limit === null ? null : Number(limit.toFixed(3))).toBe(expected);
  });
});

it("the name of a version of CUDA is its major and minor number", () => {
  expect([12080, 13000, 13020].map(cudaVersionName)).toEqual(["12.8", "13.0", "13.2"]);
});
