import type { Cell, CellSamples, CellStats } from "./cell-schema.js";

interface CellOverTime extends Pick<Cell, "direction"> {
  samples: readonly CellSamples[];
}

/**
 * All bytes of a direction's samples over the sum of their durations, in GB/s: the rate of a program with all
 * these copies, slow ones included. "sum" adds both directions. In latency mode samples are one worker's
 * copies, so the rate is one worker's. `process` selects one process of `run --runs`. Null without samples.
 */
export function overTimeGBps(
  cell: CellOverTime,
  direction: CellStats["direction"],
  process?: number,
): number | null {
  if (direction === "sum") {
    const [one, other] = [overTimeGBps(cell, "h2d", process), overTimeGBps(cell, "d2h", process)];
    return one === null || other === null ? null : one + other;
  }
  let [bytes, nanoseconds] = [0, 0];
  for (const samples of cell.samples) {
    if (samples.direction !== direction) continue;
    if (process !== undefined && samples.process !== process) continue;
    bytes += samples.bytesPerSample * samples.durationNs.length;
    for (const duration of samples.durationNs) nanoseconds += duration;
  }
  return nanoseconds === 0 ? null : (bytes * timesCounted(cell.direction)) / nanoseconds;
}

/**
 * How often a rate counts each byte. A device-to-device copy reads and writes it, and both count, as is usual for
 * memory bandwidth.
 */
export function timesCounted(direction: Cell["direction"]): 1 | 2 {
  return direction === "d2d" ? 2 : 1;
}

/**
 * The share of time lost to slow copies: 1 - average rate / median rate. Negative if a few copies are fast. Null
 * without samples or a valid rate.
 */
export function lostShare({
  overTimeGBps,
  bandwidthGBps,
}: Pick<CellStats, "overTimeGBps" | "bandwidthGBps">): number | null {
  return overTimeGBps === null || overTimeGBps <= 0 ? null : 1 - overTimeGBps / bandwidthGBps.median;
}

/** Smallest loss that is reported: no plain pinned cell in the recorded runs loses 2 %. */
export const leastLostShare = 0.05;
