import { describe, expect, it } from "vitest";
import { errorOf, GiB, h200, KiB, planOf } from "./support.js";

it("a search for block sizes plans the same cells for a device, alone or with another device", () => {
  const devices = [
    { ...h200, canMapHostMemory: false },
    { ...h200, ordinal: 1 },
  ];
  const asked = (...ordinals: number[]) =>
    planOf({ devices: ordinals, directions: ["h2d"], blockSizesBytes: "auto" }, { devices }).candidates;
  const ofSecond = asked(0, 1).filter(({ device }) => device === 1);
  expect(ofSecond).toEqual(asked(1));
  expect(new Set(ofSecond.map(({ skipReason }) => skipReason))).toEqual(new Set([null]));
});

describe("the memory of copies in blocks", () => {
  const of = (changes: object) => planOf({ blockSizesBytes: [4 * KiB], directions: ["h2d"], ...changes });

  it("includes a pinned list of all blocks, which counts towards the limit", () => {
    const needOf = (blockBytes: number) => {
      const { arenas, need } = of({
        blockSizesBytes: [blockBytes],
        memory: ["pinned"],
        maxPinnedBytes: 8 * GiB,
      });
      return { ...arenas.blocks, pinned: need.pinnedBytes };
    };
    // 256 MiB of blocks: 4096 of 64 KiB, and half as many of 128 KiB.
    const [small, large] = [needOf(64 * KiB), needOf(128 * KiB)];
    expect(small.listed).toBe(2 * large.listed);
    expect(small.all).toBe(small.listed);
    expect(small.pinned - large.pinned).toBe((small.listed - large.listed) * 16);
    const limited = { blockSizesBytes: [64 * KiB], memory: ["pinned"], maxPinnedBytes: large.pinned };
    expect(errorOf(() => of(limited))).toMatchObject({ kind: "limit" });
    expect(() => of({ ...limited, blockSizesBytes: [128 * KiB] })).not.toThrow();
  });
});
