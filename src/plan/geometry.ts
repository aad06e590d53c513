import type { ArenaGeometry, ArenaKind, StagingRing } from "../native/contract.js";
import type { Cell } from "../results/cell-schema.js";
import { copiesHostMemory, type Direction, type HostMemory, type Verifying } from "../settings/choices.js";
import { MiB } from "../settings/units.js";
import { sumOf } from "../stats/variance.js";
import { blocksOfCopy, gathersBlocks } from "./blocks.js";

/** Buffers start at multiples of this in a chunk, as in the contract's ArenaGeometry. */
const bufferAlignmentBytes = 512;

/** Chunks are whole huge pages, because registered memory is made of these. */
const chunkAlignmentBytes = 2 * MiB;

/** Larger chunks are used only if needed, because a driver call that pins a chunk cannot be interrupted. */
const preferredChunkBytes = 256 * MiB;

/** Smaller chunks save little memory, and each costs a driver call. */
const leastSplitChunkBytes = 32 * MiB;

const arenaKinds: readonly ArenaKind[] = [
  "pageable",
  "pinned",
  "registered",
  "write-combined",
  "file",
  "file-registered",
];

export interface PlannedArenas {
  host: Partial<Record<ArenaKind, ArenaGeometry>>;
  /** Has no workers if no cell uses the device. */
  device: ArenaGeometry;
  /** 2 if copies between device memory need a source and a destination. */
  deviceCopies: 1 | 2;
  staging: StagingRing | null;
  /** Device memory beyond the arena: gathered blocks need as much as their rings. */
  gatherBytes: number;
  /** Number of blocks in all threads' rotations: those that kernels take from lists, and those of all methods. */
  blocks: { listed: number; all: number };
}

/** A worker's ring of pinned slots for staged copies. With one slot nothing could overlap. */
const stagingRing = { chunkBytes: 2 * MiB, slots: 3 } as const;

/** The slots of host cells, which copy as staged copies do. */
const hostSlots = { hostSlots: stagingRing.slots, hostChunkBytes: stagingRing.chunkBytes };

const noHostSlots = { hostSlots: 0, hostChunkBytes: 0 };

export function usesStagingRing(cell: Pick<Cell, "memory" | "blockWay">): boolean {
  return cell.memory === "staged" || cell.memory === "host" || gathersBlocks(cell);
}

/**
 * Most copies of a worker in one sample: with --verify every, none may overwrite another. A warm cell then
 * has single copies, and a `host` cell of direction h2d as many as its slots hold, at least one.
 */
export function mostCopiesOfSample(cell: RotatingCell, verify: Verifying): number {
  if (verify !== "every") return Number.POSITIVE_INFINITY;
  if (cell.memory !== "host" || cell.direction !== "h2d") return cell.buffersPerWorker;
  const slotsOfCopy = Math.ceil(cell.sizeBytes / hostSlots.hostChunkBytes);
  return Math.min(cell.buffersPerWorker, Math.max(1, Math.floor(hostSlots.hostSlots / slotsOfCopy)));
}

/**
 * The cell, with an extra buffer if it has several flows and every copy is compared: copies outside a
 * sample's window, which keep the flows loaded, need one.
 */
export function withSpareBuffer<Planned extends RotatingCell>(cell: Planned, verify: Verifying): Planned {
  const hasSpare = verify === "every" && (cell.direction === "bidir" || cell.together !== undefined);
  return hasSpare ? { ...cell, buffersPerWorker: cell.buffersPerWorker + 1 } : cell;
}

export type RotatingCell = Cell & { buffersPerWorker: number };

export interface PlannedCell extends Cell {
  id: string;
  /** Number of buffers in each worker's rotation; 1 for a warm cell. */
  buffersPerWorker: number;
  /** Why it cannot be measured here; null if it can. */
  skipReason: string | null;
}

export function strideBytes(sizeBytes: number): number {
  return roundUp(sizeBytes, bufferAlignmentBytes);
}

/** Most chunks of a pipelined copy: each starts where a buffer could. */
export function mostChunks(sizeBytes: number): number {
  return strideBytes(sizeBytes) / bufferAlignmentBytes;
}

/** Number of threads of a cell: for bidir a team for each direction. */
export function threadCount(cell: { direction: Direction; workers: number }): number {
  return cell.direction === "bidir" ? 2 * cell.workers : cell.workers;
}

/** Number of threads in each flow of a cell; one flow per direction. */
export function flowThreads({ direction, workers }: { direction: Direction; workers: number }): number[] {
  return direction === "bidir" ? [workers, workers] : [workers];
}

