import { describe, expect, it } from "vitest";
import { copyBytesOf, mostPinnedBytes, poolShapes, poolSizes, shapeId } from "../../src/pin/pool-shapes.js";
import { errorOf } from "../plan/support.js";

const MiB = 1024 ** 2;
const GiB = 1024 * MiB;

describe("the sizes of pools", () => {
  type Limits = Parameters<typeof poolSizes>[1];
  const limits = (memoryAvailableBytes: number, askedMaxPinnedBytes: number | null = null): Limits => ({
    ...{ memoryAvailableBytes, askedMaxPinnedBytes, emulated: false },
  });

  it.each<[string, number[] | null, Limits, number[], number]>([
    ["if half of the memory is as much", null, limits(180 * GiB), [GiB, 16 * GiB], 0],
    ["to the byte", null, limits(32 * GiB), [GiB, 16 * GiB], 0],
    ["but for a byte", null, limits(32 * GiB - 2), [GiB], 1],
    ["of less memory", null, limits(31 * GiB), [GiB], 1],
    ["of little memory", null, limits(300 * MiB), [128 * MiB], 2],
    ["of the least memory", null, limits(32 * MiB), [16 * MiB], 2],
    ["of an emulated device", null, { ...limits(180 * GiB), emulated: true }, [64 * MiB], 0],
    ["that were asked for", [64 * MiB, GiB], limits(4 * GiB), [64 * MiB, GiB], 0],
    [
      "of the least and the most that may be",
      [2 * MiB, 700 * GiB],
      limits(1400 * GiB),
      [2 * MiB, 700 * GiB],
      0,
    ],
    ["within a limit that was asked for", [3 * GiB], limits(4 * GiB, 3 * GiB), [3 * GiB], 0],
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
    [null, limits(32 * MiB - 2), "limit", "Not even 16 MiB can be pinned"],
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
  ])("%j are refused on a machine with %j", (asked, given, kind, message) => {
    const error = errorOf(() => poolSizes(asked, given));
    expect(error).toMatchObject({ kind, message: expect.stringContaining(message) });
    expect(error.hint).toMatch(
      kind === "usage"
        ? /^Ask for at least 2 MiB; pinbench run times/
        : /ree memory, or raise the limit with --max-pinned\.$/,
    );
  });

  it("never take memory that the machine does not have, whatever was asked for", () => {
    expect(mostPinnedBytes(4 * GiB, 100 * GiB)).toBe(4 * GiB);
  });
});

describe("the ways of obtaining a pool", () => {
  type Asked = Parameters<typeof poolShapes>[2];

  it.each<[string, number, number, number | null, Partial<Asked>, string]>([
    [
      "by one thread, by one a CPU, and in as many pieces",
      ...([GiB, 16, 0, {}] as [number, number, number, object]),
      "host-alloc 1/1 16/16, register 1/1 1/16 16/16, register-huge 1/1 1/16 16/16, register-hugetlb 1/1",
    ],
    [
      "of hugetlbfs too, which has pages enough",
      ...([GiB, 4, GiB, {}] as [number, number, number, object]),
      "host-alloc 1/1 4/4, register 1/1 1/4 4/4, register-huge 1/1 1/4 4/4, register-hugetlb 1/1 1/4 4/4",
    ],
    [
      "on one CPU, with none twice, and hugetlbfs once, of which nothing is known",
      ...([GiB, 1, null, {}] as [number, number, null, object]),
      "host-alloc 1/1, register 1/1, register-huge 1/1, register-hugetlb 1/1",
    ],
    [
      "with pieces for the most threads, and no more threads than pieces",
      ...([GiB, 16, 0, { threads: [8, 2] }] as [number, number, number, object]),
      "host-alloc 1/1 8/8 8/2, register 1/8 1/2 8/8 8/2, register-huge 1/8 1/2 8/8 8/2, register-hugetlb 1/1",
    ],
    [
      "for watching",
      ...([16 * GiB, 16, 0, { stalls: true, threads: [16] }] as [number, number, number, object]),
      "host-alloc 1/1 16/16 64/16 256/16, register 1/16 16/16 64/16 256/16, register-huge 1/16 16/16 64/16 256/16, register-hugetlb 1/1",
    ],
    [
      "with pieces of a huge page at least",
      ...([32 * MiB, 16, 0, { threads: [16] }] as [number, number, number, object]),
      "host-alloc 1/1 16/16, register 1/16 16/16, register-huge 1/16 16/16, register-hugetlb 1/1",
    ],
    [
      "in one piece, if others would be smaller",
      ...([8 * MiB, 16, 0, { threads: [16] }] as [number, number, number, object]),
      "host-alloc 1/1, register 1/16, register-huge 1/16, register-hugetlb 1/1",
    ],
  ])("are those %s", (_, bytes, cpusUsable, hugetlbFreeBytes, asked, expected) => {
    const request = { stalls: false, threads: null, ...asked };
    const shapes = poolShapes(bytes, { cpusUsable, hugetlbFreeBytes }, request);
    const ways = [...new Set(shapes.map(({ way }) => way))];
    const ofWay = (way: string) =>
      shapes.flatMap((shape) => (shape.way === way ? [`${shape.pieces}/${shape.threads}`] : []));
    expect(ways.map((way) => [way, ...ofWay(way)].join(" ")).join(", ")).toBe(expected);
    expect(new Set(shapes.map(shapeId)).size).toBe(shapes.length);
  });
});

it("copies over a pool are large, and fit into a piece", () => {
  expect(copyBytesOf(16 * GiB, 1)).toBe(256 * MiB);
  expect(copyBytesOf(GiB, 16)).toBe(64 * MiB);
  expect(copyBytesOf(GiB, 1)).toBe(128 * MiB);
  expect(copyBytesOf(100 * MiB, 7)).toBe(12 * MiB);
  expect(copyBytesOf(100 * MiB, 9)).toBe(10 * MiB);
  expect(copyBytesOf(2 * MiB, 1)).toBe(2 * MiB);
});
