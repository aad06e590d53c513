import type { NativeError, NativeSession, PinningKind } from "../native/contract.js";
import { pinningRepetitions } from "../plan/pinning-sizes.js";
import type { CellResult, VariantFields } from "../results/cell-schema.js";
import { figureInterval, type IntervalEstimate, orderOf } from "../results/figure-interval.js";
import type { PayOff, PinningRecord } from "../results/schema.js";
import { isPlain } from "../results/variant.js";
import type { PinningCost } from "../settings/schema-parts.js";
import { median } from "../stats/order-statistics.js";

/**
 * The cost of a buffer by size and allocation method; null for a method that fails (a limit, too little memory), with
 * its error in `refusals`. The methods take turns, so that a disturbance affects all alike.
 */
export async function measurePinning(
  session: NativeSession,
  sizesBytes: readonly number[],
  signal: AbortSignal,
): Promise<PinningRecord[]> {
  const records: PinningRecord[] = [];
  for (const sizeBytes of sizesBytes) {
    const costs: Record<PinningKind, (PinningCost | null)[]> = { pageable: [], pinned: [], registered: [] };
    const refusals: Partial<Record<PinningKind, string>> = {};
    for (let repetition = 0; repetition < pinningRepetitions; ++repetition) {
      for (const kind of Object.keys(costs) as PinningKind[]) {
        if (signal.aborted) return records;
        // A method that was refused would be refused again.
        if (costs[kind].at(-1) === null) continue;
        const cost = await session.measurePinning(kind, sizeBytes).catch((error: NativeError) => {
          // A lack of memory leaves a gap; a lost context or an abort ends everything.
          if (error.sticky || error.code === "ABORTED") throw error;
          refusals[kind] = error.message;
          return null;
        });
        costs[kind].push(cost);
      }
    }
    records.push(pinningRecord(sizeBytes, pinningRepetitions, costs, refusals));
  }
  return records;
}

/** The median cost of each method; null if one measurement of it failed. */
export function pinningRecord(
  sizeBytes: number,
  repetitions: number,
  { pageable, pinned, registered }: Record<PinningKind, (PinningCost | null | undefined)[]>,
  refusals: NonNullable<PinningRecord["refusals"]>,
): PinningRecord {
  return {
    ...{ sizeBytes, repetitions, pageable: medianCost(pageable) },
    ...{ pinned: medianCost(pinned), registered: medianCost(registered) },
    ...(Object.keys(refusals).length > 0 && { refusals }),
  };
}

function medianCost(costs: readonly (PinningCost | null | undefined)[]): PinningCost | null {
  const known = costs.filter((cost) => cost != null);
  if (known.length < costs.length || known.length === 0) return null;
  const hugePageBytes = known.map((cost) => cost.hugePageBytes).filter((bytes) => bytes !== null);
  return {
    allocateNs: median(known.map(({ allocateNs }) => allocateNs)),
    freeNs: median(known.map(({ freeNs }) => freeNs)),
    hugePageBytes: hugePageBytes.length < known.length ? null : Math.round(median(hugePageBytes)),
  };
}

type CopiedCell = Pick<
  CellResult,
  "memory" | "sizeBytes" | "direction" | "workers" | "mode" | "outcome" | "stats"
> &
  VariantFields;

/** Adds the number of copies after which each method pays off, from plain one-worker cells of the same size. */
export function addPayOff(pinning: readonly PinningRecord[], cells: readonly CopiedCell[]): PinningRecord[] {
  return pinning.map((record) => ({
    ...record,
    payOff: { pinned: payOffOf(record, "pinned", cells), registered: payOffOf(record, "registered", cells) },
  }));
}

function payOffOf(
  record: PinningRecord,
  way: keyof PayOff,
  cells: readonly CopiedCell[],
): PayOff[keyof PayOff] {
  const { sizeBytes, pageable } = record;
  const cost = record[way];
  const copies = (direction: "h2d" | "d2h") => {
    const rateOf = (memory: CopiedCell["memory"]) => copyRate(cells, memory, sizeBytes, direction);
    const slow = rateOf("pageable");
    // Both kinds are copied in the same way, so either rate serves for both.
    const fast =
      way === "pinned"
        ? (rateOf("pinned") ?? rateOf("registered"))
        : (rateOf("registered") ?? rateOf("pinned"));
    if (cost === null || pageable == null || slow === null || fast === null) return null;
    // If the rates are not clearly different, the quotient means nothing.
    if (orderOf(fast, slow) !== "above") return null;
    const costNs = cost.allocateNs + cost.freeNs - pageable.allocateNs - pageable.freeNs;
    return copiesToPayOff(costNs, sizeBytes / slow.median, sizeBytes / fast.median);
  };
  return { h2d: copies("h2d"), d2h: copies("d2h") };
}

/** Number of copies that save `costNs`, if pinned copies are faster; 0 without a cost. */
export function copiesToPayOff(costNs: number, pageableNs: number, pinnedNs: number): number {
  return Math.max(0, Math.ceil(costNs / (pageableNs - pinnedNs)));
}

/** Null if the cell is missing, failed, has wrong data or no interval. */
function copyRate(
  cells: readonly CopiedCell[],
  memory: CopiedCell["memory"],
  sizeBytes: number,
  direction: "h2d" | "d2h",
): IntervalEstimate | null {
  const found = cells.find(
    (cell) =>
      cell.memory === memory &&
      cell.sizeBytes === sizeBytes &&
      cell.direction === direction &&
      cell.workers === 1 &&
      isPlain(cell) &&
      cell.mode === "throughput" &&
      cell.outcome !== "mismatch" &&
      cell.outcome !== "failed",
  );
  const [stats] = found?.stats ?? [];
  return stats === undefined ? null : figureInterval(stats.bandwidthGBps);
}
