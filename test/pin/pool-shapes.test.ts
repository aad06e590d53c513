import { describe, expect, it } from "vitest";
import {
  copyBytesOf,
  isInPieces,
  mostPinnedBytes,
  poolShapes,
  poolSizes,
  shapeId,
} from "../../src/pin/pool-shapes.js";

const MiB = 1024 ** 2;
const GiB = 1024 * MiB;
const limits = (memoryAvailableBytes: number, more = {}) => ({
  memoryAvailableBytes,
  askedMaxPinnedBytes: null,
  emulated: false,
  ...more,
});

describe("the sizes of pools", () => {
  it("are 1 and 16 GiB if half of the memory is as much", () => {
    expect(poolSizes(null, limits(180 * GiB))).toEqual({ sizesBytes: [GiB, 16 * GiB], omitted: [] });
  });

  it("are fewer if it is less, which is said", () => {
    const { sizesBytes, omitted } = poolSizes(null, limits(31 * GiB));
    expect(sizesBytes).toEqual([GiB]);
    expect(omitted).toEqual([
      "a pool of 16 GiB: above the limit of 15.5 GiB (half of the 31 GiB of memory available)",
    ]);
    const small = poolSizes(null, limits(300 * MiB));
    expect(small).toEqual({
      sizesBytes: [128 * MiB],
      omitted: [/ 1 GiB: /, / 16 GiB: /].map((text) => expect.stringMatching(text)),
    });
  });

  it("are small on an emulated device", () => {
    expect(poolSizes(null, limits(180 * GiB, { emulated: true })).sizesBytes).toEqual([64 * MiB]);
  });

  it("do not exist on a machine without memory", () => {
    expect(() => poolSizes(null, limits(20 * MiB))).toThrow(/Not even 16 MiB can be pinned/);
  });

  it("are as asked for, within the limit", () => {
    expect(poolSizes([64 * MiB, GiB], limits(4 * GiB)).sizesBytes).toEqual([64 * MiB, GiB]);
    expect(() => poolSizes([3 * GiB], limits(4 * GiB))).toThrow(
      "A pool of 3 GiB would be above the limit of 2 GiB (half of the 4 GiB of memory available).",
    );
    expect(poolSizes([3 * GiB], limits(4 * GiB, { askedMaxPinnedBytes: 3 * GiB })).sizesBytes).toEqual([
      3 * GiB,
    ]);
    expect(() => poolSizes([3 * GiB], limits(4 * GiB, { askedMaxPinnedBytes: GiB }))).toThrow(
      "(--max-pinned)",
    );
    expect(() => poolSizes([4096], limits(4 * GiB))).toThrow(/is too small for a pool/);
  });

  it("may be as much as the limits, to the byte", () => {
    expect(poolSizes(null, limits(32 * GiB))).toEqual({ sizesBytes: [GiB, 16 * GiB], omitted: [] });
    expect(poolSizes(null, limits(32 * GiB - 2)).sizesBytes).toEqual([GiB]);
    expect(poolSizes(null, limits(32 * MiB)).sizesBytes).toEqual([16 * MiB]);
    expect(poolSizes([2 * MiB, 700 * GiB], limits(1400 * GiB))).toEqual({
      sizesBytes: [2 * MiB, 700 * GiB],
      omitted: [],
    });
    expect(() => poolSizes([8 * GiB], limits(4 * GiB, { askedMaxPinnedBytes: 4 * GiB }))).toThrow(
      "(--max-pinned)",
    );
  });

  it("are refused with what to do instead", () => {
    const refused = (...args: Parameters<typeof poolSizes>) => {
      try {
        return poolSizes(...args);
      } catch (error) {
        return error;
      }
    };
    expect(refused([4096], limits(4 * GiB))).toMatchObject({
      kind: "usage",
      hint: "Ask for at least 2 MiB; pinbench run times single buffers of any size.",
    });
    expect(refused([3 * GiB], limits(4 * GiB))).toMatchObject({
      kind: "limit",
      hint: "Ask for smaller sizes, free memory, or raise the limit with --max-pinned.",
    });
    expect(refused(null, limits(31 * MiB))).toMatchObject({
      kind: "limit",
      hint: "Free memory, or raise the limit with --max-pinned.",
    });
  });

  it("never take memory that the machine does not have, whatever was asked for", () => {
    expect(mostPinnedBytes(4 * GiB, 100 * GiB)).toBe(4 * GiB);
    expect(() => poolSizes([8 * GiB], limits(4 * GiB, { askedMaxPinnedBytes: 100 * GiB }))).toThrow(
      "above the limit of 4 GiB (the 4 GiB of memory available)",
    );
  });
});

