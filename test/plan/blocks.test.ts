import { describe, expect, it } from "vitest";
import { cellId, parseCellId } from "../../src/results/cell-id.js";
import type { BlockWay } from "../../src/settings/choices.js";
import { errorOf, GiB, h200, KiB, MiB, planOf } from "./support.js";

/** The plan's cells but for the host's control: direction and memory, bytes in KiB, and what they have beyond plain ones. */
function cellsOf(...asked: Parameters<typeof planOf>): string[] {
  return planOf(...asked)
    .cells.filter(({ memory }) => memory !== "host")
    .map(({ id, direction, memory, sizeBytes }) =>
      [`${direction} ${memory} ${sizeBytes / KiB}`, id.split("/").slice(8).join("/")].join(" ").trim(),
    );
}

const reasonsOf = (...asked: Parameters<typeof planOf>) =>
  planOf(...asked).cells.flatMap(({ id, skipReason }) =>
    skipReason === null ? [] : [[id.split("/").at(-1), skipReason]],
  );

describe("copies of scattered blocks", () => {
  it("are made in every way that there is for a kind of memory, and in one piece for comparison", () => {
    expect(cellsOf({ blockSizesBytes: [4 * KiB], directions: ["d2h"] })).toEqual([
      "d2h pageable 16384",
      "d2h pageable 16384 blocks-4096-loop",
      "d2h pageable 16384 blocks-4096-batch",
      "d2h pageable 16384 blocks-4096-gather",
      "d2h pinned 16384",
      "d2h pinned 16384 blocks-4096-loop",
      "d2h pinned 16384 blocks-4096-batch",
      "d2h pinned 16384 blocks-4096-kernel",
      "d2h pinned 16384 blocks-4096-gather",
    ]);
  });

  it("are made in every way in both directions at once too, alone and during loads", () => {
    const of = (direction: "h2d" | "bidir") =>
      cellsOf({ blockSizesBytes: [4 * KiB], directions: [direction], besides: ["compute"] });
    expect(of("bidir")).toEqual(of("h2d").map((cell) => cell.replace("h2d", "bidir")));
    expect(of("bidir")).toContain("bidir pinned 16384 beside-compute/blocks-4096-kernel");
  });

  it("go both ways, by one worker, whatever the preset says of sizes, memory and latency", () => {
    const devices = [h200, { ...h200, ordinal: 1 }];
    const { cells, preset, stopping } = planOf({ blockSizesBytes: [4 * KiB], preset: "fleet" }, { devices });
    expect([...new Set(cells.map(({ direction }) => direction))]).toEqual(["h2d", "d2h"]);
    expect(cells.every(({ workers, mode }) => workers === 1 && mode === "throughput")).toBe(true);
    expect(cells.filter(({ together }) => together !== undefined)).toEqual([]);
    expect(preset).toBeNull();
    expect(stopping.budgetNs).toBe(10e9);
  });

  it("are 4096 blocks, but no more than 256 MiB, and one at least, unless somebody says", () => {
    const countsOf = (blockSizesBytes: number[], blockCounts: number[] | null = null) =>
      planOf({ blockSizesBytes, blockCounts, memory: ["pinned"], directions: ["h2d"] })
        .cells.filter(({ blockWay }) => blockWay === "loop")
        .map(({ sizeBytes, blockBytes }) => [sizeBytes / blockBytes!, blockBytes! / KiB]);
    expect(countsOf([4 * KiB, 64 * KiB, 256 * KiB, MiB, 512 * MiB])).toEqual([
      [4096, 4],
      [4096, 64],
      [1024, 256],
      [256, 1024],
      [1, 512 * 1024],
    ]);
    expect(countsOf([16], [1e6])).toEqual([[1e6, 16 / KiB]]);
    expect(countsOf([4 * KiB, MiB], [100])).toEqual([
      [100, 4],
      [100, 1024],
    ]);
  });

  it("are made by the variants of a batch only if these are asked for", () => {
    const asked = { blockSizesBytes: [4 * KiB], memory: ["pinned"], directions: ["h2d"] } as const;
    const variants = ["batch-any", "batch-during", "batch-ce"] as const;
    const waysOf = (blockWays: readonly BlockWay[] | null) =>
      planOf({ ...asked, blockWays }).cells.flatMap(({ blockWay }) => blockWay ?? []);
    expect(waysOf(null)).toEqual(["loop", "batch", "kernel", "gather"]);
    expect(waysOf([...variants, "batch"])).toEqual(["batch", ...variants]);
    const id = planOf({ ...asked, blockWays: ["batch-ce"] }).cells.at(-1)!.id;
    expect(id).toMatch(/\/blocks-4096-batch-ce$/);
    expect(cellId(parseCellId(id))).toBe(id);
    const reasons = reasonsOf({ ...asked, blockWays: variants }, { batchCopiesOff: "the driver is old" });
    expect(reasons.map(([part]) => part)).toEqual(variants.map((way) => `blocks-4096-${way}`));
  });

  it("have each of several counts, and are made in the ways that were asked for", () => {
    const asked = { blockSizesBytes: [4 * KiB], blockCounts: [64, 16, 64], memory: ["pinned"] } as const;
    expect(cellsOf({ ...asked, directions: ["h2d"], blockWays: ["kernel", "batch"] })).toEqual([
      "h2d pinned 64",
      "h2d pinned 64 blocks-4096-batch",
      "h2d pinned 64 blocks-4096-kernel",
      "h2d pinned 256",
      "h2d pinned 256 blocks-4096-batch",
      "h2d pinned 256 blocks-4096-kernel",
    ]);
  });

  it("share the copy in one piece if they have as many bytes together", () => {
    const ids = cellsOf({ blockSizesBytes: [64 * KiB, MiB], memory: ["pinned"], directions: ["h2d"] });
    expect(ids.filter((id) => !id.includes("blocks"))).toEqual(["h2d pinned 262144"]);
    expect(ids.filter((id) => id.endsWith("loop"))).toHaveLength(2);
  });

  it("are made by kernels on few multiprocessors too if that is asked for", () => {
    const asked = { blockSizesBytes: [4 * KiB], blockSms: [8, 4], directions: ["h2d"] } as const;
    expect(cellsOf(asked).filter((id) => id.includes("kernel"))).toEqual([
      "h2d pinned 16384 blocks-4096-kernel",
      "h2d pinned 16384 blocks-4096-kernel-sms-4",
      "h2d pinned 16384 blocks-4096-kernel-sms-8",
    ]);
  });

  it("are those of threads, with the plain cell that they are held against, if processes alone were asked for", () => {
    const asked = { blockSizesBytes: [4 * KiB], workerKinds: ["process"], memory: ["pinned"] } as const;
    const ids = cellsOf({ ...asked, directions: ["h2d"] });
    expect(ids.slice(0, 3)).toEqual([
      "h2d pinned 16384",
      "h2d pinned 16384 process",
      expect.stringMatching(/loop$/),
    ]);
  });
});

