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
import { linkLimitGBps } from "../results/device-facts.js";
import { overTimeGBps } from "../results/over-time.js";
import type { ErrorRecord, LinkRecord } from "../results/schema-parts.js";
import { distribution, quantile, relativeHalfWidth } from "../stats/order-statistics.js";
import type { LoadVisit } from "./beside-load.js";

/** What has been measured of one cell so far. */
export class CellProgress {
  readonly cell: PlannedCell;
  readonly #facts: DeviceFacts;
  samples: CellSamples[] = [];
  stats: CellStats[] = [];
  link: LinkRecord | null = null;
  copiesPerSample = 0;
  /** What one copy took while calibrating, all workers at once. */
  copyNs = 0;
  /** What the last visit took a sample, set-up and verification included. */
  visitNsPerSample = 0;
  checkedBytes = 0;
  /** Timed copies of all visits that were compared, and those of them that this proves. */
  copies = 0;
  provenCopies = 0;
  /** Of scattered blocks: what a block cost the CPU of a worker, a figure a sample. */
  #blockHostNs: number[] = [];
  /** Of a cell beside a load: what that did in each visit. */
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

  /** Samples so far, as they are asked for; a latency sample has an entry a worker. */
  get taken(): number {
    const entries = this.samples[0]?.durationNs.length ?? 0;
    return this.cell.mode === "latency" ? entries / this.cell.workers : entries;
  }

  get isOpen(): boolean {
    return this.outcome === null;
  }

  /** The widest of the directions' intervals: all must be narrow enough. Infinity without an interval. */
  get halfWidth(): number {
    if (this.stats.length === 0) return Number.POSITIVE_INFINITY;
    return Math.max(...this.stats.map((stats) => stats.relativeHalfWidth ?? Number.POSITIVE_INFINITY));
  }

  /** Takes over what a visit measured. Samples of a visit whose data came back wrong are not kept. */
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
      for (const ns of result.columns[0]?.hostNs ?? []) this.#blockHostNs.push(ns / blocks);
    }
    this.stats = summarize(this.cell, this.samples, this.linkLimitGBps);
  }

  /** What a block cost the CPU; null before there are samples. */
  get hostNsPerBlock(): Distribution | null {
    return this.#blockHostNs.length === 0 ? null : distribution(this.#blockHostNs);
  }

  /** What the load beside the copies did; null without one, and before a visit that tells it. */
  get load(): CellResult["load"] {
    // Where the machine is too busy for the load to complete anything by itself, a visit tells nothing of it.
    const visits = this.loadVisits.filter(({ alone }) => alone > 0);
    if (visits.length === 0) return null;
    const of = (value: (visit: LoadVisit) => number) => distribution(visits.map(value));
    return {
      // Units a nanosecond are billions a second.
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

  /** Of the link as it was under load; null where it was not read, or where there is no PCIe link. */
  get linkLimitGBps(): number | null {
    if (this.link === null || this.#facts.integrated) return null;
    return linkLimitGBps(this.link.generation, this.link.width);
  }
}

/** A failed call as a result records it. */
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
 * The statistics of a cell's raw samples: one entry a direction, and for bidir throughput their sum. GB/s is
 * bytes over nanoseconds. `linkLimitGBps` is null where the link is not known. In latency mode a rate is that of one
 * worker's copy, so there it has neither a share of the link nor a sum. Throws RangeError for no samples.
 */
export function summarize(
  cell: Pick<Cell, "direction" | "mode">,
  samples: readonly CellSamples[],
  linkLimitGBps: number | null,
): CellStats[] {
  const rates = samples.map(({ bytesPerSample, durationNs }) =>
    // A device-to-device copy reads and writes every byte: both count, as memory bandwidth does.
    durationNs.map((ns) => (bytesPerSample * (cell.direction === "d2d" ? 2 : 1)) / ns),
  );
  const isLatency = cell.mode === "latency";
  const overTime = (direction: CellStats["direction"]) =>
    overTimeGBps({ direction: cell.direction, samples }, direction);
  const stats = samples.map(({ direction, durationNs }, i) => ({
    ...statsOf(direction, rates[i]!, isLatency ? durationNs : null, isLatency ? null : linkLimitGBps),
    overTimeGBps: overTime(direction),
  }));
  if (cell.direction === "bidir" && !isLatency) {
    const [first, second] = rates as [number[], number[]];
    const sums = first.map((rate, i) => rate + second[i]!);
    // The link carries its limit each way, so the sum has no share of one limit.
    stats.push({ ...statsOf("sum", sums, null, null), overTimeGBps: overTime("sum") });
  }
  return stats;
}

function statsOf(
  direction: CellStats["direction"],
  rates: readonly number[],
  latenciesNs: readonly number[] | null,
  linkLimitGBps: number | null,
): CellStats {
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
