import { MiB } from "../settings/units.js";
import { ascending } from "../stats/order-statistics.js";
import type { PlannedCell } from "./geometry.js";

/** Most sizes: the cost of pinning grows in proportion, so a few represent a long sweep. */
const mostSizes = 6;

/** Larger buffers show nothing new and take seconds. If all are larger, the smallest is used. */
const largestBytes = 256 * MiB;

/** One allocation alone may be off by half. */
export const pinningRepetitions = 3;

/**
 * Sizes in bytes for timing allocations, ascending: the smallest, the largest and some between, out of the sizes that
 * are measured in host memory and may be pinned.
 */
export function pinningSizes(cells: readonly PlannedCell[], maxPinnedBytes: number): number[] {
  const measured = cells
    .filter(({ memory, sizeBytes }) => memory !== "device" && sizeBytes <= maxPinnedBytes)
    .map(({ sizeBytes }) => sizeBytes);
  const sizes = ascending(measured).filter((sizeBytes, i) => i === 0 || sizeBytes <= largestBytes);
  if (sizes.length <= mostSizes) return sizes;
  const step = (sizes.length - 1) / (mostSizes - 1);
  return Array.from({ length: mostSizes }, (_, i) => sizes[Math.round(i * step)]!);
}
