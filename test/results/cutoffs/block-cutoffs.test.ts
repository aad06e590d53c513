import { describe, expect, it } from "vitest";
import {
  type BlockCell,
  blockColumns,
  cutoffsOf,
  findBlockCutoffs,
  sizesToMeasure,
  verdictsOf,
} from "../../../src/results/cutoffs/block-cutoffs.js";
import { blockCutoffsSchema, coarseBytes, latticeBytes } from "../../../src/results/cutoffs/cutoff-schema.js";
import type { BlockWay } from "../../../src/settings/choices.js";
import { buildCell, KiB, MiB } from "../../helpers/result-document.js";
import { seeded } from "../../helpers/seeded.js";

/** GB/s of a copy method at a block size. */
type Rates = Partial<Record<BlockWay, (bytes: number) => number>>;

interface Machine {
  rates: Rates;
  /** Relative noise of a median, and the half-width that its interval has. */
  noise?: number;
  halfWidth?: number;
  seed?: number;
  counts?: readonly number[];
}

/** The cells that a search measures on a machine with these rates. */
function search({ rates, noise = 0, halfWidth = 0.01, seed = 1, counts = [64] }: Machine): BlockCell[] {
  const { uniform } = seeded(seed);
  const cells: BlockCell[] = [];
  const measure = (blockBytes: number, count: number, name: string) => {
    const blockWay = name as BlockWay;
    const GBps = rates[blockWay]!(blockBytes) * (1 + noise * (2 * uniform() - 1));
    const blocks = { blockBytes, blockWay };
    const part = { sizeBytes: blockBytes * count, memory: "pinned", relativeHalfWidth: halfWidth } as const;
    cells.push(buildCell({ ...part, ...blocks, GBps }));
  };
  for (const count of counts)
    for (const bytes of coarseBytes) for (const name of Object.keys(rates)) measure(bytes, count, name);
  for (let generation = 0; ; ++generation) {
    expect(generation, "the search ends").toBeLessThan(10);
    const asked = blockColumns(cells).flatMap((column) =>
      sizesToMeasure(column).map((size) => ({ ...size, blockCount: column.blockCount })),
    );
    if (asked.length === 0) return cells;
    for (const { bytes, ways, blockCount } of asked) {
      for (const { blockWay } of ways) measure(bytes, blockCount, blockWay!);
    }
  }
}

const foundIn = (machine: Machine) =>
  blockColumns(search(machine)).map((column) => cutoffsOf(verdictsOf(column)));

/** A batch that is slow below this size, and a kernel of constant speed. */
const cliff = (atBytes: number): Rates => ({
  batch: (bytes) => (bytes < atBytes ? 10 : 54),
  kernel: () => 30,
});

describe("the block sizes in a search for cut-offs", () => {
  it("are four an octave from 4 KiB to 1 MiB, and powers of four at first", () => {
    expect(latticeBytes).toHaveLength(33);
    expect(latticeBytes.slice(0, 6).map((bytes) => bytes / KiB)).toEqual([4, 5, 6, 7, 8, 10]);
    expect(latticeBytes).toContain(28 * KiB);
    expect(latticeBytes.at(-1)).toBe(MiB);
    expect(coarseBytes.map((bytes) => bytes / KiB)).toEqual([4, 16, 64, 256, 1024]);
  });

  it("halve the gap in which the best method changes, measuring only methods that may be best", () => {
    const rates = { ...cliff(48 * KiB), loop: () => 2, gather: () => 8 };
    const sizes = [...new Set(search({ rates }).map(({ blockBytes }) => blockBytes! / KiB))];
    expect(sizes).toEqual([4, 16, 64, 256, 1024, 32, 48, 40]);
    const fine = search({ rates }).filter(({ blockBytes }) => !coarseBytes.includes(blockBytes!));
    expect(new Set(fine.map(({ blockWay }) => blockWay))).toEqual(new Set(["batch", "kernel"]));
  });

  it("are only the first five if one method is the fastest everywhere", () => {
    expect(search({ rates: { batch: () => 10, kernel: () => 50 } })).toHaveLength(2 * coarseBytes.length);
  });

  it("close in on both ends of a range in which no method is faster", () => {
    const rates: Rates = {
      batch: (bytes) => (bytes < 24 * KiB ? 10 : bytes < 200 * KiB ? 30 : 50),
      kernel: () => 30,
    };
    expect(foundIn({ rates })).toEqual([
      [expect.objectContaining({ leastBytes: 20 * KiB, mostBytes: 224 * KiB })],
    ]);
  });
});

it("cut-offs are ordered by device, direction, memory, workers and number of blocks", () => {
  const orders = [
    { device: 0 },
    { blockBytes: 2 * KiB, sizeBytes: 128 * KiB },
    { workers: 2 },
    { memory: "staged" },
    { direction: "d2h" },
    { device: 1 },
  ] as const;
  const cells = orders.map((part) =>
    buildCell({ ...{ GBps: 20, memory: "pinned", blockWay: "loop", blockBytes: 4 * KiB }, ...part }),
  );
  const keysOf = (some: BlockCell[]) =>
    blockColumns(some).map(({ sizes: _, ...column }) => Object.values(column).join("/"));
  expect(keysOf(cells.toReversed())).toEqual(keysOf(cells));
  expect(keysOf(cells)).toHaveLength(orders.length);
});

