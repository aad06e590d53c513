import type { MemorySpeed } from "../host/memory.js";
import type { ArenaKind } from "../native/contract.js";
import type { Cell } from "../results/cell-schema.js";
import { copiesHostMemory, isBatch, type Memory } from "../settings/choices.js";
import type { PlanFacts } from "./facts.js";
import { threadCount } from "./geometry.js";

/**
 * Speeds of a machine in the parts of a run, only for estimating its time: no measurement depends on them. Rates are in
 * bytes per nanosecond (GB/s), of all workers together.
 */
export interface MachineSpeed {
  /** Starting Node and loading pinbench, without the driver. */
  processStartNs: number;
  /** The same for a worker process, which loads less. */
  workerStartNs: number;
  /** Asking NVML, before and after measuring, for other users and activity of a device. */
  noticingNs: number;
  /** Creating a context. */
  contextNs: number;
  /** Mapping or pinning memory and filling it for the first time, one kind after the other. */
  reserveGBps: Readonly<Record<ArenaKind | "device", number>>;
  /** Freeing it. */
  releaseGBps: { pinned: number; other: number };
  /** From freeing it to the end of the process. */
  endingNs: number;
  /** Obtaining and freeing a byte in all the timed ways. */
  pinningNsPerByte: number;
  /** Copies of a cell, without cached data. */
  copyGBps: (cell: Cell) => number;
  /** How much faster the short calibrating copies are, which caches hold: samples then have more copies than planned. */
  calibrationGain: number;
  /** Time of a copy regardless of its size. */
  copyOverheadNs: Readonly<Record<Memory, number>>;
  /** Time of each of a copy's blocks regardless of its bytes; workers take turns in the driver. */
  blockNs: (cell: Cell) => number;
  /** Time of a visit without its copies and their check, and time of a calibration. */
  visitNs: number;
  calibrationNs: number;
  /** How much more this many devices do at once than one: as much as their number, unless they share the work of CPUs. */
  gainAtOnce: (devices: number) => number;
  /** Overwriting destinations before copies and comparing them afterwards, by location. */
  checkGBps: { host: number; device: number };
  /** The same if every copy is compared: sources filled, destinations overwritten, compared, and both restored. */
  everyPassGBps: number;
  /** Starting a load, without the time to settle. */
  loadStartNs: number;
  /** Relative standard deviation of a sample from the median of its cell. */
  sampleSpread: (cell: Cell) => number;
}

/** Facts of a machine that determine its speed. */
export interface SpeedFacts extends Pick<PlanFacts, "emulated" | "cpusUsable"> {
  /** The speed of the host's memory; null if it was not measured. */
  memorySpeed: MemorySpeed | null;
}

/** The speed of this machine, as far as it is known before measuring. */
export function machineSpeed(facts: SpeedFacts): MachineSpeed {
  return facts.emulated ? emulatedSpeed(facts) : gpuSpeed(facts);
}

/**
 * Round figures for machines with an H200 and 16 or 32 CPUs, PCIe 5.0 x16, from the start and end times of samples in
 * recorded results, and from their cold start (results/nvidia-h200).
 */
function gpuSpeed({ cpusUsable }: SpeedFacts): MachineSpeed {
  const checkGBps = Math.min(38, 2.5 * cpusUsable);
  return {
    processStartNs: 320e6,
    workerStartNs: 150e6,
    noticingNs: 50e6,
    contextNs: 120e6,
    reserveGBps: {
      pageable: 8,
      pinned: 3.4,
      registered: 20,
      "write-combined": 3.4,
      device: 100,
    },
    releaseGBps: { pinned: 7, other: 20 },
    endingNs: 80e6,
    pinningNsPerByte: 1.2,
    copyGBps: gpuCopyGBps,
    calibrationGain: 1.2,
    copyOverheadNs: {
      pageable: 9e3,
      staged: 10e3,
      host: 1e3,
      pinned: 8e3,
      registered: 8e3,
      "write-combined": 8e3,
      mapped: 8e3,
      system: 8e3,
      device: 8e3,
    },
    blockNs: gpuBlockNs,
    visitNs: 1e6,
    gainAtOnce: (devices) => devices,
    calibrationNs: 1.5e6,
    checkGBps: { host: checkGBps, device: 400 },
    everyPassGBps: checkGBps / 1.3,
    loadStartNs: 50e6,
    sampleSpread: gpuSampleSpread,
  };
}

