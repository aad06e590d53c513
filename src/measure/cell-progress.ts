import type { MeasureResult, NativeError } from "../native/contract.js";
import type { DeviceFacts } from "../native/device-contract.js";
import { blocksOfCopy } from "../plan/blocks.js";
import type { PlannedCell } from "../plan/geometry.js";
import type {
  Cell,
  CellResult,
  CellSamples,
  CellStats,
  Distribution,
  Outcome,
} from "../results/cell-schema.js";
import { pcieLimitGBps } from "../results/device-facts.js";
import { overTimeGBps, timesCounted } from "../results/over-time.js";
import type { ErrorRecord, LinkRecord } from "../settings/schema-parts.js";
import { distribution, quantile, relativeHalfWidth } from "../stats/order-statistics.js";
import type { LoadVisit } from "./beside-load.js";

/** The measurements of one cell so far. */
export class CellProgress {
  readonly cell: PlannedCell;
  readonly #facts: DeviceFacts;
  samples: CellSamples[] = [];
  stats: CellStats[] = [];
  link: LinkRecord | null = null;
  copiesPerSample = 0;
  /** Duration of one copy during calibration, with all workers at once. */
  copyNs = 0;
  /** Duration of a sample in the last visit, including set-up and verification. */
  visitNsPerSample = 0;
  checkedBytes = 0;
  /** Number of timed copies in all verified visits, and how many of them were proven right. */
  copies = 0;
  provenCopies = 0;
  /** For scattered blocks: a worker's CPU time per block (bidir: mean of both directions), one per sample. */
  #blockHostNs: number[] = [];
  /** For a cell with a load: the load's rates in each visit. */
  loadVisits: LoadVisit[] = [];
  mismatches: NonNullable<CellResult["verification"]>["mismatches"] = [];
  outcome: Outcome | null = null;
  skipReason: string | null;
  error: ErrorRecord | null = null;
  warnings: string[] = [];

  constructor(cell: PlannedCell, facts: DeviceFacts) {
    this.cell = cell;
    this.#facts = facts;
    this.skipReason = cell.skipReason;
    if (cell.skipReason !== null) this.outcome = "skipped";
  }

  /** Number of samples so far, counted like a request: a latency sample has one entry per worker. */
  get taken(): number {
    const entries = this.samples[0]?.durationNs.length ?? 0;
    return this.cell.mode === "latency" ? entries / this.cell.workers : entries;
  }

  get isOpen(): boolean {
    return this.outcome === null;
  }

  /**
   * Half-width of the median's interval relative to the median. All directions must be narrow enough, so the largest
   * counts. Infinity without an interval.
   */
  get halfWidth(): number {
    if (this.stats.length === 0) return Number.POSITIVE_INFINITY;
    return Math.max(...this.stats.map((stats) => stats.relativeHalfWidth ?? Number.POSITIVE_INFINITY));
  }

  /** Adds the measurements of a visit, but not its samples if data was wrong. */
  add(result: MeasureResult, round: number): void {
    this.checkedBytes += result.verification.checkedBytes;
    this.copies += result.verification.copies;
    this.provenCopies += result.verification.provenCopies;
    this.link = result.link ?? this.link;
    if (result.verification.mismatches.length > 0) {
      this.mismatches = result.verification.mismatches;
      this.outcome = "mismatch";
      return;
    }
    if (this.samples.length === 0) {
      const copies = this.cell.mode === "latency" ? 1 : this.copiesPerSample * this.cell.workers;
      this.samples = result.columns.map(({ direction }) => ({
        direction,
        bytesPerSample: copies * this.cell.sizeBytes,
        startNs: [],
        durationNs: [],
        round: [],
      }));
    }
    for (const [i, column] of result.columns.entries()) {
      const samples = this.samples[i]!;
      for (const startNs of column.startNs) samples.startNs.push(startNs);
      for (const durationNs of column.durationNs) {
        samples.durationNs.push(durationNs);
        samples.round.push(round);
      }
    }
    const blocks = this.copiesPerSample * blocksOfCopy(this.cell);
    if (blocks > 0) {
      const hostNs = result.columns.map((column) => column.hostNs ?? []);
      for (const sample of hostNs[0]?.keys() ?? []) {
        const sum = hostNs.reduce((total, column) => total + column[sample]!, 0);
        this.#blockHostNs.push(sum / (blocks * hostNs.length));
      }
    }
    this.stats = summarize(this.cell, this.samples, this.linkLimitGBps);
  }