/** Staged, host and system copies use pageable memory; mapped memory is pinned memory accessed by a kernel. */
export function arenaKind(memory: HostMemory): ArenaKind {
  if (memory === "staged" || memory === "host" || memory === "system") return "pageable";
  return memory === "mapped" ? "pinned" : memory;
}

/**
 * Arenas for one or more `cells`. All share a chunk size, because worker, chunk and offset on the host also identify
 * the buffer on the device. A host arena has only the workers and chunks that its cells need.
 */
export function planArenas(cells: readonly RotatingCell[]): PlannedArenas {
  const chunkBytes = commonChunkBytes(cells);
  const host: Partial<Record<ArenaKind, ArenaGeometry>> = {};
  for (const kind of arenaKinds) {
    const own = cells.filter((cell) => cell.memory !== "device" && arenaKind(cell.memory) === kind);
    if (own.length > 0) host[kind] = arenaGeometry(own, chunkBytes);
  }
  const ringThreads = cells.filter(usesStagingRing).map(threadCount);
  const gatherThreads = cells.filter(gathersBlocks).map(threadCount);
  const hasHostCells = cells.some(({ memory }) => memory === "host");
  const ofDevice = cells.filter((cell) => cell.memory !== "host");
  return {
    host,
    device: arenaGeometry(ofDevice, chunkBytes),
    deviceCopies: cells.every((cell) => copiesHostMemory(cell.direction)) ? 1 : 2,
    staging:
      ringThreads.length === 0
        ? null
        : { workers: largest(ringThreads), ...stagingRing, ...(hasHostCells ? hostSlots : noHostSlots) },
    gatherBytes: largest(gatherThreads) * stagingRing.slots * stagingRing.chunkBytes,
    blocks: {
      listed: blocksOfThreads(cells.filter(({ blockWay }) => blockWay === "kernel" || blockWay === "gather")),
      all: blocksOfThreads(cells),
    },
  };
}

/**
 * Arenas of each worker process. The first takes part in all cells of processes, the last only in those with the most
 * workers. Empty if no cell uses processes.
 */
export function planProcessArenas(cells: readonly RotatingCell[]): PlannedArenas[] {
  const ofProcesses = cells.filter(({ workerKind }) => workerKind === "process");
  const count = largest(ofProcesses.map(({ workers }) => workers));
  return Array.from({ length: count }, (_, index) => {
    const own = ofProcesses.filter(({ workers }) => workers > index);
    return planArenas(own.map((cell) => ({ ...cell, workers: 1 })));
  });
}

/** The largest need of each thread, summed: lists of blocks are kept for the next cell. */
function blocksOfThreads(cells: readonly RotatingCell[]): number {
  const inBlocks = cells.filter(({ blockBytes }) => blockBytes !== undefined);
  let blocks = 0;
  for (let thread = 0; thread < largest(inBlocks.map(threadCount)); ++thread) {
    const own = inBlocks.filter((cell) => threadCount(cell) > thread);
    blocks += largest(own.map((cell) => cell.buffersPerWorker * blocksOfCopy(cell)));
  }
  return blocks;
}

export function arenaBytes(geometry: ArenaGeometry): number {
  return sumOf(geometry.chunksOfWorker) * geometry.chunkBytes;
}

/**
 * One chunk per worker up to 256 MiB. Beyond that, the size that wastes least, up to 256 MiB or the largest buffer,
 * which may not span chunks: unused memory is pinned too.
 */
function commonChunkBytes(cells: readonly RotatingCell[]): number {
  const needBytes = largest(cells.map((cell) => cell.buffersPerWorker * strideBytes(cell.sizeBytes)));
  if (needBytes <= preferredChunkBytes) return roundUp(needBytes, chunkAlignmentBytes);
  const largestStrideBytes = largest(cells.map((cell) => strideBytes(cell.sizeBytes)));
  const unitBytes = Math.max(roundUp(largestStrideBytes, chunkAlignmentBytes), leastSplitChunkBytes);
  let best = { chunkBytes: 0, totalBytes: Number.POSITIVE_INFINITY };
  const mostUnits = Math.max(1, Math.floor(preferredChunkBytes / unitBytes));
  for (let units = mostUnits; units >= 1; --units) {
    const chunkBytes = units * unitBytes;
    const totalBytes = arenaBytes(arenaGeometry(cells, chunkBytes));
    if (totalBytes < best.totalBytes) best = { chunkBytes, totalBytes };
  }
  return best.chunkBytes;
}

