import type { NativeSession, PinningCost } from "../native/contract.js";
import type { ColdStart } from "../results/schema.js";
import type { CellProgress } from "./cell-progress.js";

/** Sizes whose pinning cost is measured: it grows in proportion, so that a few tell all of a long sweep. */
const mostSizes = 6;

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
    const pinned = await session.measurePinning("pinned", sizeBytes).catch(() => null);
    const registered = await session.measurePinning("registered", sizeBytes).catch(() => null);
    records.push({
      sizeBytes,
      pinned,
      registered,
      reuses: { cheapest: cheapestWay(pinned, registered), h2d: null, d2h: null },
    });
  }
  return records;
}

/** Fills in after how many copies pinning has paid off, from the one-worker cells of the same size. */
export function addReuses(
  pinning: readonly PinningRecord[],
  cells: readonly CellProgress[],
): PinningRecord[] {
  return pinning.map((record) => {
    const { cheapest } = record.reuses;
    const cost = record[cheapest];
    const reuses = (direction: "h2d" | "d2h") => {
      if (cost === null) return null;
      const copyNs = (memory: string) => copyTimeNs(cells, memory, record.sizeBytes, direction);
      return reusesToPayOff(
        cost.allocateNs + cost.freeNs,
        copyNs("pageable"),
        copyNs("pinned") ?? copyNs("registered"),
      );
    };
    return { ...record, reuses: { cheapest, h2d: reuses("h2d"), d2h: reuses("d2h") } };
  });
}

/** Copies after which `costNs` has come back, by the time each saves; null where none is saved or known. */
export function reusesToPayOff(
  costNs: number,
  pageableNs: number | null,
  pinnedNs: number | null,
): number | null {
  if (pageableNs === null || pinnedNs === null || pinnedNs >= pageableNs) return null;
  return Math.ceil(costNs / (pageableNs - pinnedNs));
}

function cheapestWay(pinned: PinningCost | null, registered: PinningCost | null): "pinned" | "registered" {
  if (registered === null) return "pinned";
  if (pinned === null) return "registered";
  return registered.allocateNs + registered.freeNs < pinned.allocateNs + pinned.freeNs
    ? "registered"
    : "pinned";
}

function copyTimeNs(
  cells: readonly CellProgress[],
  memory: string,
  sizeBytes: number,
  direction: "h2d" | "d2h",
): number | null {
  const found = cells.find(
    ({ cell, stats }) =>
      cell.memory === memory &&
      cell.sizeBytes === sizeBytes &&
      cell.direction === direction &&
      cell.workers === 1 &&
      cell.mode === "throughput" &&
      cell.timer === "wall" &&
      stats.length > 0,
  );
  return found === undefined ? null : sizeBytes / found.stats[0]!.bandwidthGBps.median;
}
