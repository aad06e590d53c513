import type { ResultDocument } from "../results/schema.js";
import { isPlain } from "../results/variant.js";
import { KiB } from "../settings/units.js";
import type { ObservedCopy, TracedCopy } from "./trace-document.js";

/** Smaller pageable copies go through the driver's own buffers, so pinning gains little. */
const leastPinnedBytes = 64 * KiB;

export const isLargePageable = ({ memory, totalBytes, count }: ObservedCopy) =>
  memory === "pageable" && totalBytes / count >= leastPinnedBytes;

/** This machine's rates of pinned copies by one thread, larger sizes first, and their source. */
export interface PinnedRates {
  source: string;
  cells: readonly { direction: string; sizeBytes: number; GBps: number }[];
}

/** Pinned rates in a result, of its first device. */
export function pinnedRatesOf({ cells }: ResultDocument, source: string): PinnedRates {
  const plain = cells.filter((cell) => {
    const isPinned = cell.memory === "pinned" && cell.workers === 1 && cell.mode === "throughput";
    return isPinned && isPlain(cell) && cell.device === cells[0]!.device;
  });
  const rates = plain.flatMap(({ sizeBytes, stats }) =>
    stats.map(({ direction, bandwidthGBps }) => ({ direction, sizeBytes, GBps: bandwidthGBps.median })),
  );
  return { source, cells: rates.sort((a, b) => b.sizeBytes - a.sizeBytes) };
}

/**
 * Adds what pinning would save: the engine's time, or the call's if that is shorter (it did not wait for all of its
 * copy), beyond the time of pinned copies. Not all of a longer call's time, because it also waits for kernels.
 */
export function withSavings(copies: readonly ObservedCopy[], rates: PinnedRates | null): TracedCopy[] {
  return copies.map((copy) => {
    if (!isLargePageable(copy)) return { ...copy, pinnedGBps: null, savedNs: 0 };
    // Uses the largest measured size up to the copy's, so that savings are not exaggerated.
    const cell = rates?.cells.find(
      ({ direction, sizeBytes }) => direction === copy.direction && sizeBytes <= copy.totalBytes / copy.count,
    );
    const pinnedGBps = cell?.GBps ?? null;
    const costNs = copy.call === "" ? copy.engineNs : Math.min(copy.blockedNs, copy.engineNs);
    const savedNs = pinnedGBps && Math.max(0, costNs - copy.totalBytes / pinnedGBps);
    return { ...copy, pinnedGBps, savedNs };
  });
}
