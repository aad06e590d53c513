import type { ArenaGeometry, ArenaKind, StagingRing } from "../native/contract.js";
import type { Cell } from "../results/cell-schema.js";
import { copiesHostMemory, type Direction, type HostMemory, type Verifying } from "../settings/choices.js";
import { runSettings } from "../settings/table.js";
import { MiB } from "../settings/units.js";
import { blocksOfCopy, gathersBlocks } from "./blocks.js";

/** Buffers start at multiples of this within a chunk; the contract's ArenaGeometry says so. */
const bufferAlignmentBytes = 512;

/** Chunks are whole huge pages, which registered memory is made of. */
const chunkAlignmentBytes = 2 * MiB;

/** No larger than a cell needs: a driver call that pins a chunk cannot be interrupted. */
const preferredChunkBytes = 256 * MiB;

/** Smaller pieces would save little and cost a driver call each. */
const leastSplitChunkBytes = 32 * MiB;

const arenaKinds: readonly ArenaKind[] = ["pageable", "pinned", "registered", "write-combined"];

/** The arenas of one device's session; every device of a plan is measured with the same. */
export interface PlannedArenas {
  host: Partial<Record<ArenaKind, ArenaGeometry>>;
  /** Without workers where no cell uses the device. */
  device: ArenaGeometry;
  /** 2 where copies from device memory to device memory need a source and a destination. */
  deviceCopies: 1 | 2;
  staging: StagingRing | null;
  /** Of the device, beside its arena: gathered blocks arrive in as much memory as the rings that they are gathered in have. */
  gatherBytes: number;
  /** Blocks in the rotations of all workers, as far as kernels take them from lists, and of all ways. */
  blocks: { listed: number; all: number };
}

/**
 * The slots that host cells go round, as the default ring has them: where staged copies are given another ring, the
 * host's memory is still timed as it was.
 */
const hostSlots = {
  hostSlots: runSettings.stagingSlots.default,
  hostChunkBytes: runSettings.stagingChunkBytes.default,
};

const noHostSlots = { hostSlots: 0, hostChunkBytes: 0 };

/** Whether such copies go through the workers' staging rings. */
export function usesStagingRing(cell: Pick<Cell, "memory" | "blockWay">): boolean {
  return cell.memory === "staged" || cell.memory === "host" || gathersBlocks(cell);
}

/**
 * Copies that a worker may make in one sample: where each is compared, none may write over another. A warm cell then has
 * single copies, and one of the host's memory as many as its slots hold, or one.
 */
export function mostCopiesOfSample(cell: RotatingCell, verify: Verifying): number {
  if (verify !== "every") return Number.POSITIVE_INFINITY;
  if (cell.memory !== "host" || cell.direction !== "h2d") return cell.buffersPerWorker;
  const slotsOfCopy = Math.ceil(cell.sizeBytes / hostSlots.hostChunkBytes);
  return Math.min(cell.buffersPerWorker, Math.max(1, Math.floor(hostSlots.hostSlots / slotsOfCopy)));
}

/**
 * The cell as its memory is planned: where every copy is compared, copies outside a sample's window, which keep several
 * flows loaded, have a buffer of their own.
 */
export function withSpareBuffer<Planned extends RotatingCell>(cell: Planned, verify: Verifying): Planned {
  const hasSpare = verify === "every" && (cell.direction === "bidir" || cell.together !== undefined);
  return hasSpare ? { ...cell, buffersPerWorker: cell.buffersPerWorker + 1 } : cell;
}

/** A cell with the length of each worker's rotation. */
export type RotatingCell = Cell & { buffersPerWorker: number };

/** A cell of a plan. */
export interface PlannedCell extends Cell {
  id: string;
  /** Length of each worker's rotation of buffers; 1 for a warm cell. */
  buffersPerWorker: number;
  /** Why it cannot be measured here; null where it can. */
  skipReason: string | null;
}

/** Bytes from one buffer's start to the next one's. */
export function strideBytes(sizeBytes: number): number {
  return roundUp(sizeBytes, bufferAlignmentBytes);
}

/** Into how many chunks a pipeline can divide a copy: each begins where a buffer could. */
export function mostChunks(sizeBytes: number): number {
  return strideBytes(sizeBytes) / bufferAlignmentBytes;
}

/** Threads that a cell keeps busy: for bidir a team for each direction. */
export function threadCount(cell: { direction: Direction; workers: number }): number {
  return cell.direction === "bidir" ? 2 * cell.workers : cell.workers;
}

/** The threads of each flow that a cell keeps going: one flow a direction. */
export function flowThreads({ direction, workers }: { direction: Direction; workers: number }): number[] {
  return direction === "bidir" ? [workers, workers] : [workers];
}

/** Staged and host copies read and write pageable memory; mapped memory is pinned memory that a kernel moves. */
export function arenaKind(memory: HostMemory): ArenaKind {
  if (memory === "staged" || memory === "host") return "pageable";
  return memory === "mapped" ? "pinned" : memory;
}

/**
 * The arenas that hold every one of `cells`, of which there is at least one. All have the same chunk size, because
 * worker, chunk and offset on the host name the buffer on the device too; a host arena has only the workers and
 * chunks that its own cells need.
 */
export function planArenas(
  cells: readonly RotatingCell[],
  staging: { chunkBytes: number; slots: number },
): PlannedArenas {
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
        : { workers: largest(ringThreads), ...staging, ...(hasHostCells ? hostSlots : noHostSlots) },
    gatherBytes: largest(gatherThreads) * staging.slots * staging.chunkBytes,
    blocks: {
      listed: blocksOfWorkers(cells.filter(({ blockWay }) => blockWay === "kernel" || blockWay === "gather")),
      all: blocksOfWorkers(cells),
    },
  };
}

