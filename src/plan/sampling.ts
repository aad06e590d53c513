import type { Cell } from "../results/cell-schema.js";
import type { Mode, Timer } from "../settings/choices.js";
import { wholeBlocks } from "./blocks.js";

/** How much of a cell is measured: what a run takes, and what its duration is estimated from. */

/** Below 6 samples there is no 95 % interval of a median. */
const minSamplesPerCell = 6;

/**
 * The least a cell takes is spread over so many rounds: drift then hits all cells alike, and what a visit finds by chance
 * (which CPU, which place in memory) is drawn as often. Recorded on an H200, twice as many visits of half as many samples
 * took the spread between processes of pageable and staged cells from 11.7 to 7.2 %, for 6 % more time
 * (results/nvidia-h200/places.txt).
 */
export const leastRounds = 6;

/** Rounds after those take so many samples at once. */
const samplesPerExtraRound = 4;

/** How long a throughput sample lasts at least: a synchronisation of 10 µs is then 0.2 % of it. */
const sampleNs = 5e6;

/** A held stream takes no more copies (kMaxHeldCopies in cuda/engine/measurement.hpp). */
const maxHeldCopies = 128;

const maxCopiesPerSample = 4096;

/**
 * A sample of several workers lasts until the slowest is done: of single copies it would show the slowest one (1.6 %
 * below the rate on an H200), of several in a row what they take on average.
 */
const minCopiesOfSeveralWorkers = 4;

/** Latency samples are single copies: cheap, and the tail needs many, so that so many stand for one sample. */
const latencyCopiesPerSample = 50;

/** How long a visit warms up, and the largest copy it does so with: what warms is the path, not the buffer. */
const warmupNs = 300e3;
const maxWarmupBytes = 4 * 1024 * 1024;
const maxWarmupCopies = 64;

/** Until a load that has just started is at the clocks and temperatures at which it goes on. */
export const loadSettlingNs = 300e6;

/** How long the load is looked at by itself before and after each visit: about a hundred pieces of its work. */
export const loadAloneNs = 50e6;

/** Copies a worker makes for one sample, from the time that one copy took while calibrating. */
export function copiesPerSample(
  { mode, timer, workers }: { mode: Mode; timer: Timer; workers: number },
  copyNs: number,
): number {
  if (mode === "latency") return 1;
  const least = workers > 1 ? minCopiesOfSeveralWorkers : 1;
  const most = timer === "event" ? maxHeldCopies : maxCopiesPerSample;
  return Math.min(most, Math.max(least, Math.ceil(sampleNs / copyNs)));
}

/**
 * Copies and their size for the warm-up of a visit. A warm cell's go over the whole of its buffer, which must be in
 * the cache before it is timed.
 */
export function warmup(
  cell: Pick<Cell, "sizeBytes" | "cache" | "blockBytes">,
  copyNs: number,
): { warmupCopies: number; warmupBytes: number } {
  const { sizeBytes, cache } = cell;
  const warmupBytes = cache === "warm" ? sizeBytes : wholeBlocks(cell, maxWarmupBytes);
  const oneNs = (copyNs * warmupBytes) / sizeBytes;
  return { warmupCopies: Math.min(maxWarmupCopies, Math.max(1, Math.ceil(warmupNs / oneNs))), warmupBytes };
}

/** Copies a worker makes to calibrate: small ones in a batch, so that the synchronisation does not drown them. */
export function calibrationCopies(cell: { mode: Mode; sizeBytes: number }): number {
  const batchBytes = 4 * 1024 * 1024;
  return cell.mode === "latency" ? 1 : Math.min(32, Math.max(1, Math.floor(batchBytes / cell.sizeBytes)));
}

/** What every cell gets, whatever the budget: the count asked for, or enough for an interval. */
export function leastSamples(mode: Mode, fixed: number | null): number {
  return fixed ?? minSamplesPerCell * copiesPerVisitUnit(mode);
}

/** Samples of one round while `missing` of the `least` are still to be taken. */
export function samplesOfRound(least: number, missing: number): number {
  return Math.min(missing, Math.ceil(least / leastRounds));
}

/** Samples of one visit beyond the least; none where a fixed count was asked for. */
export function extraSamples(mode: Mode, fixed: number | null): number {
  return fixed === null ? samplesPerExtraRound * copiesPerVisitUnit(mode) : 0;
}

function copiesPerVisitUnit(mode: Mode): number {
  return mode === "latency" ? latencyCopiesPerSample : 1;
}
