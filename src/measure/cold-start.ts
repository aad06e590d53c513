import type { NativeError, NativeSession } from "../native/contract.js";
import type { ColdStart, PinningCost } from "../results/schema.js";
import type { CellProgress } from "./cell-progress.js";

/** Sizes whose pinning cost is measured: it grows in proportion, so that a few tell all of a long sweep. */
const mostSizes = 6;

/** GB/s with its interval. */
interface Rate {
  median: number;
  low: number;
  high: number;
}

type PinningRecord = ColdStart["pinning"][number];

/** The smallest, the largest and some between, ascending. */
export function pinningSizes(sizesBytes: readonly number[]): number[] {
  const sizes = [...new Set(sizesBytes)].sort((a, b) => a - b);
  if (sizes.length <= mostSizes) return sizes;
  const step = (sizes.length - 1) / (mostSizes - 1);
  return Array.from({ length: mostSizes }, (_, i) => sizes[Math.round(i * step)]!);
}

/** What pinning one buffer costs, per size and way; a way that fails (a limit, too little memory) is null. */
export async function measurePinning(
  session: NativeSession,
  sizesBytes: readonly number[],
  signal: AbortSignal,
): Promise<PinningRecord[]> {
  const records: PinningRecord[] = [];
  for (const sizeBytes of sizesBytes) {
    if (signal.aborted) break;
    const pinned = await session.measurePinning("pinned", sizeBytes).catch(nullIfRefused);
    const registered = await session.measurePinning("registered", sizeBytes).catch(nullIfRefused);
    records.push({
      sizeBytes,
      pinned,
      registered,
      reuses: { cheapest: cheapestWay(pinned, registered), h2d: null, d2h: null },
    });
  }
  return records;
}

/** Memory that cannot be had leaves a gap; a lost context or an interruption ends more than this figure. */
function nullIfRefused(error: NativeError): null {
  if (error.sticky || error.code === "ABORTED") throw error;
  return null;
}

/**
 * Fills in after how many copies pinning has paid off, from the one-worker cells of the same size; null where they do
 * not show for certain that pinned copies are the faster.
 */
export function addReuses(
  pinning: readonly PinningRecord[],
  cells: readonly CellProgress[],
): PinningRecord[] {
  return pinning.map((record) => {
    const { cheapest } = record.reuses;
    const cost = record[cheapest];
    const reuses = (direction: "h2d" | "d2h") => {
      const rate = (memory: string) => copyRate(cells, memory, record.sizeBytes, direction);
      const pageable = rate("pageable");
      const pinned = rate("pinned") ?? rate("registered");
      // Where the intervals overlap, the difference of the medians may be noise, and the quotient anything.
      if (cost === null || pageable === null || pinned === null || pinned.low <= pageable.high) return null;
      const copyNs = ({ median }: Rate) => record.sizeBytes / median;
      return reusesToPayOff(cost.allocateNs + cost.freeNs, copyNs(pageable), copyNs(pinned));
    };
    return { ...record, reuses: { cheapest, h2d: reuses("h2d"), d2h: reuses("d2h") } };
  });
}

/** Copies after which `costNs` has come back, by the time that each saves: a pinned copy is the shorter one. */
export function reusesToPayOff(costNs: number, pageableNs: number, pinnedNs: number): number {
  return Math.ceil(costNs / (pageableNs - pinnedNs));
}

function cheapestWay(pinned: PinningCost | null, registered: PinningCost | null): "pinned" | "registered" {
  if (registered === null) return "pinned";
  if (pinned === null) return "registered";
  return registered.allocateNs + registered.freeNs < pinned.allocateNs + pinned.freeNs
    ? "registered"
    : "pinned";
}

/** Null where it was not measured, has no interval, or the cell failed or its data came back wrong. */
function copyRate(
  cells: readonly CellProgress[],
  memory: string,
  sizeBytes: number,
  direction: "h2d" | "d2h",
): Rate | null {
  const found = cells.find(
    ({ cell, outcome }) =>
      cell.memory === memory &&
      cell.sizeBytes === sizeBytes &&
      cell.direction === direction &&
      cell.workers === 1 &&
      cell.mode === "throughput" &&
      cell.timer === "wall" &&
      outcome !== "mismatch" &&
      outcome !== "failed",
  );
  const rate = found?.stats[0]?.bandwidthGBps;
  if (rate === undefined || rate.low === null || rate.high === null) return null;
  return { median: rate.median, low: rate.low, high: rate.high };
}
