import type { Cell } from "../plan/cell.js";
import type { CellSamples, CellStats } from "../results/schema.js";
import { distribution, quantile, relativeHalfWidth } from "../stats/order-statistics.js";

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
  const stats = samples.map(({ direction, durationNs }, i) =>
    statsOf(direction, rates[i]!, isLatency ? durationNs : null, isLatency ? null : linkLimitGBps),
  );
  if (cell.direction === "bidir" && !isLatency) {
    const [first, second] = rates as [number[], number[]];
    const sums = first.map((rate, i) => rate + second[i]!);
    // The link carries its limit each way, so the sum has no share of one limit.
    stats.push(statsOf("sum", sums, null, null));
  }
  return stats;
}

function statsOf(
  direction: CellStats["direction"],
  rates: readonly number[],
  latenciesNs: readonly number[] | null,
  linkLimitGBps: number | null,
): CellStats {
  const bandwidthGBps = distribution(rates);
  const limit = direction === "d2d" ? null : linkLimitGBps;
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
