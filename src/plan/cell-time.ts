import type { Verifying } from "../settings/kinds.js";
import { blocksOfCopy } from "./blocks.js";
import { computeNs } from "./cell-variants.js";
import type { PlannedCell } from "./cells.js";
import { mostCopiesOfSample, threadCount } from "./geometry.js";
import type { MachineSpeed } from "./machine-speed.js";
import {
  copiesPerSample,
  extraSamples,
  leastSamples,
  loadAloneNs,
  samplesOfRound,
  warmup,
} from "./sampling.js";

/** How a plan's cells are to be measured, as far as their time goes. */
export interface CellTiming {
  /** A fixed count of samples a cell; null where `precision` decides. */
  samplesPerCell: number | null;
  precision: number;
  verify: Verifying;
}

/** The time of one cell. */
export interface CellTime {
  /** Visits for the samples that it gets whatever the budget, one a round. */
  firstVisits: number;
  /** All of these visits, calibration included. */
  firstNs: number;
  /** All visits beyond these that it presumably takes until its interval is as narrow as asked. */
  extraNs: number;
}

/** Estimates the time of a cell that is measured by itself. */
export function cellTime(cell: PlannedCell, timing: CellTiming, speed: MachineSpeed): CellTime {
  const { samplesPerCell, precision, verify } = timing;
  const least = leastSamples(cell.mode, samplesPerCell);
  const samplesPerVisit = samplesOfRound(least, least);
  const firstVisits = Math.ceil(least / samplesPerVisit);
  const { sampleNs, visitNs } = visitTime(cell, verify, speed);
  const extraPerVisit = extraSamples(cell.mode, samplesPerCell);
  const missing = Math.max(0, samplesFor(precision, speed.sampleSpread(cell)) - least);
  const extraVisits = extraPerVisit === 0 ? 0 : Math.ceil(missing / extraPerVisit);
  return {
    firstVisits,
    firstNs: speed.calibrationNs + firstVisits * visitNs(samplesPerVisit) + least * sampleNs,
    extraNs: extraVisits * (visitNs(extraPerVisit) + extraPerVisit * sampleNs),
  };
}

/**
 * Samples until the 95 % interval of their median has a half-width of `precision` times it, where they are spread
 * normally: the median's standard error is sqrt(pi / 2) of the mean's.
 */
function samplesFor(precision: number, spread: number): number {
  return ((1.96 * Math.sqrt(Math.PI / 2) * spread) / precision) ** 2;
}

/** Time of one sample, and the time that a visit of this many samples takes besides. */
function visitTime(cell: PlannedCell, verify: Verifying, speed: MachineSpeed) {
  const bytesPerTurn = threadCount(cell) * cell.sizeBytes;
  const blocksNs = cell.workers * blocksOfCopy(cell) * speed.blockNs(cell);
  const workNs = blocksNs + (cell.chunks === undefined ? 0 : computeNs(cell));
  const turnNs = (gain: number) =>
    speed.copyOverheadNs[cell.memory] + bytesPerTurn / (gain * speed.copyGBps(cell)) + workNs;
  // Larger copies are calibrated by what no cache holds, and warm cells are measured as they were calibrated.
  const isCached = cell.cache === "warm" || cell.sizeBytes <= largestCachedBytes;
  const coldNs = turnNs(cell.cache === "warm" && isCached ? speed.calibrationGain : 1);
  const calibratedNs = turnNs(isCached ? speed.calibrationGain : 1);
  const turns = Math.min(copiesPerSample(cell, calibratedNs), mostCopiesOfSample(cell, verify));
  const { warmupCopies, warmupBytes } = warmup(cell, calibratedNs);
  const warmupNs = (warmupCopies * coldNs * warmupBytes) / cell.sizeBytes;
  const aloneNs = cell.beside === undefined ? 0 : 2 * loadAloneNs;
  const checkNs = (samples: number) => {
    const copied = samples * turns;
    if (verify === false) return 0;
    if (verify === "every") return (copied * bytesPerTurn) / speed.everyPassGBps;
    return checkedBytesNs(cell, Math.min(cell.buffersPerWorker, copied) * bytesPerTurn, speed);
  };
  return {
    sampleNs: turns * coldNs,
    visitNs: (samples: number) => speed.visitNs + warmupNs + aloneNs + checkNs(samples),
  };
}

/** Two of its buffers, on the host and on the device, stay in a CPU's own cache while it is calibrated. */
const largestCachedBytes = 1024 * 1024;

/** Destinations are overwritten before a visit and compared after it; what host cells write lies in a few MiB one way. */
function checkedBytesNs(
  { direction, memory }: PlannedCell,
  bytes: number,
  { checkGBps }: MachineSpeed,
): number {
  if (direction === "bidir") return bytes / 2 / checkGBps.host + bytes / 2 / checkGBps.device;
  if (memory === "host" && direction === "h2d") return 0;
  return bytes / (direction === "d2h" ? checkGBps.host : checkGBps.device);
}
