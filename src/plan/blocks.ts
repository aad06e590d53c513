import { PinbenchError } from "../errors.js";
import type { Cell } from "../results/cell-schema.js";
import { coarseBytes, latticeBytes } from "../results/cutoffs/cutoff-schema.js";
import {
  type BlockWay,
  blockWays,
  copiesHostMemory,
  inOrder,
  isBatch,
  type Memory,
  usualBlockWays,
} from "../settings/choices.js";
import type { Preset } from "../settings/presets.js";
import type { RunSettings } from "../settings/table.js";
import { formatSize, MiB } from "../settings/units.js";
import { ascending } from "../stats/order-statistics.js";
import type { PlanDevice, PlanFacts } from "./facts.js";

/*
 * Copies of many blocks that are scattered on both sides: which of them a plan has.
 */

/** The blocks of a copy. */
export interface Blocks {
  /** Size of one block. */
  bytes: number;
  /** Size of the whole copy. */
  sizeBytes: number;
}

/** The axes of copies in blocks. */
export interface BlockAxes {
  blocks: readonly Blocks[];
  blockWays: readonly BlockWay[];
  /** Numbers of multiprocessors for kernels, in addition to all of them. */
  blockSms: readonly number[];
  /** Whether they are also copied during loads: a search compares ways without. */
  blocksDuringLoads: boolean;
}

/** A requested variant of plain cells, and the cells for which it is possible. */
export interface VariantCheck {
  flag: string;
  isAsked: boolean;
  isThere(cell: Cell): boolean;
  what: string;
}

/** Kernels copy 16 bytes at a time. */
const blockUnitBytes = 16;

/** Default number of blocks, within this size: larger copies of larger blocks show no more. */
const usualCount = 4096;
const usualCopyBytes = 256 * MiB;

/** The lists of settings that say which blocks are copied, by what is in them; null is for the plan to say. */
export function blockLists({ blockSizesBytes, blockCounts, blockWays: ways, blockSms }: RunSettings) {
  return {
    blocks: blockSizesBytes,
    "block counts": blockCounts,
    "ways to copy blocks": ways,
    multiprocessors: blockSms,
  };
}

/** A plan's copies in these blocks. */
export function blockAxes(blocks: readonly Blocks[], settings: RunSettings): BlockAxes {
  const { blockWays: ways, blockSms } = settings;
  return {
    blocks,
    blockWays: inOrder(blockWays, ways ?? usualBlockWays),
    blockSms: ascending(blockSms ?? []),
    blocksDuringLoads: blocks.length > 0 && !searchesBlocks(settings),
  };
}

/**
 * The requested copies in blocks, ascending; empty without any. Throws a usage error for impossible blocks, and for
 * settings that make no sense with or without them.
 */
export function blocksAskedFor(settings: RunSettings): Blocks[] {
  const { blockSizesBytes, blockCounts, blockWays: ways, blockSms, sizesBytes } = settings;
  if (blockSizesBytes === null) {
    const [flag] = [
      ...(blockCounts === null ? [] : ["--block-count"]),
      ...(ways === null ? [] : ["--block-ways"]),
      ...(blockSms === null ? [] : ["--block-sms"]),
    ];
    if (flag === undefined) return [];
    throw new PinbenchError("usage", `${flag} has no effect without blocks.`, {
      hint: "Add their sizes, for example --blocks 4KiB,64KiB,1MiB.",
    });
  }
  if (sizesBytes !== null) {
    throw new PinbenchError(
      "usage",
      "--blocks and --sizes exclude each other: with blocks, a copy is as large as its blocks together.",
      { hint: "Leave --sizes out; --block-count sets the number of blocks in a copy." },
    );
  }
  for (const count of blockCounts ?? []) checkCount(count);
  if (searchesBlocks(settings)) {
    if (settings.directions?.includes("bidir")) {
      throw new PinbenchError("usage", "--blocks auto searches h2d and d2h by themselves, not bidir.", {
        hint: "Leave bidir out of --direction, or write sizes of blocks, for example --blocks 4KiB,64KiB,1MiB.",
      });
    }
    return blocksOf(coarseBytes, () => blockCounts ?? searchedCounts);
  }
  const sizes = blockSizesBytes as readonly number[];
  for (const bytes of sizes) checkBlock(bytes);
  return blocksOf(sizes, (bytes) => blockCounts ?? [usualBlocks(bytes)]);
}

