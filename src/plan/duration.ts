import type { ArenaKind } from "../native/contract.js";
import type { Verifying } from "../settings/choices.js";
import { MiB } from "../settings/units.js";
import { ascending } from "../stats/order-statistics.js";
import { blocksOfCopy } from "./blocks.js";
import type { PlanFacts } from "./facts.js";
import {
  arenaBytes,
  computeNs,
  mostCopiesOfSample,
  type PlannedArenas,
  type PlannedCell,
  threadCount,
} from "./geometry.js";
import { type MachineSpeed, machineSpeed, type SpeedFacts } from "./machine-speed.js";
import {
  copiesPerSample,
  extraSamples,
  leastSamples,
  loadAloneNs,
  loadSettlingNs,
  samplesOfRound,
  warmup,
} from "./sampling.js";

/** Estimated times of a run: of the whole process from start to end, and of its parts. */
export interface DurationEstimate {
  /** Expected duration. */
  durationNs: number;
  /** Duration if every cell converges with its first samples. */
  leastDurationNs: number;
  /** Duration if the whole budget is used; equal for a fixed number of samples. */
  mostDurationNs: number;
  /**
   * Included in each: the time before the first cell, which is `startNs` and then devices, memory and worker processes.
   */
  setUpNs: number;
  /** Starting the process and the driver. */
  startNs: number;
  /** Expected time for measuring. */
  measuringNs: number;
  /** Time for the first samples of all cells. */
  firstSamplesNs: number;
  /** The part of `setUpNs` for starting the worker processes of one device; 0 without any. */
  workersStartNs: number;
}

/** The work to estimate. */
interface Work {
  cells: readonly PlannedCell[];
  arenas: PlannedArenas;
  processArenas: readonly PlannedArenas[];
  pinningSizesBytes: readonly number[];
  stopping: { precision: number; budgetNs: number; samplesPerCell: number | null; isHard: boolean };
  verify: Verifying;
  deviceCount: number;
  /** Each has memory of its own: one a device, and on several NUMA nodes one for each place. */
  sessionCount: number;
}

type Facts = SpeedFacts & Pick<PlanFacts, "driverInitNs">;

/** Estimates the duration of the plan on this machine. */
export function estimateDuration(work: Work, facts: SpeedFacts & { driverInitNs: number }): DurationEstimate {
  const speed = machineSpeed(facts);
  const { stopping, deviceCount, sessionCount } = work;
  const { firstNs, extraNs } = measuringTimes(work, speed);
  const workersStartNs = startingNs(work, speed, facts);
  const startNs = speed.processStartNs + facts.driverInitNs + deviceCount * speed.noticingNs;
  const moreSessionsNs = (sessionCount - deviceCount) * reservingNs(work.arenas, speed);
  const setUpNs = startNs + deviceCount * (deviceNs(work, speed) + workersStartNs) + moreSessionsNs;
  const endNs = sessionCount * releasingNs(work, speed) + speed.endingNs;
  const budgetNs = stopping.samplesPerCell === null ? stopping.budgetNs : 0;
  const leastNs = stopping.isHard ? Math.min(firstNs, budgetNs) : firstNs;
  const measuringNs = Math.max(leastNs, Math.min(budgetNs, firstNs + extraNs));
  const whole = (ns: number) => Math.round(setUpNs + ns + endNs);
  return {
    durationNs: whole(measuringNs),
    leastDurationNs: whole(leastNs),
    mostDurationNs: whole(Math.max(leastNs, budgetNs)),
    setUpNs: Math.round(setUpNs),
    startNs: Math.round(startNs),
    measuringNs: Math.round(measuringNs),
    firstSamplesNs: Math.round(firstNs),
    workersStartNs: Math.round(workersStartNs),
  };
}

/** For all cells: the time for their first samples, and the further time without a budget. */
function measuringTimes({ cells, stopping, verify }: Work, speed: MachineSpeed) {
  let [firstNs, extraNs] = [0, 0];
  const startsOfLoad = new Map<string, number>();
  for (const cell of cells) {
    const time = cellTime(cell, { ...stopping, verify }, speed);
    // Devices that copy together share the time, but are calibrated one after the other.
    const gain = speed.gainAtOnce(cell.together?.length ?? 1);
    firstNs += speed.calibrationNs + (time.firstNs - speed.calibrationNs) / gain;
    extraNs += time.extraNs / gain;
    if (cell.beside === undefined) continue;
    // In each round every load of a device starts once.
    const load = `${cell.device}/${cell.beside}`;
    startsOfLoad.set(load, Math.max(startsOfLoad.get(load) ?? 0, time.firstVisits));
  }
  for (const starts of startsOfLoad.values()) firstNs += starts * (loadSettlingNs + speed.loadStartNs);
  return { firstNs, extraNs };
}

/** Time to open a device, to time the costs of its memory, and to reserve that of its threads. */
function deviceNs({ arenas, pinningSizesBytes }: Work, speed: MachineSpeed): number {
  const pinnedBytes = pinningSizesBytes.reduce((sum, sizeBytes) => sum + sizeBytes, 0);
  const pinningNs = pinningRepetitions * speed.pinningNsPerByte * pinnedBytes;
  return speed.contextNs + pinningNs + reservingNs(arenas, speed);
}

