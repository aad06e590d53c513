import { describe, expect, it } from "vitest";
import { copyBytesOf, mostPinnedBytes, poolShapes, poolSizes, shapeId } from "../../src/pin/pool-shapes.js";
import { errorOf } from "../plan/support.js";

const MiB = 1024 ** 2;
const GiB = 1024 * MiB;

describe("the sizes of pools", () => {
  type Limits = Parameters<typeof poolSizes>[1];
  const limits = (memoryAvailableBytes: number, maxPinnedBytes: number | null = null): Limits => ({
    ...{ memoryAvailableBytes, maxPinnedBytes, emulated: false },
  });

  it.each<[string, number[] | null, Limits, number[], number]>([
    [
      "of the default list if the limit, half of the memory, is larger",
      null,
      limits(180 * GiB),
      [GiB, 16 * GiB],
      0,
    ],
    ["of the default list if the limit equals the largest size", null, limits(32 * GiB), [GiB, 16 * GiB], 0],
    [
      "below the limit if the largest default size exceeds it by a byte",
      null,
      limits(32 * GiB - 2),
      [GiB],
      1,
    ],
    ["of the default list below the limit on a smaller machine", null, limits(31 * GiB), [GiB], 1],
    ["of 64 MiB on an emulated device", null, { ...limits(180 * GiB), emulated: true }, [64 * MiB], 0],
    ["that are requested", [64 * MiB, GiB], limits(4 * GiB), [64 * MiB, GiB], 0],
    [
      "of the smallest and the largest possible pool, if requested",
      [2 * MiB, 700 * GiB],
      limits(1400 * GiB),
      [2 * MiB, 700 * GiB],
      0,
    ],
    ["that are requested, up to a requested limit", [3 * GiB], limits(4 * GiB, 3 * GiB), [3 * GiB], 0],
  ])("are those %s", (_, asked, given, sizesBytes, left) => {
    const found = poolSizes(asked, given);
    expect(found.sizesBytes).toEqual(sizesBytes);
    expect(found.omitted).toHaveLength(left);
  });

  it("that are left out are named, with the limit", () => {
    expect(poolSizes(null, limits(31 * GiB)).omitted).toEqual([
      "a pool of 16 GiB: above the limit of 15.5 GiB (half of the 31 GiB of memory available)",
    ]);
  });

  it.each<[number[] | null, Limits, string, string]>([
    [null, limits(2 * GiB - 2), "limit", "A pool of 1 GiB would be above"],
    [
      [3 * GiB],
      limits(4 * GiB),
      "limit",
      "A pool of 3 GiB would be above the limit of 2 GiB (half of the 4 GiB of memory available).",
    ],
    [[3 * GiB], limits(4 * GiB, GiB), "limit", "(--max-pinned)"],
    [[8 * GiB], limits(4 * GiB, 4 * GiB), "limit", "(--max-pinned)"],
    [
      [8 * GiB],
      limits(4 * GiB, 100 * GiB),
      "limit",
      "above the limit of 4 GiB (the 4 GiB of memory available)",
    ],
    [[4096], limits(4 * GiB), "usage", "is too small for a pool"],
  ])("requested as %j (null: default) are refused on a machine with %j", (asked, given, kind, message) => {
    const error = errorOf(() => poolSizes(asked, given));
    expect(error).toMatchObject({ kind, message: expect.stringContaining(message) });
    expect(error.hint).toMatch(
      kind === "usage"
        ? /^Ask for at least 2 MiB; pinbench run times/
        : /ree memory, or raise the limit with --max-pinned\.$/,
    );
  });

  it("never exceed the machine's memory, whatever limit is requested", () => {
    expect(mostPinnedBytes(4 * GiB, 100 * GiB)).toBe(4 * GiB);
  });
});

it.each<[string, number, number | null, number[] | null, string]>([
  [
    "by one thread, and by one thread for each CPU",
    ...([16, 0, null] as const),
    "host-alloc 1, register 1, register 16, register-huge 1, register-huge 16, register-hugetlb 1",
  ],
  [
    "from hugetlbfs too if it has enough pages",
    ...([4, GiB, null] as const),
    "host-alloc 1, register 1, register 4, register-huge 1, register-huge 4, register-hugetlb 1, register-hugetlb 4",
  ],
  [
    "by one thread alone if there is one CPU",
    ...([1, null, null] as const),
    "host-alloc 1, register 1, register-huge 1, register-hugetlb 1",
  ],
  [
    "by the requested numbers of threads",
    ...([16, 0, [8, 2]] as [number, number, number[]]),
    "host-alloc 1, register 8, register 2, register-huge 8, register-huge 2, register-hugetlb 1",
  ],
])("pools are allocated %s", (_, cpusUsable, hugetlbFreeBytes, threads, expected) => {
  const shapes = poolShapes(GiB, { cpusUsable, hugetlbFreeBytes }, threads);
  expect(shapes.map((shape) => `${shape.way} ${shape.threads}`).join(", ")).toBe(expected);
  expect(new Set(shapes.map(shapeId)).size).toBe(shapes.length);
});

it("copies from a pool are up to 256 MiB, and as a rule an eighth of it", () => {
  expect(copyBytesOf(16 * GiB)).toBe(256 * MiB);
  expect(copyBytesOf(GiB)).toBe(128 * MiB);
  expect(copyBytesOf(100 * MiB)).toBe(12 * MiB);
  expect(copyBytesOf(2 * MiB)).toBe(2 * MiB);
});
