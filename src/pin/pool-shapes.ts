import { PinbenchError } from "../errors.js";
import { type PoolWay, poolWays } from "../settings/choices.js";
import { formatSize, formatSizeRounded, MiB } from "../settings/units.js";
import { ascending } from "../stats/order-statistics.js";
import type { PoolShape } from "./pinning-document.js";

/** Share of the available memory: other programs cannot use pinned pages. */
const pinnedShareOfAvailable = 1 / 2;

/** Default sizes for a GPU; and for an emulated device, whose figures are not for planning. */
const usualSizes = [1024 * MiB, 16 * 1024 * MiB];
const emulatedSizes = [64 * MiB];

/** If not even the smallest default size fits, it is halved down to this. */
const leastUsualBytes = 16 * MiB;

/** Smallest piece: a huge page. */
export const leastPieceBytes = 2 * MiB;

/** Most bytes to pin: the requested limit within the available memory, or else half of the available memory. */
export function mostPinnedBytes(memoryAvailableBytes: number, asked: number | null): number {
  return Math.min(asked ?? Math.floor(memoryAvailableBytes * pinnedShareOfAvailable), memoryAvailableBytes);
}

interface PoolLimits {
  memoryAvailableBytes: number;
  /** --max-pinned; null without it. */
  askedMaxPinnedBytes: number | null;
  emulated: boolean;
}

/**
 * The sizes to try, ascending, and which of the default ones are left out. Throws a PinbenchError if requested sizes
 * exceed the limit, or nothing fits.
 */
export function poolSizes(
  asked: readonly number[] | null,
  { memoryAvailableBytes, askedMaxPinnedBytes, emulated }: PoolLimits,
): { sizesBytes: number[]; omitted: string[] } {
  const limitBytes = mostPinnedBytes(memoryAvailableBytes, askedMaxPinnedBytes);
  const origin =
    askedMaxPinnedBytes === null || askedMaxPinnedBytes > memoryAvailableBytes
      ? `${askedMaxPinnedBytes === null ? "half of " : ""}the ${formatSizeRounded(memoryAvailableBytes, Math.floor)} of memory available`
      : "--max-pinned";
  const limit = `the limit of ${formatSizeRounded(limitBytes, Math.floor)} (${origin})`;
  if (asked !== null) {
    const tooSmall = asked.find((sizeBytes) => sizeBytes < leastPieceBytes);
    if (tooSmall !== undefined) {
      throw new PinbenchError("usage", `${formatSize(tooSmall)} is too small for a pool.`, {
        hint: `Ask for at least ${formatSize(leastPieceBytes)}; pinbench run times single buffers of any size.`,
      });
    }
    const beyond = asked.find((sizeBytes) => sizeBytes > limitBytes);
    if (beyond === undefined) return { sizesBytes: [...asked], omitted: [] };
    throw new PinbenchError("limit", `A pool of ${formatSize(beyond)} would be above ${limit}.`, {
      hint: "Ask for smaller sizes, free memory, or raise the limit with --max-pinned.",
    });
  }
  const usual = emulated ? emulatedSizes : usualSizes;
  const fitting = usual.filter((sizeBytes) => sizeBytes <= limitBytes);
  const omitted = usual
    .filter((sizeBytes) => sizeBytes > limitBytes)
    .map((sizeBytes) => `a pool of ${formatSize(sizeBytes)}: above ${limit}`);
  if (fitting.length > 0) return { sizesBytes: fitting, omitted };
  for (let sizeBytes = usual[0]! / 2; sizeBytes >= leastUsualBytes; sizeBytes /= 2) {
    if (sizeBytes <= limitBytes) return { sizesBytes: [sizeBytes], omitted };
  }
  throw new PinbenchError("limit", `Not even ${formatSize(leastUsualBytes)} can be pinned: ${limit}.`, {
    hint: "Free memory, or raise the limit with --max-pinned.",
  });
}

/** What the request says of shapes. */
export interface ShapeRequest {
  /** Whether another process is watched meanwhile. */
  stalls: boolean;
  /** Null for one, and one per CPU. */
  threads: readonly number[] | null;
}

export interface PoolResources {
  cpusUsable: number;
  /** In hugetlbfs; null if the kernel has none. */
  hugetlbFreeBytes: number | null;
}

/**
 * Ways to obtain pools of a size, the simple ones first: in one piece, whose pages several threads touch; and in
 * several pieces, obtained by several threads. cuMemHostAlloc in one piece needs one thread. If hugetlbfs has too few
 * pages, one attempt shows that.
 */
export function poolShapes(
  sizeBytes: number,
  { cpusUsable, hugetlbFreeBytes }: PoolResources,
  request: ShapeRequest,
): PoolShape[] {
  const threads = request.threads ?? [...new Set([1, cpusUsable])];
  const pieces = piecesOf(sizeBytes, threads, request);
  const shapes = poolWays.flatMap((way) => {
    if (way === "register-hugetlb" && (hugetlbFreeBytes ?? 0) < sizeBytes) {
      return [{ way, pieces: 1, threads: 1 }];
    }
    return pieces.flatMap((count) =>
      threadsOf(way, count, threads).map((each) => ({ way, pieces: count, threads: each })),
    );
  });
  return [...new Map(shapes.map((shape) => [shapeId(shape), shape])).values()];
}

/** If other processes are watched: their stalls depend on the size of a piece, which one call pins. */
const watchedPieceBytes = [64 * MiB, 256 * MiB, 1024 * MiB];

/** The numbers of pieces, ascending: one, one per thread, and those of watched pools, if they are not too small. */
function piecesOf(
  sizeBytes: number,
  threads: readonly number[],
  { stalls }: ShapeRequest,
): readonly number[] {
  const watched = stalls ? watchedPieceBytes.map((pieceBytes) => Math.ceil(sizeBytes / pieceBytes)) : [];
  const several = [Math.max(...threads), ...watched].filter((count) => sizeBytes / count >= leastPieceBytes);
  return ascending([1, ...several]);
}

/** One thread for several pieces shows nothing, unless only one may be used. */
function threadsOf(way: PoolWay, pieces: number, threads: readonly number[]): readonly number[] {
  if (pieces === 1) return way === "host-alloc" ? [1] : threads;
  const several = threads.filter((count) => count > 1);
  return (several.length > 0 ? several : threads).map((count) => Math.min(count, pieces));
}

/** "register-huge/pieces-16/threads-16". */
export function shapeId({ way, pieces, threads }: PoolShape): string {
  return `${way}/pieces-${pieces}/threads-${threads}`;
}

/** Largest copy: few calls for the driver, and enough copies for a median. */
const mostCopyBytes = 256 * MiB;

/**
 * The size of copies over a pool: at most a piece, whole huge pages, and at most an eighth of the pool, except for
 * small ones.
 */
export function copyBytesOf(sizeBytes: number, pieces: number): number {
  const pieceBytes = Math.floor(sizeBytes / pieces / leastPieceBytes) * leastPieceBytes;
  const eighth = Math.floor(sizeBytes / 8 / leastPieceBytes) * leastPieceBytes;
  return Math.max(leastPieceBytes, Math.min(pieceBytes, eighth, mostCopyBytes));
}