/** For the host's own copies each thread adds to the rate, up to the memory's limit. */
function gpuCopyGBps(cell: Cell): number {
  const { direction, memory, workers, beside, blockWay } = cell;
  // The link carries both directions at once.
  const ways = direction === "bidir" && memory !== "pageable" ? 1.7 : 1;
  // One thread gathers blocks of 4 KiB to 1 MiB at 5.5 to 8.8 GB/s, and a kernel copies any at about 50.
  if (blockWay === "gather") return Math.min(40, 6 * threadCount(cell));
  if (blockWay === "kernel") return 50 * ways;
  const rates: Readonly<Record<Memory, number>> = {
    pageable: direction === "h2d" ? 8 : 14,
    staged: Math.min(40, 11 * workers),
    host: Math.min(40, 10 * workers),
    pinned: 55,
    registered: 55,
    "write-combined": 55,
    mapped: 45,
    system: 45,
    device: copiesHostMemory(direction) || direction === "p2p" ? 100 : 1500,
  };
  // A load on the host's memory leaves only a part of it.
  const left = beside === "host" ? 0.4 : 1;
  return rates[memory] * ways * left;
}

/**
 * Derived from 4096 blocks of 4 KiB and of 64 KiB on an H200: 1.4 and 16.4 GB/s with a call for each, 2.8 and 38.4 with
 * one call. The link's time for their bytes is subtracted.
 */
function gpuBlockNs({ blockWay }: Cell): number {
  if (blockWay === "loop") return 2_800;
  return isBatch(blockWay) ? 1_000 : 0;
}

/** Samples vary a lot if the host's threads copy; if copy engines do, their duration hardly varies. */
function gpuSampleSpread({ memory, mode, direction, beside, together, blockWay }: Cell): number {
  if (mode === "latency") return 0.05;
  if (blockWay === "gather") return 0.1;
  if (blockWay === "loop" || isBatch(blockWay)) return memory === "pageable" ? 0.1 : 0.02;
  if (memory === "pageable" || memory === "staged" || memory === "host") return 0.1;
  return direction === "bidir" || beside === "host" || together !== undefined ? 0.03 : 0.003;
}

/** For an unmeasured host: a virtual machine with 2 CPUs of 2023. */
const usualMemory = { firstTouchGBps: 1.4, copyGBps: 14 };

/**
 * The host's CPUs do all work of the emulated device by copying memory: each rate is a share of their speed in a
 * measurement of some milliseconds (host/memory.ts). The shares come from runs on a machine with 2 CPUs.
 */
function emulatedSpeed({ memorySpeed, cpusUsable }: SpeedFacts): MachineSpeed {
  const { firstTouchGBps, copyGBps } = memorySpeed ?? usualMemory;
  // The threads of one process copy no faster than one of them; each process has its own emulated device.
  const gainOf = ({ workers, workerKind }: Cell) =>
    workerKind === "process" ? Math.min(2, 1 + 0.4 * (Math.min(workers, cpusUsable) - 1)) : 1;
  const reserveGBps = 0.6 * firstTouchGBps;
  return {
    processStartNs: 300e6,
    workerStartNs: 150e6,
    noticingNs: 0,
    contextNs: 1e6,
    reserveGBps: {
      pageable: reserveGBps,
      pinned: reserveGBps,
      registered: reserveGBps,
      "write-combined": reserveGBps,
      device: 1.5 * firstTouchGBps,
    },
    releaseGBps: { pinned: 10, other: 10 },
    endingNs: 0,
    pinningNsPerByte: 2 / firstTouchGBps,
    copyGBps: (cell) => (cell.memory === "host" ? 1.4 : 0.63 * gainOf(cell)) * copyGBps,
    calibrationGain: 2.2,
    copyOverheadNs: {
      pageable: 16e3,
      staged: 10e3,
      host: 1e3,
      pinned: 2e3,
      registered: 2e3,
      "write-combined": 2e3,
      mapped: 2e3,
      system: 2e3,
      device: 2e3,
    },
    blockNs: emulatedBlockNs,
    visitNs: 1e6,
    // A copy keeps more than one CPU busy: 1.4 with two devices on two CPUs.
    gainAtOnce: (devices) => Math.min(devices, Math.max(1, 0.7 * cpusUsable)),
    calibrationNs: 2.7e6,
    checkGBps: { host: 0.9 * copyGBps, device: 0.52 * copyGBps },
    everyPassGBps: 0.36 * copyGBps,
    loadStartNs: 120e6,
    sampleSpread: ({ mode }) => (mode === "latency" ? 0.2 : 0.15),
  };
}

/** From blocks of 4 KiB there: for each, threads wake each other, and pageable ones also wait for their end. */
function emulatedBlockNs({ direction, memory, blockWay }: Cell): number {
  if (blockWay === "gather") return 600;
  if (blockWay === "kernel") return 200;
  if (memory === "pageable") return direction === "d2h" ? 8_000 : 1_700;
  return blockWay === "loop" ? 1_400 : 200;
}
