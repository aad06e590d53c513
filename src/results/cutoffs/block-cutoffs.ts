import type { BlockWay } from "../../settings/choices.js";
import { KiB } from "../../settings/units.js";
import type { CellResult } from "../cell-schema.js";
import { figureInterval, type IntervalEstimate, orderOf } from "../figure-interval.js";
import { type BlockCutoffs, latticeBytes, latticeIndex } from "./cutoff-schema.js";

/* Block sizes at which the best method changes: which sizes to measure next, and what the measured sizes show. */

interface SizeVerdict {
  bytes: number;
  fastest: RatedWay;
  /** The best contender; null if none is clearly better than all others. */
  best: string | null;
  /** The fastest method of each contender that may be the best. */
  rivals: RatedWay[];
}

interface Cutoff {
  /** The largest size at which the first method is clearly the best, and the smallest for the second. */
  leastBytes: number;
  mostBytes: number;
  /** The size to configure: the geometric mean of both, in whole KiB. */
  bytes: number;
  below: RatedWay;
  above: RatedWay;
}

/**
 * The part that moves the bytes. Servers choose between parts, so two methods of one part compete only if no
 * other part was measured: for large blocks a loop and a batch are equal.
 */
const moverOf: Readonly<Record<BlockWay, string>> = {
  loop: "copy engine",
  batch: "copy engine",
  kernel: "kernel",
  gather: "CPU",
};

export function verdictsOf({ sizes }: Pick<BlockColumn, "sizes">): SizeVerdict[] {
  const ways = sizes.flatMap((size) => size.ways.map(({ cell }) => cell.blockWay!));
  const hasMovers = new Set(ways.map((way) => moverOf[way])).size > 1;
  const contenderOf = ({ cell }: RatedWay) => (hasMovers ? moverOf[cell.blockWay!] : cell.blockWay!);
  return sizes.map((size) => verdictOf(size, contenderOf));
}

function verdictOf({ bytes, ways }: RatedSize, contenderOf: (way: RatedWay) => string): SizeVerdict {
  const ranked = ways.toSorted((a, b) => b.rate.median - a.rate.median);
  const firsts = [...new Map(ranked.toReversed().map((way) => [contenderOf(way), way])).values()].sort(
    (a, b) => b.rate.median - a.rate.median,
  );
  const fastest = firsts[0]!;
  const isBehind = (way: RatedWay) => orderOf(fastest.rate, way.rate) === "above";
  const rivals = firsts.filter((way) => way === fastest || !isBehind(way));
  const isDecided = rivals.length === 1 && firsts.length > 1;
  return { bytes, fastest, best: isDecided ? contenderOf(fastest) : null, rivals };
}

interface SizeToMeasure {
  bytes: number;
  ways: BlockCell[];
}

/**
 * Lattice sizes that halve each gap in which the best method changes, with the methods that may be the best there.
 * Empty if the gaps are as narrow as the lattice, or no verdicts differ.
 */
export function sizesToMeasure(column: Pick<BlockColumn, "sizes">): SizeToMeasure[] {
  const verdicts = verdictsOf(column);
  const decided = verdicts.flatMap(({ best }, i) => (best === null ? [] : [i]));
  const gaps = decided.slice(1).flatMap((end, i) => {
    const start = decided[i]!;
    if (verdicts[start]!.best === verdicts[end]!.best) return [];
    // Undecided sizes have a border on both sides; measuring their middle would show nothing new.
    const borders = end - start === 1 ? [start] : [start, end - 1];
    return borders.map((i) => [verdicts[i]!, verdicts[i + 1]!] as const);
  });
  return gaps.flatMap(([one, other]) => {
    const [first, last] = [latticeIndex(one.bytes), latticeIndex(other.bytes)];
    if (first < 0 || last - first < 2) return [];
    const ways = [...one.rivals, ...other.rivals].map(({ cell }) => cell);
    const distinct = new Map(ways.map((cell) => [cell.blockWay, cell]));
    return [{ bytes: latticeBytes[Math.floor((first + last) / 2)]!, ways: [...distinct.values()] }];
  });
}

export function cutoffsOf(verdicts: readonly SizeVerdict[]): Cutoff[] {
  const decided = withoutIslands(verdicts.filter(({ best }) => best !== null));
  return decided.slice(1).flatMap((above, i): Cutoff[] => {
    const below = decided[i]!;
    if (below.best === above.best) return [];
    const [leastBytes, mostBytes] = [below.bytes, above.bytes];
    const bytes = Math.round(Math.sqrt(leastBytes * mostBytes) / KiB) * KiB;
    return [{ leastBytes, mostBytes, bytes, below: below.fastest, above: above.fastest }];
  });
}

/**
 * Drops single sizes that contradict the measured sizes next to them in the lattice (one at an end). Among
 * many sizes this happens by chance, and a real change is wider than one step.
 */
function withoutIslands(decided: readonly SizeVerdict[]): SizeVerdict[] {
  const isNext = (one: SizeVerdict, other: SizeVerdict) =>
    latticeIndex(other.bytes) - latticeIndex(one.bytes) <= 1;
  return decided.filter((verdict, i) => {
    const [before, after] = [decided[i - 1], decided[i + 1]];
    const differs = (other: SizeVerdict) => other.best !== verdict.best;
    const isCutOffBelow = before === undefined || (differs(before) && isNext(before, verdict));
    const isCutOffAbove = after === undefined || (differs(after) && isNext(verdict, after));
    const isAlone = before === undefined && after === undefined;
    return isAlone || !(isCutOffBelow && isCutOffAbove);
  });
}

export function findBlockCutoffs(cells: readonly BlockCell[]): BlockCutoffs[] {
  return blockColumns(cells).map((column) => {
    const { sizes: _, ...route } = column;
    const verdicts = verdictsOf(column);
    return {
      ...route,
      sizes: verdicts.map(({ bytes, fastest, best }) => ({
        blockBytes: bytes,
        fastest: fastest.cell.blockWay!,
        isCertain: best !== null,
      })),
      cutoffs: cutoffsOf(verdicts).map(({ below, above, ...sizes }) => ({
        ...sizes,
        below: below.cell.blockWay!,
        above: above.cell.blockWay!,
      })),
    };
  });
}

export type BlockCell = Pick<
  CellResult,
  | "device"
  | "direction"
  | "memory"
  | "sizeBytes"
  | "workers"
  | "mode"
  | "cache"
  | "outcome"
  | "stats"
  | "blockBytes"
  | "blockWay"
>;

interface RatedWay {
  cell: BlockCell;
  rate: IntervalEstimate;
}

interface RatedSize {
  bytes: number;
  ways: RatedWay[];
}

/** Copies that differ only in block size and method; sizes ascend. */
export interface BlockColumn {
  device: number;
  direction: "h2d" | "d2h";
  memory: CellResult["memory"];
  workers: number;
  blockCount: number;
  sizes: RatedSize[];
}

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
    const rate = figureInterval(cell.stats[0]!.bandwidthGBps);
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