describe("the ways of obtaining a pool", () => {
  const usual = { ways: null, pieces: null, pieceSizesBytes: null, stalls: false, threads: null };
  const resources = (cpusUsable: number, hugetlbFreeBytes: number | null = 0) => ({
    cpusUsable,
    hugetlbFreeBytes,
  });
  const idsOf = (...args: Parameters<typeof poolShapes>) => poolShapes(...args).map(shapeId);

  it("are by one thread, by one a CPU, and in as many pieces", () => {
    expect(idsOf(GiB, resources(16), usual)).toEqual([
      "host-alloc/pieces-1/threads-1",
      "host-alloc/pieces-16/threads-16",
      "register/pieces-1/threads-1",
      "register/pieces-1/threads-16",
      "register/pieces-16/threads-16",
      "register-huge/pieces-1/threads-1",
      "register-huge/pieces-1/threads-16",
      "register-huge/pieces-16/threads-16",
      "register-hugetlb/pieces-1/threads-1",
    ]);
  });

  it("are those of hugetlbfs as well if it has pages enough", () => {
    expect(idsOf(GiB, resources(4, GiB), { ...usual, ways: ["register-hugetlb"] })).toHaveLength(3);
    expect(idsOf(GiB, resources(4, null), { ...usual, ways: ["register-hugetlb"] })).toHaveLength(1);
  });

  it("are fewer on one CPU, with none twice", () => {
    expect(idsOf(GiB, resources(1), { ...usual, ways: ["register"] })).toEqual([
      "register/pieces-1/threads-1",
    ]);
  });

  it("are as asked for: with several pieces, no more threads than these", () => {
    const asked = { ...usual, ways: ["register"] as const, pieces: [1, 4], threads: [2, 8] };
    expect(idsOf(GiB, resources(16), asked)).toEqual([
      "register/pieces-1/threads-2",
      "register/pieces-1/threads-8",
      "register/pieces-4/threads-2",
      "register/pieces-4/threads-4",
    ]);
    expect(idsOf(GiB, resources(16), { ...asked, pieces: [4], threads: [1] })).toEqual([
      "register/pieces-4/threads-1",
    ]);
    expect(idsOf(GiB, resources(16), { ...asked, pieces: null, threads: [8, 2] })).toContain(
      "register/pieces-8/threads-2",
    );
  });

  it("have pieces of the sizes that were asked for, the last one with what is left", () => {
    const piecesOf = (sizeBytes: number, more: Partial<Parameters<typeof poolShapes>[2]>) =>
      poolShapes(sizeBytes, resources(16), { ...usual, ways: ["host-alloc"], ...more }).map(
        ({ pieces }) => pieces,
      );
    expect(piecesOf(GiB, { pieceSizesBytes: [256 * MiB, 300 * MiB, 4 * GiB] })).toEqual([1, 4]);
    expect(piecesOf(GiB, { pieces: [2], pieceSizesBytes: [64 * MiB] })).toEqual([2, 16]);
    expect(piecesOf(16 * GiB, { stalls: true })).toEqual([1, 16, 64, 256]);
    expect(piecesOf(16 * GiB, { stalls: true, pieces: [1] })).toEqual([1]);
  });

  it("have no piece that is smaller than a huge page", () => {
    expect(idsOf(8 * MiB, resources(16), { ...usual, ways: ["host-alloc"] })).toEqual([
      "host-alloc/pieces-1/threads-1",
    ]);
    expect(idsOf(32 * MiB, resources(16), { ...usual, ways: ["host-alloc"] })).toEqual([
      "host-alloc/pieces-1/threads-1",
      "host-alloc/pieces-16/threads-16",
    ]);
    expect(idsOf(8 * MiB, resources(16), { ...usual, pieces: [16] })).toEqual([]);
    expect(isInPieces(4096, 1)).toBe(true);
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