  /** CPU time per block; null without samples. */
  get hostNsPerBlock(): Distribution | null {
    return this.#blockHostNs.length === 0 ? null : distribution(this.#blockHostNs);
  }

  /** The load's rates; null without a load, or before they were measured. */
  get load(): NonNullable<CellResult["load"]> | null {
    if (this.loadVisits.length === 0) return null;
    const of = (value: (visit: LoadVisit) => number) => distribution(this.loadVisits.map(value));
    return {
      // Units per nanosecond are 10^9 units per second.
      unit: this.cell.beside === "compute" ? "GFLOP/s" : "GB/s",
      alone: of(({ alone }) => alone),
      during: of(({ during }) => during),
      keptShare: of(({ alone, during }) => during / alone),
    };
  }

  fail(error: NativeError): void {
    this.outcome = "failed";
    this.error = toErrorRecord(error);
  }

  markSkipped(reason: string): void {
    this.outcome = "skipped";
    this.skipReason = reason;
  }

  /** Limit of the link under load; null if unknown or if there is no PCIe link. */
  get linkLimitGBps(): number | null {
    return this.link && pcieLimitGBps(this.#facts, this.link);
  }
}

/** A failed call, for the result. */
export function toErrorRecord(error: NativeError): ErrorRecord {
  return {
    code: error.code ?? "INTERNAL",
    message: error.message,
    call: error.call ?? null,
    location: error.location ?? null,
    sticky: error.sticky ?? false,
  };
}

/**
 * Statistics of a cell's samples: one entry per direction, and for bidir throughput also their sum. GB/s is bytes per
 * nanosecond. `linkLimitGBps` is null for an unknown link. In latency mode the rate is one worker's, so it has no share
 * of the link and no sum. Throws a RangeError without samples.
 */
export function summarize(
  cell: Pick<Cell, "direction" | "mode">,
  samples: readonly CellSamples[],
  linkLimitGBps: number | null,
): CellStats[] {
  const rates = samples.map(({ bytesPerSample, durationNs }) =>
    durationNs.map((ns) => (bytesPerSample * timesCounted(cell.direction)) / ns),
  );
  const isLatency = cell.mode === "latency";
  const overTime = (direction: CellStats["direction"]) =>
    overTimeGBps({ direction: cell.direction, samples }, direction);
  const stats: CellStats[] = samples.map(({ direction, durationNs }, i) => ({
    ...directionStats(direction, rates[i]!, isLatency ? durationNs : null, isLatency ? null : linkLimitGBps),
    overTimeGBps: overTime(direction),
  }));
  if (cell.direction === "bidir" && !isLatency) {
    const [first, second] = rates as [number[], number[]];
    const sums = first.map((rate, i) => rate + second[i]!);
    // The limit holds per direction, so the sum has no share of the link.
    stats.push({ ...directionStats("sum", sums, null, null), overTimeGBps: overTime("sum") });
  }
  return stats;
}

function directionStats(
  direction: CellStats["direction"],
  rates: readonly number[],
  latenciesNs: readonly number[] | null,
  linkLimitGBps: number | null,
): Omit<CellStats, "overTimeGBps"> {
  const bandwidthGBps = {
    ...distribution(rates),
    p10: quantile(rates, 0.1),
    p90: quantile(rates, 0.9),
  };
  const limit = direction === "d2d" || direction === "p2p" ? null : linkLimitGBps;
  return {
    direction,
    samples: rates.length,
    bandwidthGBps,
    relativeHalfWidth: relativeHalfWidth(bandwidthGBps, bandwidthGBps.median),
    latencyUs: latenciesNs === null ? null : latencyStats(latenciesNs),
    linkShare: limit === null ? null : bandwidthGBps.median / limit,
  };
}

function latencyStats(latenciesNs: readonly number[]): CellStats["latencyUs"] {
  const microseconds = latenciesNs.map((ns) => ns / 1000);
  return {
    ...distribution(microseconds),
    p90: quantile(microseconds, 0.9),
    p99: quantile(microseconds, 0.99),
  };
}
