import { describe, expect, it } from "vitest";
import { presets } from "../../src/settings/presets.js";
import { readSizes, shmooSizes } from "../../src/settings/units.js";
import { errorOf, KiB, MiB } from "../plan/support.js";

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

  it.each([
    ["1KiB..1MiB*1", "never ends"],
    ["1KiB..1MiB*0.5", "never ends"],
    ["1KiB..1MiB*0", "never ends"],
    ["1KiB..1MiB+0", "never ends"],
    ["1KiB..1MiB+0KiB", "never ends"],
    ["1MiB..1KiB*2", "never reaches its end"],
    ["1KiB..1MiB", "its start, end or step is missing"],
    ["..1MiB*2", "its start, end or step is missing"],
    ["1KiB..*2", "its start, end or step is missing"],
    ["1KiB..1MiB*", "its start, end or step is missing"],
    ["1KiB..2KiB..3KiB*2", "its start, end or step is missing"],
    ["1KiB..8KiB*2*2", "is not a number"],
    ["1KiB..1MiB*-2", "is not a number"],
    ["1KiB..1MiB+-1KiB", "not a size"],
    ["1KiB..1MiB*2KiB", "is not a number"],
    ["1KiB..1MiB*1e1", "is not a number"],
    ["1KiB..1MiB*0x2", "is not a number"],
    ["1..1MiB+1", "more than 1000 sizes"],
    ["1..2*1.0000001", "more than 1000 sizes"],
    ["1..600+1,601..1200+1", "more than 1000 sizes"],
    ["1KiB,,2KiB", "not a size"],
    ["0", "at least 1 byte"],
    ["64k", "does not say"],
  ])("rejects %j: %s", (text, why) => {
    const error = errorOf(() => readSizes(text));
    expect(error.message).toContain(why);
    expect(error.kind).toBe("usage");
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

  it.each([
    [
      "1KiB..64MiB",
      "Write 1KiB..64MiB*2 to double from size to size, or 1MiB..16MiB+1MiB for steps of 1 MiB.",
    ],
    [
      "1KiB..64MiB*",
      "Write 1KiB..64MiB*2 to double from size to size, or 1MiB..16MiB+1MiB for steps of 1 MiB.",
    ],
    ["1KiB..64MiB*two", "Write for example 1KiB..64MiB*2."],
    ["1KiB..64MiB*1", "Use a factor above 1."],
    ["1KiB..64MiB+ 00.00 B", "Use a step of at least 1 byte."],
    ["1..1MiB+1", "Use larger steps."],
  ])("says what to write in place of %s", (text, hint) => {
    expect(errorOf(() => readSizes(text)).hint).toBe(hint);
  });

  it("names all that was given if it comes to too many", () => {
    expect(() => readSizes("1..600+1,601..1200+1")).toThrow('"1..600+1,601..1200+1" gives more than');
  });

  it("takes exactly 1000 sizes", () => {
    expect(readSizes("1..1000+1")).toHaveLength(1000);
  });
});

describe("shmooSizes", () => {
  const sizes = shmooSizes();

  it("are copied as in the quick preset, in the time of the default one", () => {
    const { quick, shmoo, default: usual } = presets;
    expect(shmoo).toEqual({ ...quick, sizesBytes: sizes, budgetNs: usual.budgetNs });
    expect([quick.budgetNs, usual.budgetNs]).toEqual([250e6, 8e9]);
  });

  it("are 81 from 1 KiB to 64 MiB, ascending", () => {
    expect(sizes).toHaveLength(81);
    expect(sizes[0]).toBe(KiB);
    expect(sizes.at(-1)).toBe(64 * MiB);
    expect(sizes).toEqual([...sizes].sort((a, b) => a - b));
  });

  it.each([
    [KiB, 20 * KiB, KiB],
    [20 * KiB, 50 * KiB, 2 * KiB],
    [50 * KiB, 100 * KiB, 10 * KiB],
    [100 * KiB, 1000 * KiB, 100 * KiB],
    [MiB, 16 * MiB, MiB],
    [16 * MiB, 32 * MiB, 2 * MiB],
    [32 * MiB, 64 * MiB, 4 * MiB],
  ])("grow from %i to %i by %i bytes", (from, to, step) => {
    const part = sizes.filter((sizeBytes) => sizeBytes >= from && sizeBytes <= to);
    expect(part).toHaveLength((to - from) / step + 1);
    expect(new Set(part.slice(1).map((sizeBytes, index) => sizeBytes - part[index]!))).toEqual(
      new Set([step]),
    );
  });
});
