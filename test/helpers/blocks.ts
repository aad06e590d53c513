import type { CellResult } from "../../src/results/cell-schema.js";
import type { BlockWay } from "../../src/settings/choices.js";
import { buildCell, buildDistribution, type CellPart, KiB, MiB } from "./result-document.js";

/** GB/s and host ns per block of each way; null for a way that was not measured. */
export type BlockRates = Partial<Record<BlockWay, readonly [GBps: number, hostNs: number] | null>>;

/** Copies of `count` blocks in one piece and in each way of `rates`; those of both directions are their sums. */
export function buildBlocks(
  blockBytes: number,
  count: number,
  onePieceGBps: number,
  rates: BlockRates,
  part: CellPart = {},
): CellResult[] {
  const whole = { ...part, sizeBytes: blockBytes * count };
  const rate = (GBps: number) =>
    part.direction === "bidir" ? { h2d: GBps / 2, d2h: GBps / 2, sum: GBps } : GBps;
  const ways = Object.entries(rates).flatMap(([way, figures]): CellResult[] => {
    if (figures === null || figures === undefined) return [];
    const [GBps, hostNs] = figures;
    const blocks = { blockBytes, blockWay: way as BlockWay };
    const hostNsPerBlock = buildDistribution(hostNs);
    return [buildCell({ ...whole, ...blocks, GBps: rate(GBps), result: { hostNsPerBlock, ...part.result } })];
  });
  return [buildCell({ ...whole, GBps: rate(onePieceGBps) }), ...ways];
}

/** Copies of blocks from 4 KiB to 1 MiB with rates like those of an H200 over PCIe 5.0 x16. */
export function blockCells(): CellResult[] {
  const h2d = { direction: "h2d", memory: "pinned" } as const;
  const d2h = { direction: "d2h", memory: "pinned" } as const;
  const pageable = { direction: "h2d", memory: "pageable", relativeHalfWidth: 0.03 } as const;
  const cells = [
    ...buildBlocks(
      4 * KiB,
      4096,
      55.1,
      {
        loop: [1.41, 2850],
        batch: [2.83, 1420],
        kernel: [49.3, 5.2],
        gather: [8.82, 455],
      },
      h2d,
    ),
    ...buildBlocks(
      64 * KiB,
      4096,
      55.3,
      {
        loop: [16.4, 2890],
        batch: [38.4, 1690],
        kernel: [50.9, 5.3],
        gather: [5.53, 11800],
      },
      h2d,
    ),
    ...buildBlocks(
      MiB,
      256,
      55.3,
      {
        loop: [51.9, 19500],
        batch: [54.1, 2740],
        kernel: [51.2, 80],
        gather: [5.84, 179000],
      },
      h2d,
    ),
    ...buildBlocks(
      4 * KiB,
      4096,
      54.9,
      {
        loop: [1.72, 2310],
        batch: [4.91, 820],
        kernel: [44.1, 5.4],
        gather: [7.9, 512],
      },
      d2h,
    ),
    ...buildBlocks(
      64 * KiB,
      4096,
      55.2,
      {
        loop: [17.6, 2320],
        batch: [41.0, 1580],
        kernel: [47.3, 5.4],
        gather: [8.1, 8020],
      },
      d2h,
    ),
    ...buildBlocks(
      MiB,
      256,
      55.2,
      {
        loop: [47.5, 21300],
        batch: [54.1, 2700],
        kernel: [48.2, 82],
        gather: [8.4, 124000],
      },
      d2h,
    ),
    ...buildBlocks(
      4 * KiB,
      4096,
      10.6,
      { loop: [1.52, 2690], batch: [1.6, 2540], gather: [8.82, 455] },
      pageable,
    ),
    ...buildBlocks(
      64 * KiB,
      4096,
      10.7,
      { loop: [4.8, 13600], batch: [4.83, 13500], gather: [5.5, 11800] },
      pageable,
    ),
    ...buildBlocks(
      MiB,
      256,
      10.7,
      { loop: [8.52, 122000], batch: [8.54, 122000], gather: [5.8, 179000] },
      pageable,
    ),
  ];
  // The copy in one piece of equal bytes is one cell.
  return [...new Map(cells.map((cell) => [cell.id, cell])).values()];
}