/** Each worker has the chunks of the largest of its cells. In cells with many workers, these share the cold pool. */
function arenaGeometry(cells: readonly RotatingCell[], chunkBytes: number): ArenaGeometry {
  const chunksOfWorker: number[] = Array(largest(cells.map(threadCount))).fill(0);
  for (const cell of cells) {
    const buffersPerChunk = Math.floor(chunkBytes / strideBytes(cell.sizeBytes));
    const chunks = Math.ceil(cell.buffersPerWorker / buffersPerChunk);
    const lastWorker = threadCount(cell) - 1;
    chunksOfWorker[lastWorker] = Math.max(chunksOfWorker[lastWorker]!, chunks);
  }
  // A cell's earlier workers need as much as its last one.
  for (let worker = chunksOfWorker.length - 2; worker >= 0; --worker) {
    chunksOfWorker[worker] = Math.max(chunksOfWorker[worker]!, chunksOfWorker[worker + 1]!);
  }
  return { chunksOfWorker, chunkBytes };
}

/** Math.max(...values) would put up to 20 000 arguments on the stack. */
function largest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}

export interface MemoryNeed {
  /** Number of devices open at once: all if some are measured together, otherwise one. */
  devicesAtOnce: number;
  /** Number of NUMA placements with memory at once: all, or one if they do not fit. */
  placementsAtOnce: number;
  /** Host memory of every kind for these devices, including staging rings and worker processes. */
  hostBytes: number;
  pinnedBytes: number;
  /** Memory of each device, including the contexts of worker processes. */
  deviceBytes: number;
  contextBytes: number;
}

/**
 * Estimated memory of a worker process without buffers: host memory for Node and the driver's mappings, device memory
 * for the context. Emulated contexts need none.
 */
const processHostBytes = 256 * MiB;
const contextDeviceBytes = 640 * MiB;

/** Memory of everything that is open at once: this many devices' sessions, each with this many worker processes. */
export function memoryNeed(
  { arenas, processArenas }: { arenas: PlannedArenas; processArenas: readonly PlannedArenas[] },
  { devicesAtOnce, emulated }: { devicesAtOnce: number; emulated: boolean },
): MemoryNeed {
  const sessions = [arenas, ...processArenas].map(sessionNeed);
  const sum = (pick: (need: SessionNeed) => number) =>
    sessions.reduce((total, need) => total + pick(need), 0);
  const processes = processArenas.length;
  const contextBytes = emulated ? 0 : processes * contextDeviceBytes;
  return {
    devicesAtOnce,
    placementsAtOnce: 1,
    hostBytes: devicesAtOnce * (sum(({ hostBytes }) => hostBytes) + processes * processHostBytes),
    pinnedBytes: devicesAtOnce * sum(({ pinnedBytes }) => pinnedBytes),
    deviceBytes: sum(({ deviceBytes }) => deviceBytes) + contextBytes,
    contextBytes,
  };
}

/**
 * Host memory per block of a call: a kernel needs both addresses in pinned memory; all methods need addresses
 * in ordinary memory, and data to compare. For small blocks that exceeds their bytes.
 */
const listedBlockBytes = 16;
const blockHostBytes = 64;

type SessionNeed = Pick<MemoryNeed, "hostBytes" | "pinnedBytes" | "deviceBytes">;

function sessionNeed(arenas: PlannedArenas): SessionNeed {
  const bytesOf = (kind: ArenaKind) => {
    const geometry = arenas.host[kind];
    return geometry === undefined ? 0 : arenaBytes(geometry);
  };
  const { staging } = arenas;
  const stagingBytes = staging === null ? 0 : ringBytes(staging);
  const listBytes = arenas.blocks.listed * listedBlockBytes;
  const pinnedKinds = ["pinned", "registered", "write-combined", "file-registered"] as const;
  const pinnedBytes = sumOf(pinnedKinds.map(bytesOf)) + stagingBytes + listBytes;
  return {
    hostBytes: bytesOf("pageable") + bytesOf("file") + pinnedBytes + arenas.blocks.all * blockHostBytes,
    pinnedBytes,
    deviceBytes: arenaBytes(arenas.device) * arenas.deviceCopies + arenas.gatherBytes,
  };
}

function ringBytes({ workers, slots, chunkBytes, hostSlots, hostChunkBytes }: StagingRing): number {
  return workers * Math.max(slots * chunkBytes, hostSlots * hostChunkBytes);
}

const pipelineGBps = 50;

/**
 * Total kernel time of a pipeline's batch in ns: about its copy time over 16 lanes of PCIe 5.0, on every machine, so
 * that machines can be compared. If copies take as long, overlapping gains most.
 */
export function computeNs({ sizeBytes }: Pick<Cell, "sizeBytes">): number {
  return Math.ceil(sizeBytes / pipelineGBps);
}
