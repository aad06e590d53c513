import { describe, expect, it } from "vitest";
import { readSizes } from "../../src/settings/units.js";
import { KiB, MiB } from "../plan/support.js";

describe("readSizes", () => {
  it.each([
    ["64KiB", [64 * KiB]],
    ["16MiB,64KiB,1MiB", [64 * KiB, MiB, 16 * MiB]],
    ["1MiB,1024KiB", [MiB]],
    ["1KiB..8KiB*2", [KiB, 2 * KiB, 4 * KiB, 8 * KiB]],
    ["1KiB..9KiB*2", [KiB, 2 * KiB, 4 * KiB, 8 * KiB]],
    ["100..400*1.5", [100, 150, 225, 338]],
    ["1MiB..4MiB+1MiB", [MiB, 2 * MiB, 3 * MiB, 4 * MiB]],
    ["1MiB..4MiB+2MiB", [MiB, 3 * MiB]],
    ["1.5KiB..3KiB*2", [1536, 3072]],
    ["1KiB..1KiB*2", [KiB]],
    ["1KiB..4KiB*2,3KiB", [KiB, 2 * KiB, 3 * KiB, 4 * KiB]],
  ])("reads %j", (text, sizes) => {
    expect(readSizes(text)).toEqual(sizes);
  });

  it("takes numbers of bytes, alone and in an array", () => {
    expect(readSizes(4096)).toEqual([4096]);
    expect(readSizes([2, "1KiB", 1])).toEqual([1, 2, KiB]);
    expect(() => readSizes([0])).toThrow("at least 1 byte");
    expect(() => readSizes(1.5)).toThrow("not a whole number of bytes");
  });

  it("takes factors of several digits, and steps with spaces", () => {
    expect(readSizes("1KiB..1MiB*10.24")).toHaveLength(3);
    expect(readSizes("1KiB..1MiB* 32 ")).toEqual([KiB, 32 * KiB, MiB]);
    expect(readSizes("1KiB..2KiB+ 1024 ")).toEqual([KiB, 2 * KiB]);
    expect(readSizes("1KiB..21KiB+10KiB")).toEqual([KiB, 11 * KiB, 21 * KiB]);
  });

  it("takes exactly 1000 sizes", () => {
    expect(readSizes("1..1000+1")).toHaveLength(1000);
  });
});
