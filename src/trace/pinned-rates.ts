import type { ResultDocument } from "../results/schema.js";
import { isPlain } from "../results/variant.js";
import { KiB } from "../settings/units.js";
import type { ObservedCopy, TracedCopy } from "./trace-document.js";

/** Smaller pageable copies go through the driver's own buffers: pinning gains little. */
const leastPinnedBytes = 64 * KiB;

export const isLargePageable = ({ memory, totalBytes, count }: ObservedCopy) =>
  memory === "pageable" && totalBytes / count >= leastPinnedBytes;

/** This machine's rates of pinned copies by one thread, the larger sizes first, and their source. */
export interface PinnedRates {
  source: string;
  cells: readonly { direction: string; sizeBytes: number; GBps: number }[];
}

/** The rates in a result; those of its first device, if it has several. */
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
 * The copies with what pinning would save: the engine's time beyond that of pinned copies. Not all of the time of the
 * calls, which also wait for kernels; and if a call is shorter than its copy, it did not wait for all of it.
 */
export function withSavings(copies: readonly ObservedCopy[], rates: PinnedRates | null): TracedCopy[] {
  return copies.map((copy) => {
    if (!isLargePageable(copy)) return { ...copy, pinnedGBps: null, savedNs: 0 };
    // The largest measured size up to the copy's: savings are not exaggerated.
    const cell = rates?.cells.find(
      ({ direction, sizeBytes }) => direction === copy.direction && sizeBytes <= copy.totalBytes / copy.count,
    );
    const pinnedGBps = cell?.GBps ?? null;
    const costNs = copy.call === "" ? copy.engineNs : Math.min(copy.blockedNs, copy.engineNs);
    const savedNs = pinnedGBps && Math.max(0, costNs - copy.totalBytes / pinnedGBps);
    return { ...copy, pinnedGBps, savedNs };
  });
}