function blocksOf(sizes: readonly number[], countsOf: (bytes: number) => readonly number[]): Blocks[] {
  return [...new Set(sizes)]
    .sort((a, b) => a - b)
    .flatMap((bytes) => [...new Set(countsOf(bytes))].map((count) => ({ bytes, sizeBytes: bytes * count })));
}

function usualBlocks(bytes: number): number {
  return Math.max(1, Math.min(usualCount, Math.floor(usualCopyBytes / bytes)));
}

/** More are probably a mistake: listing their addresses alone takes a while. */
const mostBlocks = 1e6;

function checkCount(count: number): void {
  if (Number.isSafeInteger(count) && count >= 1 && count <= mostBlocks) return;
  throw new PinbenchError("usage", `A copy cannot have ${count} blocks: it has from 1 to ${mostBlocks}.`, {
    hint: "Write for example --block-count 16,64,256.",
  });
}

function checkBlock(bytes: number): void {
  if (Number.isSafeInteger(bytes) && bytes >= blockUnitBytes && bytes % blockUnitBytes === 0) return;
  throw new PinbenchError(
    "usage",
    `A block cannot have ${formatSize(bytes)}: its size must be a multiple of ${blockUnitBytes} bytes, the unit of a kernel's copies.`,
    { hint: "Write for example --blocks 4KiB,64KiB,1MiB." },
  );
}

/** Whether to search for the block sizes at which the best way changes. */
export function searchesBlocks({ blockSizesBytes }: Pick<RunSettings, "blockSizesBytes">): boolean {
  return blockSizesBytes === "auto";
}

/** Blocks of a typical server's copy. The largest copies have 256 MiB. */
const searchedCounts = [16, 64, 256];

/** Time for a search: by a plan's estimate the first sizes take about half of it on a GPU. */
export const searchBudgetNs = 30e9;

/** The cells that a search may use: those in blocks, in every size that it knows. */
export function searchedCells<Planned extends Cell>(cells: readonly Planned[]): Planned[] {
  const smallest = cells.filter(({ blockBytes }) => blockBytes === coarseBytes[0]);
  return smallest.flatMap((cell) =>
    latticeBytes.map((bytes) => ({ ...cell, blockBytes: bytes, sizeBytes: bytes * blocksOfCopy(cell) })),
  );
}

/** With blocks, the rest of a preset: the blocks decide what is copied. */
export function presetOfBlocks(preset: Preset, blocks: readonly Blocks[], isSearch: boolean): Preset {
  const { latency: _, togetherMemory: __, ...rest } = preset;
  return {
    ...rest,
    sizesBytes: blocks.map(({ sizeBytes }) => sizeBytes),
    // Servers keep such data in pinned memory.
    memory: isSearch ? ["pinned"] : ["pageable", "pinned"],
    workers: [1],
    directions: ["h2d", "d2h"],
  };
}

/** The ways to copy blocks from each kind of memory: a kernel can only use pinned memory. */
const waysOfMemory: Partial<Record<Memory, readonly BlockWay[]>> = {
  pinned: blockWays,
  pageable: blockWays.filter((way) => way !== "kernel"),
};

/** The cells in blocks for a plain one of the same bytes: every way, and the kernel also on few multiprocessors. */
export function blockCells(plain: Cell, { blocks, blockWays: ways, blockSms }: BlockAxes): Cell[] {
  if (!canBeBlocks(plain)) return [];
  const ofSize = blocks.filter(({ sizeBytes }) => sizeBytes === plain.sizeBytes);
  return ofSize.flatMap(({ bytes: blockBytes }) =>
    inOrder(waysOfMemory[plain.memory]!, ways).flatMap((blockWay): Cell[] => {
      const cell = { ...plain, blockBytes, blockWay };
      return blockWay === "kernel" ? [cell, ...blockSms.map((sms) => ({ ...cell, blockSms: sms }))] : [cell];
    }),
  );
}

