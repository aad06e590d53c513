import type { Cell, CellSamples, CellStats } from "./cell-schema.js";

/** What bytes over time are computed from. */
interface Measured extends Pick<Cell, "direction"> {
  samples: readonly CellSamples[];
}

/**
 * All bytes of a direction's samples over the sum of their durations, in GB/s: what a program gets that makes all of
 * these copies, the slow ones too. For "sum" that of both directions together. In latency mode samples are copies of one
 * worker, and so is the rate. `process` chooses the samples of one process. Null without samples.
 */
export function overTimeGBps(
  cell: Measured,
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
  // A device-to-device copy reads and writes every byte: both count, as memory bandwidth does.
  return nanoseconds === 0 ? null : (bytes * (cell.direction === "d2d" ? 2 : 1)) / nanoseconds;
}

/**
 * The share of the time that slow copies took from the others: 1 - bytes over time / median rate. Below 0 if few copies
 * are fast. Null for results without samples.
 */
export function lostShare(cell: Measured, stats: CellStats): number | null {
  const rate = stats.overTimeGBps ?? overTimeGBps(cell, stats.direction);
  return rate === null ? null : 1 - rate / stats.bandwidthGBps.median;
}

/** Bytes over time that lie this far below the median are worth a word: no plain pinned cell of the recorded runs loses 2 %. */
export const leastLostShare = 0.05;
