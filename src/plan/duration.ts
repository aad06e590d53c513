import type { ArenaKind } from "../native/contract.js";
import type { Memory } from "../settings/choices.js";
import type { Verifying } from "../settings/kinds.js";
import { computeNs } from "./cell-variants.js";
import type { PlannedCell } from "./cells.js";
import { arenaBytes, mostCopiesOfSample, type PlannedArenas, threadCount } from "./geometry.js";
import { pinningNs } from "./pinning.js";
import {
  copiesPerSample,
  leastSamples,
  loadAloneNs,
  loadSettlingNs,
  samplesOfRound,
  warmup,
} from "./sampling.js";

/*
 * The rates below are round figures of a PCIe 5.0 x16 machine, for an estimate and nothing else: no measurement
 * depends on them. Bytes a nanosecond are GB/s.
 */

/** Retaining the primary context. */
const contextNs = 350e6;

/** Starting Node and loading the addon, in a worker process; several do so at the same time, on a CPU each. */
const workerStartNs = 300e6;

/** First touch of pageable memory by one worker; a pinning call (4 GiB in 1.25 s); registering huge pages (in 160 ms). */
const allocationGBps: Readonly<Record<ArenaKind, number>> = {
  pageable: 2,
  pinned: 3.4,
  registered: 27,
  "write-combined": 3.4,
};

const copyGBps: Readonly<Record<Memory, number>> = {
  pageable: 10,
  staged: 30,
  host: 12,
  pinned: 50,
  registered: 50,
  "write-combined": 50,
  mapped: 45,
  device: 1500,
};

/** All copies of the emulated device are the host's own. */
const emulatedGBps = 5;

/** Reading back and comparing, all workers of a cell together. */
const verifyGBps = 50;

/** The same where every copy is compared: sources filled, destinations poisoned, compared, and both put back. */
const everyPassGBps = 8;

/** What a copy takes however small it is, and what a visit takes beside its copies. */
const copyOverheadNs = 2e3;
const callNs = 500e3;

/** Estimated times of a run, both including set-up. */
export interface DurationEstimate {
  /** Where every cell has converged with its first samples. */
  leastDurationNs: number;
  /** Where the whole budget is spent; the same with a fixed count of samples. */
  durationNs: number;
  /** The part of both in which the worker processes of one device start; 0 without any. */
  workersStartNs: number;
}

/** How long the plan takes, roughly. */
export function estimateDuration(
  plan: {
    cells: readonly PlannedCell[];
    arenas: PlannedArenas;
    processArenas: readonly PlannedArenas[];
    pinningSizesBytes: readonly number[];
    stopping: { budgetNs: number; samplesPerCell: number | null };
    verify: Verifying;
    deviceCount: number;
  },
  emulated: boolean,
): DurationEstimate {
  const { stopping, verify } = plan;
  let measuringNs = 0;
  for (const cell of plan.cells) {
    // Devices that copy together share the time.
    const devices = cell.together?.length ?? 1;
    measuringNs += cellNs(cell, stopping.samplesPerCell, verify, emulated) / devices;
  }
  measuringNs += loadsSettlingNs(plan.cells, stopping.samplesPerCell);
  const { arenas, processArenas } = plan;
  const reservingNs = [arenas, ...processArenas].reduce((sum, one) => sum + allocationNs(one), 0);
  const oneContextNs = emulated ? 0 : contextNs;
  const workers = processArenas.length;
  // The driver makes one context after the other.
  const workersStartNs = workers === 0 ? 0 : workerStartNs + workers * oneContextNs;
  const deviceNs = oneContextNs + workersStartNs + pinningNs(plan.pinningSizesBytes) + reservingNs;
  const setUpNs = plan.deviceCount * deviceNs;
  const budgetNs = stopping.samplesPerCell === null ? stopping.budgetNs : 0;
  return {
    leastDurationNs: Math.round(setUpNs + measuringNs),
    durationNs: Math.round(setUpNs + Math.max(measuringNs, budgetNs)),
    workersStartNs,
  };
}

function allocationNs(arenas: PlannedArenas): number {
  let totalNs = 0;
  for (const kind of Object.keys(allocationGBps) as ArenaKind[]) {
    const geometry = arenas.host[kind];
    if (geometry === undefined) continue;
    // Each worker touches its own pageable memory, all at once; pinning is one call after the other.
    const parallel = kind === "pageable" ? geometry.chunksOfWorker.length : 1;
    totalNs += arenaBytes(geometry) / parallel / allocationGBps[kind];
  }
  return totalNs;
}

/** All visits of the cell's first samples: warm-up, samples, and verifying the buffers that they wrote. */
function cellNs(
  cell: PlannedCell,
  fixedSamples: number | null,
  verify: Verifying,
  emulated: boolean,
): number {
  const bytesPerTurn = threadCount(cell) * cell.sizeBytes;
  const copyNs = bytesPerTurn / (emulated ? emulatedGBps : copyGBps[cell.memory]);
  const turnNs = copyOverheadNs + copyNs + (cell.chunks === undefined ? 0 : computeNs(cell));
  const { samples, samplesPerVisit, visits } = visitsOf(cell, fixedSamples);
  const turnsPerSample = Math.min(copiesPerSample(cell, turnNs), mostCopiesOfSample(cell, verify));
  const { warmupCopies, warmupBytes } = warmup(cell, turnNs);
  const warmupNs = (warmupCopies * turnNs * warmupBytes) / cell.sizeBytes;
  const turnsPerVisit = samplesPerVisit * turnsPerSample;
  const lastBytes = Math.min(cell.buffersPerWorker, turnsPerVisit) * bytesPerTurn;
  const passNs = verify === "every" ? (turnsPerVisit * bytesPerTurn) / everyPassGBps : lastBytes / verifyGBps;
  const aloneNs = cell.beside === undefined ? 0 : 2 * loadAloneNs;
  const visitNs = callNs + warmupNs + aloneNs + (verify === false ? 0 : passNs);
  return visits * visitNs + samples * turnsPerSample * turnNs;
}

/** How a cell's first samples are spread over visits, one a round. */
function visitsOf({ mode }: PlannedCell, fixedSamples: number | null) {
  const samples = leastSamples(mode, fixedSamples);
  const samplesPerVisit = samplesOfRound(samples, samples);
  return { samples, samplesPerVisit, visits: Math.ceil(samples / samplesPerVisit) };
}

/** In each round every load of a device starts once. */
function loadsSettlingNs(cells: readonly PlannedCell[], fixedSamples: number | null): number {
  const startsOfLoad = new Map<string, number>();
  for (const cell of cells) {
    if (cell.beside === undefined) continue;
    const load = `${cell.device}/${cell.beside}`;
    startsOfLoad.set(load, Math.max(startsOfLoad.get(load) ?? 0, visitsOf(cell, fixedSamples).visits));
  }
  return [...startsOfLoad.values()].reduce((sum, starts) => sum + starts * loadSettlingNs, 0);
}
