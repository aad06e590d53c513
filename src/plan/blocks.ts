import { PinbenchError } from "../errors.js";
import type { Cell } from "../results/cell-schema.js";
import { coarseBytes, latticeBytes } from "../results/cutoffs/cutoff-schema.js";
import { type BlockWay, blockWays, copiesHostMemory, type Memory } from "../settings/choices.js";
import type { Preset } from "../settings/presets.js";
import type { RunSettings } from "../settings/table.js";
import { formatSize, MiB } from "../settings/units.js";
import type { PlanFacts } from "./facts.js";

/* Copies of many blocks that are scattered on both sides: the cells that a plan has. */

interface Blocks {
  bytes: number;
  sizeBytes: number;
}

export interface BlockAxes {
  blocks: readonly Blocks[];
  /** Whether blocks are also copied during loads; a search compares methods without loads. */
  blocksDuringLoads: boolean;
}

/** A requested variant of plain cells, and the cells that can have it. */
export interface VariantCheck {
  flag: string;
  isRequested: boolean;
  isThere(cell: Cell): boolean;
  what: string;
}

/** Kernels copy 16 bytes at a time. */
const blockUnitBytes = 16;

/** Number of blocks in a copy, and its largest size: larger copies show nothing more. */
const usualCount = 4096;
const usualCopyBytes = 256 * MiB;

export function blockAxes(blocks: readonly Blocks[], settings: RunSettings): BlockAxes {
  return {
    blocks,
    blocksDuringLoads: blocks.length > 0 && !searchesBlocks(settings),
  };
}

/**
 * The requested copies in blocks, ascending; empty without any. Throws a usage error for impossible blocks, or settings
 * that contradict them.
 */
export function requestedBlocks(settings: RunSettings): Blocks[] {
  const { blockSizesBytes, sizesBytes } = settings;
  if (blockSizesBytes === null) return [];
  if (sizesBytes !== null) {
    throw new PinbenchError(
      "usage",
      "--blocks and --sizes exclude each other: with blocks, a copy is as large as its blocks together.",
      { hint: "Leave --sizes out." },
    );
  }
  if (searchesBlocks(settings)) {
    if (settings.directions?.includes("bidir")) {
      throw new PinbenchError("usage", "--blocks auto searches h2d and d2h by themselves, not bidir.", {
        hint: "Leave bidir out of --direction, or write sizes of blocks, for example --blocks 4KiB,64KiB,1MiB.",
      });
    }
    return blocksOf(coarseBytes, () => searchedCounts);
  }
  const sizes = blockSizesBytes as readonly number[];
  for (const bytes of sizes) checkBlock(bytes);
  return blocksOf(sizes, (bytes) => [usualBlocks(bytes)]);
}

function blocksOf(sizes: readonly number[], countsOf: (bytes: number) => readonly number[]): Blocks[] {
  return [...new Set(sizes)]
    .sort((a, b) => a - b)
    .flatMap((bytes) => countsOf(bytes).map((count) => ({ bytes, sizeBytes: bytes * count })));
}

function usualBlocks(bytes: number): number {
  return Math.max(1, Math.min(usualCount, Math.floor(usualCopyBytes / bytes)));
}

function checkBlock(bytes: number): void {
  if (Number.isSafeInteger(bytes) && bytes >= blockUnitBytes && bytes % blockUnitBytes === 0) return;
  throw new PinbenchError(
    "usage",
    `A block cannot have ${formatSize(bytes)}: its size must be a multiple of ${blockUnitBytes} bytes, the unit of a kernel's copies.`,
    { hint: "Write for example --blocks 4KiB,64KiB,1MiB." },
  );
}

export function searchesBlocks({ blockSizesBytes }: Pick<RunSettings, "blockSizesBytes">): boolean {
  return blockSizesBytes === "auto";
}

/** Typical numbers of blocks in a server's copy. The largest copies have 256 MiB. */
const searchedCounts = [16, 64, 256];

/** Time for a search. By a plan's estimate, the first sizes take about half of it on a GPU. */
export const searchBudgetNs = 30e9;