describe("a search for block sizes", () => {
  it("begins with powers of four of pinned memory, in numbers that servers move", () => {
    const { cells, candidates, stopping } = planOf({ blockSizesBytes: "auto", directions: ["h2d"] });
    const blocks = cells.filter(({ blockWay }) => blockWay === "batch");
    expect(blocks.map(({ sizeBytes, blockBytes }) => [sizeBytes / blockBytes!, blockBytes! / KiB])).toEqual(
      expect.arrayContaining([
        [16, 4],
        [64, 64],
        [256, 1024],
      ]),
    );
    expect(blocks).toHaveLength(5 * 3);
    expect(new Set(cells.map(({ memory }) => memory))).toEqual(new Set(["pinned"]));
    expect(stopping.budgetNs).toBe(30e9);
    // Each of four ways and three numbers of blocks, in every size that may be asked for.
    expect(candidates).toHaveLength(4 * 3 * 33);
    expect(planOf({ blockSizesBytes: [4 * KiB] }).candidates).toEqual([]);
    const duringLoads = planOf({ blockSizesBytes: "auto", directions: ["h2d"], besides: ["compute"] }).cells;
    expect(duringLoads.filter(({ beside, blockBytes }) => beside && blockBytes)).toEqual([]);
  });

  it("takes other numbers, ways, memory and time if they are given, and skips what the machine lacks", () => {
    const given = {
      blockCounts: [8],
      blockWays: ["batch", "kernel"],
      memory: ["pinned", "pageable"],
    } as const;
    const asked = { ...given, blockSizesBytes: "auto", directions: ["d2h"], budgetNs: 5e9 } as const;
    const { candidates, stopping } = planOf(asked);
    expect(candidates).toHaveLength(3 * 33);
    expect(stopping.budgetNs).toBe(5e9);
    const without = planOf(asked, { kernelsOff: "built without nvcc" }).candidates;
    expect(new Set(without.map(({ blockWay }) => blockWay))).toEqual(new Set(["batch"]));
  });

  it("reserves what the neediest of its cells takes", () => {
    const given = { directions: ["h2d"], memory: ["pinned"], blockWays: ["batch"] } as const;
    const searched = planOf({ ...given, blockSizesBytes: "auto", blockCounts: [256] });
    for (const cell of searched.candidates) {
      const alone = planOf({ ...given, cells: [cell.id] });
      expect(searched.arenas.device.chunkBytes).toBeGreaterThanOrEqual(alone.arenas.device.chunkBytes);
      const fitting = Math.floor(searched.arenas.device.chunkBytes / cell.sizeBytes);
      expect(searched.arenas.device.chunksOfWorker[0]! * fitting).toBeGreaterThanOrEqual(
        cell.buffersPerWorker,
      );
    }
  });
});

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

