import type { CellResult } from "../cell-schema.js";
import { claimedBlockRate, type IntervalEstimate } from "../claimed-interval.js";

/** What of a cell tells how fast a way copies blocks. */
export type BlockCell = Pick<
  CellResult,
  | "device"
  | "direction"
  | "memory"
  | "sizeBytes"
  | "workers"
  | "mode"
  | "timer"
  | "cache"
  | "outcome"
  | "stats"
  | "blockBytes"
  | "blockWay"
  | "blockSms"
>;

/** A way to copy blocks, and how fast it may be claimed to be, in GB/s. */
export interface RatedWay {
  cell: BlockCell;
  rate: IntervalEstimate;
}

/** The ways in which blocks of one size were copied. */
export interface RatedSize {
  bytes: number;
  ways: RatedWay[];
}

/** Copies that differ in the size of a block and in the way alone; sizes ascend. */
export interface BlockColumn {
  device: number;
  direction: "h2d" | "d2h";
  memory: CellResult["memory"];
  workers: number;
  blockCount: number;
  sizes: RatedSize[];
}

/** The columns of cells that were measured, in the order of device, direction, memory, workers and count. */
export function blockColumns(cells: readonly BlockCell[]): BlockColumn[] {
  const measured = cells.filter(
    ({ outcome, stats }) =>
      stats.length > 0 && outcome !== "mismatch" && outcome !== "failed" && outcome !== "skipped",
  );
  const columns = new Map<string, BlockColumn>();
  for (const cell of measured) {
    const { device, memory, workers, sizeBytes, blockBytes } = cell;
    if (blockBytes === undefined) continue;
    const direction = cell.direction === "d2h" ? "d2h" : "h2d";
    const rate = claimedBlockRate(cell, cell.stats[0]!.bandwidthGBps, fastestLike(cell, measured));
    if (rate === null) continue;
    const blockCount = sizeBytes / blockBytes;
    const key = [device, direction, memory, workers, blockCount].join("/");
    const column = columns.get(key) ?? { device, direction, memory, workers, blockCount, sizes: [] };
    columns.set(key, column);
    const size = column.sizes.find(({ bytes }) => bytes === blockBytes);
    if (size === undefined) column.sizes.push({ bytes: blockBytes, ways: [{ cell, rate }] });
    else size.ways.push({ cell, rate });
  }
  const ordered = [...columns.values()].sort(
    (a, b) =>
      a.device - b.device ||
      Number(a.direction === "d2h") - Number(b.direction === "d2h") ||
      a.memory.localeCompare(b.memory) ||
      a.workers - b.workers ||
      a.blockCount - b.blockCount,
  );
  for (const { sizes } of ordered) sizes.sort((a, b) => a.bytes - b.bytes);
  return ordered;
}

/** GB/s that the link carries at least: those of the fastest copy in that direction. */
function fastestLike({ device, direction, memory }: BlockCell, cells: readonly BlockCell[]): number {
  const alike = cells.filter(
    (one) => one.device === device && one.direction === direction && one.memory === memory,
  );
  return Math.max(...alike.map(({ stats }) => stats[0]!.bandwidthGBps.median));
}
