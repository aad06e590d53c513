import { MiB } from "../settings/units.js";
import type { PlannedCell } from "./geometry.js";

/** Sizes at most: what pinning costs grows in proportion, so that a few tell all of a long sweep. */
const mostSizes = 6;

/** Larger buffers tell nothing that this one does not, and take seconds; only where all are larger is the least taken. */
const largestBytes = 256 * MiB;

/** A single allocation may be off by half. */
export const pinningRepetitions = 3;

/**
 * The sizes in bytes at which obtaining memory is timed: of those that are measured in host memory and may be pinned,
 * the smallest, the largest and some between, ascending.
 */
export function pinningSizes(cells: readonly PlannedCell[], maxPinnedBytes: number): number[] {
  const measured = cells
    .filter(({ memory, sizeBytes }) => memory !== "device" && sizeBytes <= maxPinnedBytes)
    .map(({ sizeBytes }) => sizeBytes);
  const ascending = [...new Set(measured)].sort((a, b) => a - b);
  const sizes = ascending.filter((sizeBytes, i) => i === 0 || sizeBytes <= largestBytes);
  if (sizes.length <= mostSizes) return sizes;
  const step = (sizes.length - 1) / (mostSizes - 1);
  return Array.from({ length: mostSizes }, (_, i) => sizes[Math.round(i * step)]!);
}