describe("a machine that lacks something", () => {
  const asked = {
    blockSizesBytes: [4 * KiB],
    memory: ["pinned"],
    directions: ["h2d"],
    blockSms: [8],
  } as const;

  it("skips the kernel and what it scatters by one, if kernels are off", () => {
    expect(reasonsOf(asked, { kernelsOff: "built without nvcc" })).toEqual(
      ["blocks-4096-kernel", "blocks-4096-kernel-sms-8", "blocks-4096-gather"].map((part) => [
        part,
        "it takes a kernel, and kernels are off: built without nvcc",
      ]),
    );
  });

  it("skips batches if the driver has no call for them", () => {
    expect(reasonsOf(asked, { batchCopiesOff: "the driver lacks cuMemcpyBatchAsync" })).toEqual([
      [
        "blocks-4096-batch",
        "a batch copies blocks by one call of the driver: the driver lacks cuMemcpyBatchAsync",
      ],
    ]);
  });

  it("skips kernels of a device that cannot map the host's memory, or has fewer multiprocessors", () => {
    expect(reasonsOf(asked, { devices: [{ ...h200, canMapHostMemory: false }] })).toEqual(
      ["blocks-4096-kernel", "blocks-4096-kernel-sms-8"].map((part) => [
        part,
        "device 0 (NVIDIA H200) cannot map host memory",
      ]),
    );
    expect(reasonsOf(asked, { devices: [{ ...h200, multiprocessors: 4 }] })).toEqual([
      ["blocks-4096-kernel-sms-8", "device 0 (NVIDIA H200) has fewer than 8 multiprocessors: 4"],
    ]);
    expect(reasonsOf(asked, { devices: [{ ...h200, multiprocessors: 8 }] })).toEqual([]);
  });
});

describe("what blocks take", () => {
  const of = (changes: object) => planOf({ blockSizesBytes: [4 * KiB], directions: ["h2d"], ...changes });

  it("is a staging ring for each worker that gathers, and as much of the device's memory", () => {
    const { arenas, estimate } = of({ memory: ["pinned"], workers: [2] });
    expect(arenas.staging).toMatchObject({ workers: 2, slots: 3, chunkBytes: 2 * MiB });
    expect(arenas.gatherBytes).toBe(2 * 3 * 2 * MiB);
    const { estimate: withoutKernels } = planOf(
      { blockSizesBytes: [4 * KiB], directions: ["h2d"], memory: ["pinned"], workers: [2] },
      { kernelsOff: "none" },
    );
    expect(estimate.deviceBytes - withoutKernels.deviceBytes).toBe(12 * MiB);
    expect(estimate.pinnedBytes - withoutKernels.pinnedBytes).toBe(12 * MiB + arenas.blocks.listed * 16);
  });

  it("is a list of all blocks in pinned memory, half as much as blocks of 32 bytes, which counts towards the limit", () => {
    const needOf = (blockBytes: number) => {
      const { arenas, estimate } = of({
        blockSizesBytes: [blockBytes],
        blockCounts: [(16 * MiB) / blockBytes],
        memory: ["pinned"],
        maxPinnedBytes: 8 * GiB,
      });
      return { ...arenas.blocks, pinned: estimate.pinnedBytes };
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

  it("is the sum over the workers, each with the lists of the neediest cell that it takes part in", () => {
    const blocksOf = (workers: readonly number[]) =>
      of({ memory: ["pinned"], workers, maxPinnedBytes: 64 * GiB }).arenas.blocks;
    const [one, four, both] = [blocksOf([1]), blocksOf([4]), blocksOf([1, 4])];
    // Many workers share the cold pool, of which one worker has all.
    expect(one.all).toBeGreaterThan(four.all / 4);
    expect(both.all).toBe(one.all + (3 * four.all) / 4);
    expect(both.listed).toBe(one.listed + (3 * four.listed) / 4);
  });

  it("is of both directions at once twice that of one, and a spare buffer each if every copy is compared", () => {
    const needOf = (changes: object) => {
      const { arenas } = of({ memory: ["pinned"], maxPinnedBytes: 64 * GiB, ...changes });
      return { rings: arenas.staging!.workers, gather: arenas.gatherBytes, ...arenas.blocks };
    };
    const { rings, gather, listed, all } = needOf({});
    const both = needOf({ directions: ["bidir"] });
    expect(both).toEqual({ rings: 2 * rings, gather: 2 * gather, listed: 2 * listed, all: 2 * all });
    const spare = needOf({ directions: ["bidir"], verify: "every" });
    expect(spare).toEqual({ ...both, listed: both.listed + 2 * 4096, all: both.all + 2 * 4096 });
  });

  it("is longer the smaller the blocks are: a loop takes a call each", () => {
    const timeOf = (blockBytes: number) => {
      const cells = [`d0/h2d/pinned/${64 * MiB}/w1/throughput/wall/cold/blocks-${blockBytes}-loop`];
      return planOf({ cells, samplesPerCell: 6 }).estimate.measuringNs;
    };
    // 16384 calls of about 3 µs a copy, six samples and their warm-ups, against 64.
    expect(timeOf(4 * KiB) - timeOf(MiB)).toBeGreaterThan(6 * 16_000 * 2.5e3 - 6 * 5e6);
  });
});
