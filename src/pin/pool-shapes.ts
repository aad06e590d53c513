import { PinbenchError } from "../errors.js";
import { poolWays } from "../settings/choices.js";
import { formatSize, formatSizeRounded, MiB } from "../settings/units.js";
import type { PoolShape } from "./pinning-document.js";

/** Maximum share of available memory: other programs cannot use pinned pages. */
const pinnedShareOfAvailable = 1 / 2;

/** Default sizes for a GPU, and for the emulated device, whose figures are not for planning. */
const usualSizes = [1024 * MiB, 16 * 1024 * MiB];
const emulatedSizes = [64 * MiB];

/** Smallest pool: a huge page. */
export const leastPoolBytes = 2 * MiB;

/** Maximum bytes to pin: the requested limit within the available memory, or else half of that memory. */
export function mostPinnedBytes(memoryAvailableBytes: number, requested: number | null): number {
  return Math.min(
    requested ?? Math.floor(memoryAvailableBytes * pinnedShareOfAvailable),
    memoryAvailableBytes,
  );
}

interface PoolLimits {
  memoryAvailableBytes: number;
  maxPinnedBytes: number | null;
  emulated: boolean;
}

/**
 * Sizes to try, ascending, and skipped default sizes. Throws a PinbenchError if requested sizes exceed the limit, or
 * nothing fits.
 */
export function poolSizes(
  requested: readonly number[] | null,
  { memoryAvailableBytes, maxPinnedBytes, emulated }: PoolLimits,
): { sizesBytes: number[]; omitted: string[] } {
  const limitBytes = mostPinnedBytes(memoryAvailableBytes, maxPinnedBytes);
  const origin =
    maxPinnedBytes === null || maxPinnedBytes > memoryAvailableBytes
      ? `${maxPinnedBytes === null ? "half of " : ""}the ${formatSizeRounded(memoryAvailableBytes, Math.floor)} of memory available`
      : "--max-pinned";
  const limit = `the limit of ${formatSizeRounded(limitBytes, Math.floor)} (${origin})`;
  const sizesBytes = requested ?? (emulated ? emulatedSizes : usualSizes);
  const tooSmall = sizesBytes.find((sizeBytes) => sizeBytes < leastPoolBytes);
  if (tooSmall !== undefined) {
    throw new PinbenchError("usage", `${formatSize(tooSmall)} is too small for a pool.`, {
      hint: `Ask for at least ${formatSize(leastPoolBytes)}; pinbench run times single buffers of any size.`,
    });
  }
  const fitting = sizesBytes.filter((sizeBytes) => sizeBytes <= limitBytes);
  const beyond = sizesBytes.filter((sizeBytes) => sizeBytes > limitBytes);
  if (beyond.length > 0 && (requested !== null || fitting.length === 0)) {
    throw new PinbenchError("limit", `A pool of ${formatSize(beyond[0]!)} would be above ${limit}.`, {
      hint: "Ask for smaller --sizes, free memory, or raise the limit with --max-pinned.",
    });
  }
  const omitted = beyond.map((sizeBytes) => `a pool of ${formatSize(sizeBytes)}: above ${limit}`);
  return { sizesBytes: fitting, omitted };
}

export interface PoolResources {
  cpusUsable: number;
  /** Free memory in hugetlbfs; null if the kernel has none. */
  hugetlbFreeBytes: number | null;
}

/**
 * Allocation methods for a size, simple ones first: with one thread, and with pages touched by one thread per CPU (or
 * `threads`). If hugetlbfs has too few pages, it is tried only once.
 */
export function poolShapes(
  sizeBytes: number,
  { cpusUsable, hugetlbFreeBytes }: PoolResources,
  threads: readonly number[] | null,
): PoolShape[] {
  return poolWays.flatMap((way) => {
    const isOneThread =
      way === "host-alloc" || (way === "register-hugetlb" && (hugetlbFreeBytes ?? 0) < sizeBytes);
    const counts = isOneThread ? [1] : (threads ?? [1, cpusUsable]);
    return [...new Set(counts)].map((count) => ({ way, threads: count }));
  });
}

/** "register-huge/threads-16". */
export function shapeId({ way, threads }: PoolShape): string {
  return `${way}/threads-${threads}`;
}

/** Maximum size of a copy: few driver calls, but enough copies for a median. */
const mostCopyBytes = 256 * MiB;

/** Size of copies over a pool: whole huge pages, at most an eighth of the pool except for small ones. */
export function copyBytesOf(sizeBytes: number): number {
  const eighth = Math.floor(sizeBytes / 8 / leastPoolBytes) * leastPoolBytes;
  return Math.max(leastPoolBytes, Math.min(eighth, mostCopyBytes));
}
