import type { Cell } from "../results/cell-schema.js";
import type { Mode } from "../settings/choices.js";
import { wholeBlocks } from "./blocks.js";

/** Numbers of samples and copies per cell, for measuring and for estimating the duration. */

/** A 95 % interval of a median needs 6 samples. */
const minSamplesPerCell = 6;

/**
 * A cell's first samples are spread over this many rounds, so that drift affects all cells alike and each visit draws a
 * new CPU and new addresses. On an H200, twice as many visits with half as many samples reduced the noise between
 * processes of pageable and staged cells from 11.7 to 7.2 %, for 6 % more time (results/nvidia-h200/places.txt).
 */
export const leastRounds = 6;

const samplesPerExtraRound = 4;

/** Intended length of short throughput samples in ns: a synchronisation of 10 µs is then 0.2 % of it. */
const sampleNs = 5e6;

const maxCopiesPerSample = 4096;

/**
 * A sample of several workers ends with the slowest. Single copies would show only that one (1.6 % below the rate on an
 * H200); several in a row show the average.
 */
const minCopiesOfSeveralWorkers = 4;

/** Latency samples are cheap single copies, and their tail needs many: this many per throughput sample. */
const latencySamplesInPlaceOfOne = 50;

/** Duration of a visit's warm-up in ns, and its largest copy: it warms up the path, not the buffer. */
const warmupNs = 300e3;
const maxWarmupBytes = 4 * 1024 * 1024;
const maxWarmupCopies = 64;

/** Time in ns for a new load to reach steady clocks and temperature. */
export const loadSettlingNs = 300e6;

/** Time in ns to measure the load alone before and after each visit: about a hundred pieces of its work. */
export const loadAloneNs = 50e6;

export function copiesPerSample({ mode, workers }: { mode: Mode; workers: number }, copyNs: number): number {
  if (mode === "latency") return 1;
  const least = workers > 1 ? minCopiesOfSeveralWorkers : 1;
  return Math.min(maxCopiesPerSample, Math.max(least, Math.ceil(sampleNs / copyNs)));
}

/**
 * Number and size of the warm-up copies of a visit. In a warm cell they cover the whole buffer, which must be in the
 * cache before timing.
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

/** Copies to calibrate a worker: several small ones, so that the synchronisation does not dominate. */
export function calibrationCopies(cell: { mode: Mode; sizeBytes: number }): number {
  const batchBytes = 4 * 1024 * 1024;
  return cell.mode === "latency" ? 1 : Math.min(32, Math.max(1, Math.floor(batchBytes / cell.sizeBytes)));
}

/** Samples that every cell gets regardless of the budget: the requested number, or enough for an interval. */
export function leastSamples(mode: Mode, fixed: number | null): number {
  return fixed ?? minSamplesPerCell * samplesInPlaceOfOne(mode);
}

/** Samples of a round while `missing` of the minimum `least` are not taken. */
export function samplesOfRound(least: number, missing: number): number {
  return Math.min(missing, Math.ceil(least / leastRounds));
}

/** Samples of one later visit; 0 with a fixed number. */
export function extraSamples(mode: Mode, fixed: number | null): number {
  return fixed === null ? samplesPerExtraRound * samplesInPlaceOfOne(mode) : 0;
}

function samplesInPlaceOfOne(mode: Mode): number {
  return mode === "latency" ? latencySamplesInPlaceOfOne : 1;
}