/**
 * The arenas of each worker process. The first takes part in all of the `cells` that processes copy, the last in those of
 * the most workers alone; none where no process copies.
 */
export function planProcessArenas(
  cells: readonly RotatingCell[],
  staging: { chunkBytes: number; slots: number },
): PlannedArenas[] {
  const ofProcesses = cells.filter(({ workerKind }) => workerKind === "process");
  const count = largest(ofProcesses.map(({ workers }) => workers));
  return Array.from({ length: count }, (_, index) => {
    const own = ofProcesses.filter(({ workers }) => workers > index);
    return planArenas(
      own.map((cell) => ({ ...cell, workers: 1 })),
      staging,
    );
  });
}

/** Those of the neediest cell of each worker: what is kept of blocks stays for the next cell. */
function blocksOfWorkers(cells: readonly RotatingCell[]): number {
  const inBlocks = cells.filter(({ blockBytes }) => blockBytes !== undefined);
  let blocks = 0;
  for (let worker = 0; worker < largest(inBlocks.map(({ workers }) => workers)); ++worker) {
    const own = inBlocks.filter(({ workers }) => workers > worker);
    blocks += largest(own.map((cell) => cell.buffersPerWorker * blocksOfCopy(cell)));
  }
  return blocks;
}

/** Bytes of an arena, all workers together. */
export function arenaBytes(geometry: ArenaGeometry): number {
  return geometry.chunksOfWorker.reduce((sum, chunks) => sum + chunks, 0) * geometry.chunkBytes;
}

/**
 * One chunk a worker as long as that stays within 256 MiB; otherwise the chunks, of at most that or of the largest
 * buffer where it is larger (a copy may not span two), that waste least: memory that no cell uses is pinned too.
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

/** Each worker has the chunks of the neediest cell that it takes part in: those of many workers share the cold pool. */
function arenaGeometry(cells: readonly RotatingCell[], chunkBytes: number): ArenaGeometry {
  const chunksOfWorker: number[] = Array(largest(cells.map(threadCount))).fill(0);
  for (const cell of cells) {
    const buffersPerChunk = Math.floor(chunkBytes / strideBytes(cell.sizeBytes));
    const chunks = Math.ceil(cell.buffersPerWorker / buffersPerChunk);
    const lastWorker = threadCount(cell) - 1;
    chunksOfWorker[lastWorker] = Math.max(chunksOfWorker[lastWorker]!, chunks);
  }
  // What the last worker of a cell needs, those before it need too.
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

/** Bytes that a run reserves at one time. */
export interface MemoryNeed {
  /** Devices that are open at the same time: all where some are measured together, or one after the other. */
  devicesAtOnce: number;
  /** Host memory of every kind for these devices, staging rings and worker processes included. */
  hostBytes: number;
  /** The part of it that is page-locked. */
  pinnedBytes: number;
  /** Memory of each device, the contexts of worker processes included. */
  deviceBytes: number;
  /** The part of it that contexts of worker processes take. */
  contextBytes: number;
}

/**
 * What a worker process takes beside its buffers, in round figures: of host memory Node and what the driver maps for a
 * context, of the device's memory the context. An emulated context takes none.
 */
const processHostBytes = 256 * MiB;
const contextDeviceBytes = 640 * MiB;

/** What is open at the same time: the sessions of so many devices, each with as many worker processes beside it. */
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
    hostBytes: devicesAtOnce * (sum(({ hostBytes }) => hostBytes) + processes * processHostBytes),
    pinnedBytes: devicesAtOnce * sum(({ pinnedBytes }) => pinnedBytes),
    deviceBytes: sum(({ deviceBytes }) => deviceBytes) + contextBytes,
    contextBytes,
  };
}

/**
 * What the engine keeps of each block of a call: for a kernel both addresses in pinned memory, and in ordinary memory its
 * addresses otherwise, where it is compared and with what. Of small blocks that is more than their bytes.
 */
const listedBlockBytes = 16;
const blockHostBytes = 64;

type SessionNeed = Pick<MemoryNeed, "hostBytes" | "pinnedBytes" | "deviceBytes">;

/** The sum of a session's arenas. */
function sessionNeed(arenas: PlannedArenas): SessionNeed {
  const bytesOf = (kind: ArenaKind) => {
    const geometry = arenas.host[kind];
    return geometry === undefined ? 0 : arenaBytes(geometry);
  };
  const { staging } = arenas;
  const stagingBytes = staging === null ? 0 : ringBytes(staging);
  const listBytes = arenas.blocks.listed * listedBlockBytes;
  const pinnedBytes =
    bytesOf("pinned") + bytesOf("registered") + bytesOf("write-combined") + stagingBytes + listBytes;
  return {
    hostBytes: bytesOf("pageable") + pinnedBytes + arenas.blocks.all * blockHostBytes,
    pinnedBytes,
    deviceBytes: arenaBytes(arenas.device) * arenas.deviceCopies + arenas.gatherBytes,
  };
}

function ringBytes({ workers, slots, chunkBytes, hostSlots, hostChunkBytes }: StagingRing): number {
  return workers * Math.max(slots * chunkBytes, hostSlots * hostChunkBytes);
}

const pipelineGBps = 50;

/**
 * What the kernels of a pipeline's batch take in all, in ns: about what a copy takes over 16 lanes of PCIe 5.0, on every
 * machine, so that pipelines of two machines can be compared. Where copies take as long, overlapping is worth most.
 */
export function computeNs({ sizeBytes }: Pick<Cell, "sizeBytes">): number {
  return Math.ceil(sizeBytes / pipelineGBps);
}