describe("a cut-off between two copy methods", () => {
  it.each([4.5, 6, 16, 17, 28, 48, 64, 100, 256, 300, 512, 900])(
    "at %d KiB lies in the interval that is found; below 5 and above 896 KiB at most one is found",
    (atKiB) => {
      for (let seed = 1; seed <= 20; ++seed) {
        const atBytes = atKiB * KiB;
        const [cutoffs] = foundIn({ rates: cliff(atBytes), noise: 0.05, halfWidth: 0.06, seed });
        // At the ends of the grid a single size is not taken for a change.
        if (atKiB < 5 || atKiB > 896) {
          expect(cutoffs!.length).toBeLessThanOrEqual(1);
          continue;
        }
        expect(cutoffs, `seed ${seed}`).toHaveLength(1);
        const { leastBytes, mostBytes, bytes, below, above } = cutoffs![0]!;
        expect(leastBytes).toBeLessThan(atBytes);
        expect(mostBytes).toBeGreaterThanOrEqual(atBytes);
        // As narrow as the grid of sizes.
        expect(mostBytes / leastBytes).toBeLessThanOrEqual(1.25);
        expect(bytes % KiB).toBe(0);
        expect([below.cell.blockWay, above.cell.blockWay]).toEqual(["kernel", "batch"]);
      }
    },
  );

  it("whose rates cross slowly lies in its interval despite noise", () => {
    // A block costs a batch as much as 16 KiB on the link, so that it passes the kernel at 24 KiB.
    const rates: Rates = { batch: (bytes) => (50 * bytes) / (bytes + 16 * KiB), kernel: () => 30 };
    let [inside, told] = [0, 0];
    for (let seed = 1; seed <= 100; ++seed) {
      const [cutoffs] = foundIn({ rates, noise: 0.03, halfWidth: 0.04, seed });
      for (const { leastBytes, mostBytes } of cutoffs!) {
        ++told;
        if (leastBytes <= 24 * KiB && 24 * KiB <= mostBytes) ++inside;
      }
    }
    expect(told).toBe(100);
    expect(inside).toBe(100);
  });

  it("is claimed in at most one search of 20 if methods are equally fast", () => {
    let claimed = 0;
    for (let seed = 1; seed <= 300; ++seed) {
      // The noise is uniform, and intervals cover 95 % of it.
      const rates: Rates = { batch: () => 40, kernel: () => 40, gather: () => 5 };
      claimed += foundIn({ rates, noise: 0.04, halfWidth: 0.038, seed }).flat().length;
    }
    expect(claimed).toBeLessThanOrEqual(15);
  });

  it("is found separately for each number of blocks", () => {
    const rates: Rates = { batch: (bytes) => (bytes < 32 * KiB ? 5 : 50), kernel: () => 20 };
    const columns = findBlockCutoffs(search({ rates, counts: [256, 16] }));
    expect(columns.map(({ blockCount }) => blockCount)).toEqual([16, 256]);
    for (const column of columns) {
      expect(blockCutoffsSchema.parse(column)).toEqual(column);
      expect(column.cutoffs).toEqual([
        {
          leastBytes: 28 * KiB,
          mostBytes: 32 * KiB,
          bytes: 30 * KiB,
          below: "kernel",
          above: "batch",
        },
      ]);
    }
  });

  it("has an interval that a loop as fast as a batch does not widen", () => {
    const rates: Rates = {
      ...cliff(64 * KiB),
      loop: (bytes) => (bytes < 256 * KiB ? 4 : 54),
    };
    const [cutoffs] = foundIn({ rates });
    expect(cutoffs).toHaveLength(1);
    expect(cutoffs![0]).toMatchObject({ leastBytes: 56 * KiB, mostBytes: 64 * KiB });
  });

  it("is found between a loop and a batch if there is no kernel", () => {
    const rates: Rates = { loop: (bytes) => (bytes < 64 * KiB ? 4 : 54), batch: () => 20 };
    const [cutoffs] = foundIn({ rates });
    expect(cutoffs!.map(({ below, above }) => [below.cell.blockWay, above.cell.blockWay])).toEqual([
      ["batch", "loop"],
    ]);
  });

  it("may be one of two, if a method is faster only in between", () => {
    const rates: Rates = {
      batch: (bytes) => (bytes >= 16 * KiB && bytes < 256 * KiB ? 50 : 10),
      kernel: () => 30,
    };
    const [cutoffs] = foundIn({ rates });
    expect(cutoffs!.map(({ mostBytes }) => mostBytes / KiB)).toEqual([16, 256]);
  });

  it("is not found from failed, skipped or wrong copies", () => {
    const cells = search({ rates: cliff(64 * KiB) });
    for (const outcome of ["mismatch", "failed", "skipped"] as const)
      expect(findBlockCutoffs(cells.map((cell) => ({ ...cell, outcome })))).toEqual([]);
    const [alone] = findBlockCutoffs(cells.filter(({ blockWay }) => blockWay === "batch"));
    expect(alone!.cutoffs).toEqual([]);
    // A method alone beats no other.
    expect(new Set(alone!.sizes.map(({ isCertain }) => isCertain))).toEqual(new Set([false]));
  });

  it("needs a method that is faster by 5 %", () => {
    const cellOf = (blockWay: BlockWay, GBps: number) =>
      buildCell({
        ...{ blockBytes: 64 * KiB, sizeBytes: 4 * MiB, memory: "pinned", relativeHalfWidth: 0.0001 },
        ...{ blockWay, GBps },
      });
    const bestOf = (GBps: number) =>
      blockColumns([cellOf("batch", 50), cellOf("kernel", GBps)]).flatMap(verdictsOf)[0]!.best;
    expect([52, 53].map(bestOf)).toEqual([null, "kernel"]);
  });
});