/** An upper limit of how many cells blockCells() gives. */
export function mostBlockCells({ blocks, blockWays: ways, blockSms }: BlockAxes): number {
  return blocks.length * (ways.length + blockSms.length);
}

/** The requested flags of blocks, and the cells for which they are possible. */
export function blockChecks({ blocks, blockSms }: BlockAxes): VariantCheck[] {
  return [
    {
      flag: "--blocks",
      isAsked: blocks.length > 0,
      isThere: ({ blockBytes }) => blockBytes !== undefined,
      what: "throughput between pinned or pageable memory and a device, by the wall clock and cold",
    },
    {
      flag: "--block-sms",
      isAsked: blockSms.length > 0,
      isThere: (cell) => cell.blockSms !== undefined,
      what: "kernels that copy blocks of pinned memory",
    },
  ];
}

/** Whether programs copy such cells in blocks. Address lists are made only for the wall clock and the cold cache. */
function canBeBlocks({ direction, memory, mode, timer, cache }: Cell): boolean {
  return (
    copiesHostMemory(direction) &&
    waysOfMemory[memory] !== undefined &&
    mode === "throughput" &&
    timer === "wall" &&
    cache === "cold"
  );
}

/** Why a cell cannot have these blocks, as a clause; null if it can, and for one piece. */
export function problemOfBlocks(cell: Cell): string | null {
  const { blockBytes, blockWay, blockSms, memory, sizeBytes } = cell;
  const { workerKind, together, peer, chunks } = cell;
  if (blockBytes === undefined || blockWay === undefined) return null;
  const isAlone = workerKind !== "process" && (together ?? peer ?? chunks) === undefined;
  if (!isAlone || !canBeBlocks(cell)) {
    return "blocks are copied only by threads, between pinned or pageable memory and a device, for their throughput, by the wall clock, cold";
  }
  if (blockBytes === 0 || blockBytes % blockUnitBytes !== 0 || sizeBytes % blockBytes !== 0) {
    return `blocks are multiples of ${blockUnitBytes} bytes, and a copy is made of whole ones`;
  }
  if (!waysOfMemory[memory]!.includes(blockWay)) return "a kernel copies only blocks of pinned memory";
  if (blockSms !== undefined && (blockWay !== "kernel" || blockSms === 0)) {
    return "only a kernel can keep to some of the multiprocessors, at least one";
  }
  return null;
}

/** Why a device or build cannot copy a cell's blocks; null if it can. */
export function skipReasonOfBlocks(
  { blockWay, blockSms }: Cell,
  { ordinal, name, multiprocessors }: PlanDevice,
  { batchCopiesOff }: PlanFacts,
): string | null {
  if (isBatch(blockWay) && batchCopiesOff !== null)
    return `a batch copies blocks by one call of the driver: ${batchCopiesOff}`;
  if (blockSms !== undefined && blockSms > multiprocessors)
    return `device ${ordinal} (${name}) has fewer than ${blockSms} multiprocessors: ${multiprocessors}`;
  return null;
}

/** Whether a cell gathers its blocks in the slots of the staging rings. */
export function gathersBlocks({ blockWay }: Pick<Cell, "blockWay">): boolean {
  return blockWay === "gather";
}

/** Number of blocks of one copy; 0 for one piece. */
export function blocksOfCopy({ sizeBytes, blockBytes }: Pick<Cell, "sizeBytes" | "blockBytes">): number {
  return blockBytes === undefined ? 0 : sizeBytes / blockBytes;
}

/** The largest part of a copy in whole blocks, at least one, and at most this many bytes. */
export function wholeBlocks(
  { sizeBytes, blockBytes = 1 }: Pick<Cell, "sizeBytes" | "blockBytes">,
  mostBytes: number,
): number {
  return Math.max(1, Math.floor(Math.min(sizeBytes, mostBytes) / blockBytes)) * blockBytes;
}