export function searchedCells<Planned extends Cell>(cells: readonly Planned[]): Planned[] {
  const smallest = cells.filter(({ blockBytes }) => blockBytes === coarseBytes[0]);
  return smallest.flatMap((cell) =>
    latticeBytes.map((bytes) => ({ ...cell, blockBytes: bytes, sizeBytes: bytes * blocksOfCopy(cell) })),
  );
}

/** The preset without what the blocks determine. */
export function presetOfBlocks(preset: Preset, blocks: readonly Blocks[], isSearch: boolean): Preset {
  const { latency: _, togetherMemory: __, ...rest } = preset;
  return {
    ...rest,
    sizesBytes: blocks.map(({ sizeBytes }) => sizeBytes),
    // Inference servers keep such data in pinned memory.
    memory: isSearch ? ["pinned"] : ["pageable", "pinned"],
    workers: [1],
    directions: ["h2d", "d2h"],
  };
}

/** Methods to copy blocks by kind of memory: a kernel needs pinned memory. */
const waysOfMemory: Partial<Record<Memory, readonly BlockWay[]>> = {
  pinned: blockWays,
  pageable: blockWays.filter((way) => way !== "kernel"),
};

/** Cells with the bytes of a plain cell in blocks, one per method. */
export function blockCells(plain: Cell, { blocks }: BlockAxes): Cell[] {
  if (!canBeBlocks(plain)) return [];
  const ofSize = blocks.filter(({ sizeBytes }) => sizeBytes === plain.sizeBytes);
  return ofSize.flatMap(({ bytes: blockBytes }) =>
    waysOfMemory[plain.memory]!.map((blockWay) => ({ ...plain, blockBytes, blockWay })),
  );
}

export function blockCheck({ blocks }: BlockAxes): VariantCheck {
  return {
    flag: "--blocks",
    isRequested: blocks.length > 0,
    isThere: ({ blockBytes }) => blockBytes !== undefined,
    what: "throughput between pinned or pageable memory and a device, with a cold cache",
  };
}

/** Whether such cells can be copied in blocks. Address lists exist only for a cold cache. */
function canBeBlocks({ direction, memory, mode, cache }: Cell): boolean {
  return (
    copiesHostMemory(direction) &&
    waysOfMemory[memory] !== undefined &&
    mode === "throughput" &&
    cache === "cold"
  );
}

/** Why a cell cannot have these blocks, as a clause; null if it can or has none. */
export function problemOfBlocks(cell: Cell): string | null {
  const { blockBytes, blockWay, memory, sizeBytes } = cell;
  const { workerKind, together, peer, chunks } = cell;
  if (blockBytes === undefined || blockWay === undefined) return null;
  const isAlone = workerKind !== "process" && (together ?? peer ?? chunks) === undefined;
  if (!isAlone || !canBeBlocks(cell)) {
    return "blocks are copied only by threads, between pinned or pageable memory and a device, for their throughput, with a cold cache";
  }
  if (blockBytes === 0 || blockBytes % blockUnitBytes !== 0 || sizeBytes % blockBytes !== 0) {
    return `blocks are multiples of ${blockUnitBytes} bytes, and a copy is made of whole ones`;
  }
  return waysOfMemory[memory]!.includes(blockWay) ? null : "a kernel copies only blocks of pinned memory";
}

/** Why a driver cannot copy a cell's blocks; null if it can. */
export function skipReasonOfBlocks({ blockWay }: Cell, { batchCopiesOff }: PlanFacts): string | null {
  return blockWay === "batch" && batchCopiesOff !== null
    ? `a batch copies blocks by one call of the driver: ${batchCopiesOff}`
    : null;
}

/** Whether a cell gathers its blocks in staging slots. */
export function gathersBlocks({ blockWay }: Pick<Cell, "blockWay">): boolean {
  return blockWay === "gather";
}

export function blocksOfCopy({ sizeBytes, blockBytes }: Pick<Cell, "sizeBytes" | "blockBytes">): number {
  return blockBytes === undefined ? 0 : sizeBytes / blockBytes;
}

/** The largest size in whole blocks up to this many bytes, at least one block. */
export function wholeBlocks(
  { sizeBytes, blockBytes = 1 }: Pick<Cell, "sizeBytes" | "blockBytes">,
  mostBytes: number,
): number {
  return Math.max(1, Math.floor(Math.min(sizeBytes, mostBytes) / blockBytes)) * blockBytes;
}