/** Worker processes start at the same time, on a CPU each; the driver accepts them one after the other. */
function startingNs({ processArenas }: Work, speed: MachineSpeed, facts: Facts): number {
  const { cpusUsable, driverInitNs } = facts;
  const count = processArenas.length;
  if (count === 0) return 0;
  const turns = Math.ceil(count / cpusUsable);
  const reserving = processArenas.reduce((sum, arenas) => sum + reservingNs(arenas, speed), 0);
  const contextsNs = count * (driverInitNs + speed.contextNs);
  return turns * speed.workerStartNs + contextsNs + reserving / Math.min(count, cpusUsable);
}

function reservingNs({ host, device, deviceCopies }: PlannedArenas, { reserveGBps }: MachineSpeed): number {
  let ns = (deviceCopies * arenaBytes(device)) / reserveGBps.device;
  for (const kind of Object.keys(host) as ArenaKind[]) ns += arenaBytes(host[kind]!) / reserveGBps[kind];
  return ns;
}

/** Worker processes free their memory at the same time as the threads' session. */
function releasingNs({ arenas: { host } }: Work, { releaseGBps }: MachineSpeed): number {
  const bytesOf = (...kinds: ArenaKind[]) =>
    kinds.reduce((sum, kind) => sum + (host[kind] === undefined ? 0 : arenaBytes(host[kind])), 0);
  return (
    bytesOf("pinned", "write-combined") / releaseGBps.pinned +
    bytesOf("pageable", "registered") / releaseGBps.other
  );
}

/** How cells are measured, as far as it affects their time. */
export interface CellTiming {
  /** A fixed number of samples per cell; null if `precision` decides. */
  samplesPerCell: number | null;
  precision: number;
  verify: Verifying;
}

/** The time of one cell. */
interface CellTime {
  /** Number of visits for the samples that it gets whatever the budget, one per round. */
  firstVisits: number;
  /** Time of all these visits, including calibration. */
  firstNs: number;
  /** Expected time of all further visits until its interval is narrow enough. */
  extraNs: number;
}

/** Estimates the time of a cell that is measured alone. */
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
 * Number of samples until the 95 % interval of their median has a relative half-width of `precision`, for normal
 * samples: the median's standard error is sqrt(pi / 2) times the mean's.
 */
function samplesFor(precision: number, spread: number): number {
  return ((1.96 * Math.sqrt(Math.PI / 2) * spread) / precision) ** 2;
}

/** Time of one sample, and the other time of a visit with this many samples. */
function visitTime(cell: PlannedCell, verify: Verifying, speed: MachineSpeed) {
  const bytesPerTurn = threadCount(cell) * cell.sizeBytes;
  const blocksNs = threadCount(cell) * blocksOfCopy(cell) * speed.blockNs(cell);
  const workNs = blocksNs + (cell.chunks === undefined ? 0 : computeNs(cell));
  const turnNs = (gain: number) =>
    speed.copyOverheadNs[cell.memory] + bytesPerTurn / (gain * speed.copyGBps(cell)) + workNs;
  // Larger copies are calibrated with data that no cache holds, and warm cells are measured like their calibration.
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

/** Up to this size, its two buffers, on the host and on the device, stay in a CPU's own cache during calibration. */
const largestCachedBytes = 1024 * 1024;

/**
 * Destinations are overwritten before a visit and compared after it; host cells write into a few MiB in one direction.
 */
function checkedBytesNs(
  { direction, memory }: PlannedCell,
  bytes: number,
  { checkGBps }: MachineSpeed,
): number {
  if (direction === "bidir") return bytes / 2 / checkGBps.host + bytes / 2 / checkGBps.device;
  if (memory === "host" && direction === "h2d") return 0;
  return bytes / (direction === "d2h" ? checkGBps.host : checkGBps.device);
}

/** Most sizes: the cost of pinning grows in proportion, so a few represent a long sweep. */
const mostSizes = 6;

/** Larger buffers show nothing more, and take seconds; if all are larger, the smallest is used. */
const largestBytes = 256 * MiB;

/** A single allocation may be off by half. */
export const pinningRepetitions = 3;

/**
 * The sizes in bytes for timing allocations: the smallest, the largest and some in between of those that are measured
 * in host memory and may be pinned, ascending.
 */
export function pinningSizes(cells: readonly PlannedCell[], maxPinnedBytes: number): number[] {
  const measured = cells
    .filter(({ memory, sizeBytes }) => memory !== "device" && sizeBytes <= maxPinnedBytes)
    .map(({ sizeBytes }) => sizeBytes);
  const sizes = ascending(measured).filter((sizeBytes, i) => i === 0 || sizeBytes <= largestBytes);
  if (sizes.length <= mostSizes) return sizes;
  const step = (sizes.length - 1) / (mostSizes - 1);
  return Array.from({ length: mostSizes }, (_, i) => sizes[Math.round(i * step)]!);
}
