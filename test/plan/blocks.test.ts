import { describe, expect, it } from "vitest";
import { errorOf, GiB, h200, KiB, MiB, planOf } from "./support.js";

it("the cells that a search may add are those of each device, as if that one were searched alone", () => {
  const devices = [
    { ...h200, canMapHostMemory: false, multiprocessors: 1 },
    { ...h200, ordinal: 1 },
  ];
  const asked = (...ordinals: number[]) =>
    planOf({ devices: ordinals, directions: ["h2d"], blockSizesBytes: "auto" }, { devices }).candidates;
  const ofSecond = asked(0, 1).filter(({ device }) => device === 1);
  expect(ofSecond).toEqual(asked(1));
  expect(new Set(ofSecond.map(({ skipReason }) => skipReason))).toEqual(new Set([null]));
});

describe("what blocks take", () => {
  const of = (changes: object) => planOf({ blockSizesBytes: [4 * KiB], directions: ["h2d"], ...changes });

  it("is a list of all blocks in pinned memory, half as much as blocks of 32 bytes, which counts towards the limit", () => {
    const needOf = (blockBytes: number) => {
      const { arenas, need } = of({
        blockSizesBytes: [blockBytes],
        blockCounts: [(16 * MiB) / blockBytes],
        memory: ["pinned"],
        maxPinnedBytes: 8 * GiB,
      });
      return { ...arenas.blocks, pinned: need.pinnedBytes };
    };
    const [small, large] = [needOf(32), needOf(64 * KiB)];
    expect(small.listed).toBe(2048 * large.listed);
    expect(small.all).toBe(small.listed);
    expect(small.pinned - large.pinned).toBe((small.listed - large.listed) * 16);
    const limited = {
      blockSizesBytes: [32],
      blockCounts: [MiB / 2],
      memory: ["pinned"],
      maxPinnedBytes: large.pinned,
    };
    expect(errorOf(() => of(limited))).toMatchObject({ kind: "limit" });
    expect(() => of({ ...limited, blockSizesBytes: [64 * KiB], blockCounts: [256] })).not.toThrow();
  });
});
