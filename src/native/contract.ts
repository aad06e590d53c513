/**
 * The hand-written interface of the compiled addon, between TypeScript (policy) and C++ (mechanism). Times are in
 * nanoseconds, sizes in bytes, both plain numbers (2^53 bytes or 104 days suffice). Every measuring call is
 * asynchronous, and `abort()` ends it early.
 */

import type { DeviceProcess } from "../host/other-programs.js";
import type { Cell, CellResult } from "../results/cell-schema.js";
import type {
  Beside,
  BlockWay,
  DirectionMoved,
  PeerPath,
  Verifying,
  WatchedCall,
} from "../settings/choices.js";
import type { ErrorRecord, LinkRecord, PinningCost } from "../settings/schema-parts.js";
import type { BuildInfo, DeviceActivity, DeviceHealth, DriverFacts } from "./device-contract.js";
import type {
  LoaderOptions,
  NativeLoader,
  NativePool,
  PoolOptions,
  WeightsPass,
  WeightsRequest,
} from "./loader-contract.js";

/** How host memory is allocated. Staged, host and system copies use a pageable arena, mapped a pinned one. */
export type ArenaKind = "pageable" | "pinned" | "registered" | "write-combined" | "file" | "file-registered";

/** Allocation methods whose cost is timed. */
export type PinningKind = "pageable" | "pinned" | "registered";

/** The exports of the compiled module. */
export interface NativeAddon {
  readonly build: BuildInfo;
  /**
   * Opens a driver library (libcuda.so.1 or the emulated one) and, given a path, NVML, without calling `cuInit`. A
   * missing NVML is no error. Throws a NativeError: `LIBRARY_NOT_FOUND` for a missing file, `LIBRARY_UNUSABLE` if it
   * does not load, `NOT_A_CUDA_DRIVER` with the missing symbols.
   */
  openDriver(paths: { driver: string; nvml: string | null }): NativeDriver;
  /**
   * A meeting point for measure() calls of sessions in this process or in others. Throws a NativeError
   * `RENDEZVOUS_FAILED` if the system has no file or memory for it.
   */
  createRendezvous(): NativeRendezvous;
  /** Opens the rendezvous at the `path` of another process of this user. Throws like createRendezvous(). */
  openRendezvous(path: string): NativeRendezvous;
  /**
   * Writes files to storage and asks the kernel to drop their pages (posix_fadvise). File systems in memory keep
   * theirs; files that cannot be opened are skipped.
   */
  dropFromPageCache(files: readonly string[]): Promise<void>;
  /**
   * Makes the kernel send SIGCONT to this process when its parent ends (prctl(2), PR_SET_PDEATHSIG), so that a stopped
   * process notices it too.
   */
  wakeAsParentEnds(): void;
}

/** A driver library that is open. */
export interface NativeDriver {
  /** Calls cuInit (slow, because it may wake the GPU) and reads the constant facts. Fails with the driver's error. */
  initialize(): Promise<DriverFacts>;
  openSession(options: SessionOptions): Promise<NativeSession>;
  /** Processes with a context on a device, including this one, from NVML; null if NVML does not report them. */
  readProcesses(pciBusId: string): Promise<DeviceProcess[] | null>;
  /** A device's current activity by all processes; null without NVML. Takes about 40 ms. */
  readActivity(pciBusId: string): Promise<DeviceActivity | null>;
  /** A device's state; null if NVML does not know the device. May be called while a session measures. */
  readHealth(pciBusId: string): Promise<DeviceHealth | null>;
}

/** Lets several measure() calls take their samples together. It has a barrier, and the state of each flow. */
export interface NativeRendezvous {
  /** Its path for other processes, valid while this process lives. Nothing remains when both have ended. */
  readonly path: string;
  /**
   * Sets the number of threads of each flow, at least one. Call it before each use, while no call uses it. A flow moves
   * data in one direction of one device, in any session or process.
   */
  reset(flows: readonly number[]): void;
  /** Releases all waiting threads; their calls end with `aborted`. */
  cancel(): void;
}

export interface SessionOptions {
  device: number;
  /** CPUs that the session's threads may run on (each thread may use all of them). */
  cpus: number[];
  /** Number of threads that touch, fill and compare memory: CPUs limited by the cgroup's quota. */
  threads: number;
  /** Preferred NUMA node of host memory; null leaves it to the system. */
  numaNode: number | null;
  /** Seed of the test pattern, 0 to 2^53. */
  seed: number;
  /** Whether reserveHost() queries the NUMA nodes of pages (no); for files it always does. */
  reportsNodes?: boolean;
  /** Folder for the unnamed files of memory `file` and `file-registered`, which need it. */
  fileFolder?: string;
}

/** A device's context, with the memory, threads and streams that measure on it. */
export interface NativeSession {
  readonly opening: SessionOpening;
  /**
   * Allocates and fills host memory of one kind; a larger geometry replaces a smaller one. Calls for different kinds
   * may overlap, so that one is pinned while another is touched.
   */
  reserveHost(kind: ArenaKind, geometry: ArenaGeometry): Promise<ArenaReport>;
  /** Allocates device memory. All arenas of a session share one chunk size. `copies` is 2 for d2d and p2p. */
  reserveDevice(geometry: ArenaGeometry, copies: 1 | 2): Promise<undefined>;
  /** Allocates rings of pinned slots for staged, host and gathered copies, one per worker. */
  reserveStaging(ring: StagingRing): Promise<undefined>;
  measure(request: MeasureRequest): Promise<MeasureResult>;
  /** Time to allocate one buffer, ready to copy from, and to free it. Pageable is new memory, touched by one thread. */
  measurePinning(kind: PinningKind, sizeBytes: number): Promise<PinningCost>;
  /**
   * Duration in ns of one 4 KiB copy from new pinned memory; the session's first copy if called first. After allocating
   * that memory the thread sleeps for `restMs`, at most 1000, and copies immediately afterwards.
   */
  measureFirstCopy(restMs: number): Promise<number>;
  /**
   * Allocates pinned memory like a program that keeps a pool, by the requested method in this number of pieces. Rejects
   * with `INVALID_REQUEST`, `OUT_OF_HOST_MEMORY`, `NO_HUGE_PAGES` (hugetlbfs has too few), `TOO_MANY_THREADS`,
   * `ABORTED`, or the driver's error; nothing stays allocated then.
   */
  obtainPool(options: PoolOptions): Promise<NativePool>;
  memoryInfo(): { freeBytes: number; totalBytes: number };
  /**
   * Starts a model of a training job's loader; nothing else may be measured until it is closed. Rejects with
   * `INVALID_REQUEST`, `NO_KERNELS` (for a step), `LOADER_OPEN`, `TOO_MANY_THREADS`, or the driver's error.
   */
  openLoader(options: LoaderOptions): Promise<NativeLoader>;
  /**
   * Copies weights from files to the device once, while nothing else is measured. If a file is truncated while it is
   * mapped, this process ends with SIGBUS. Rejects with `INVALID_REQUEST`, `FILE_UNREADABLE`, `FILE_CHANGED`,
   * `OUT_OF_HOST_MEMORY`, `TOO_MANY_THREADS`, `ABORTED`, or the driver's error.
   */
  loadWeights(request: WeightsRequest): Promise<WeightsPass>;
  /**
   * Starts a load on the device or on host memory, next to the session's other work, and resolves once it runs. Several
   * loads may run at once. It allocates device memory that stop() frees, which can make the device wait for all its
   * work. Rejects with `INVALID_REQUEST`, `NO_KERNELS` (for the device), `NO_NVML` (for its call),
   * `OUT_OF_HOST_MEMORY`, `TOO_MANY_THREADS`, `ABORTED`, or the driver's error.
   */
  startLoad(options: LoadOptions): Promise<NativeLoad>;
  /** Makes the current and every later call end when the current driver call returns. */
  abort(): void;
  close(): Promise<void>;
}

/** The cost of opening a session, and whether kernels run in it. */
export interface SessionOpening {
  /** Time to retain the primary context and make it current. */
  contextNs: number;
  /** Why kernels cannot be used; null if they can. Without them mapped memory is skipped, and verifying reads back. */
  kernelsOff: string | null;
  /** The session's zero on the steady clock; sample starts are relative to it. */
  openedAtNs: number;
}

/**
 * A worker's arena has separate allocations of `chunkBytes`, which no buffer crosses. Buffers of S bytes start at
 * multiples of S rounded up to 512 within a chunk, chunk after chunk. A cell has W workers, for bidir 2 W
 * (host-to-device first).
 */
export interface ArenaGeometry {
  /** One entry per worker. */
  chunksOfWorker: number[];
  chunkBytes: number;
}

/** Rings of pinned slots, one per worker. */
export interface StagingRing {
  workers: number;
  slots: number;
  chunkBytes: number;
  /** Slots in the same memory for host cells to copy to and from; 0 and 0 use the ring's own slots. */
  hostSlots: number;
  hostChunkBytes: number;
}

/** Reserved host memory of one kind. */
export interface ArenaReport {
  bytes: number;
  /** Bytes in transparent huge pages; null if unknown or not applicable. */
  hugePageBytes: number | null;
  /**
   * Number of pages on each NUMA node, of all pages or a sample. Empty if the session does not report nodes, or the
   * system hides them.
   */
  pagesOfNode: { node: number; pages: number }[];
}

/**
 * A request for samples of a cell. Preparing a warm cell keeps its destinations in the CPU's caches. Only the CPU
 * copies memory `host`: h2d from the pageable arena into the worker's ring, one slot length at a time, and d2h out of
 * the slots. It has no bidir and no link.
 */
export interface MeasureRequest
  extends Pick<Cell, "direction" | "memory" | "sizeBytes" | "workers" | "mode" | "cache"> {
  /** Number of buffers in each worker's rotation; 1 for a warm cell. */
  buffers: number;
  /** Index in the rotation of the call's first copy. */
  firstBuffer: number;
  /** Copies by each worker before the clock starts (at least 1), and their size (at most `sizeBytes`). */
  warmupCopies: number;
  warmupBytes: number;
  copiesPerSample: number;
  samples: number;
  /**
   * "last" compares each buffer's content at the end. "every" compares after each sample, outside its window, and then
   * fills the sources with new bytes. So copiesPerSample may not exceed `buffers`. Copies outside the window, which
   * keep other flows loaded, go to a spare buffer after the rotation.
   */
  verify: Verifying | "none";
  /** Whether to read link and clocks during the warm-up, which then lasts until they are read. */
  readLink: boolean;
  /** Absent if nothing else is measured at the same time. */
  company?: Company;
  pipeline?: Pipeline;
  /** Absent for copies in one piece. */
  blocks?: BlockCopy;
  /** For p2p only. */
  peer?: PeerCopy;
}

/**
 * The other device of a copy between two. The session whose measure() is called drives the copy with its own streams:
 * the source's session for paths that write and `through-host`, the destination's for paths that read. Both sessions
 * have the same driver and seed, and reserved device memory, the destination with `copies` 2. The other session waits
 * meanwhile; aborting either ends the call. Before timing, peer access is enabled for both devices, or disabled for
 * `through-host`. close() restores it; until then a session holds its peers' contexts. Fails with the driver's error
 * without peer access, and with `NO_PEER_COPIES` if the driver lacks the calls.
 */
export interface PeerCopy {
  session: NativeSession;
  path: PeerPath;
}

/**
 * Calls that take the same number of samples at the same time. All their threads begin a sample together. Threads that
 * are done keep copying until every flow is done, so that no flow is measured while another is idle. If a call fails or
 * is aborted, it cancels the rendezvous. Sample starts of several processes share one clock, relative to each session's
 * zero.
 */
export interface Company {
  rendezvous: NativeRendezvous;
  /** The flow of this call's first direction; the second direction of bidir uses the next one. */
  flow: number;
}

/**
 * A batch is one copy of the cell (h2d from pinned, pageable or registered memory), in `chunks` pieces on one stream.
 * On a second stream a kernel follows each piece. The next batch begins after the last kernel, so with one chunk the
 * duration is the sum of both parts. At most one chunk per 512 bytes; pieces differ by at most 512 bytes.
 */
interface Pipeline {
  chunks: number;
  /** Time of a batch's kernels in ns, up to a minute. Each keeps all multiprocessors busy for its share by bytes. */
  computeNs: number;
}

/**
 * A copy of `sizeBytes`, at most 32 GiB, in blocks: h2d, d2h or bidir, throughput, cold, without `company` or
 * `pipeline`. Each worker's rotation (`buffers` of `sizeBytes`) is divided into slots of `bytes`, and each side's slots
 * are shuffled separately by the session's seed: copy i uses the i-th run of slots on both sides. Address lists are
 * ready in host memory before a sample; for kernels, each copy's time includes sending its list to the device. All
 * methods use pinned or pageable memory, but `kernel` needs pinned memory. `gather` goes through the worker's staging
 * ring, and needs as much device memory as the ring. Blocks larger than a slot pass in pieces, without a kernel. With
 * `verify`, every block is compared; mismatches are reported where a block should have arrived. Rejects with
 * `NO_KERNELS` for `kernel` and `gather` if none are loaded, with `NO_BATCH_COPIES` if the driver lacks
 * cuMemcpyBatchAsync, with `NOT_RESERVED` if `gather` has no staging ring or the device does not map the memory, and
 * with `INVALID_REQUEST` for an impossible copy.
 */
export interface BlockCopy {
  /** Size of a block: a multiple of 16; `sizeBytes` is a multiple of it. */
  bytes: number;
  way: BlockWay;
}

/** Numbers of compared and of wrong copies, as in a result. */
interface Verification extends Pick<NonNullable<CellResult["verification"]>, "checkedBytes" | "mismatches"> {
  copies: number;
  provenCopies: number;
}

/** Samples and other results of one call. */
export interface MeasureResult {
  /** One entry per direction: two for bidir (h2d, d2h), otherwise one. */
  columns: SampleColumns[];
  /**
   * Number of compared bytes, and the wrong buffers (at most 8). In host cells, h2d compares each slot
   * with its last piece (offsets are within the ring), d2h each piece of a buffer.
   */
  verification: Verification;
  link: LinkRecord | null;
  /** True after abort() or a cancelled rendezvous. Columns are then empty, because their data was not compared. */
  aborted: boolean;
}

/**
 * Throughput: an entry per sample, from the direction's first start to its last end, for `workers x copiesPerSample x
 * sizeBytes` bytes. Latency: an entry of `sizeBytes` per copy and worker (sample-major, then worker). In bidir, the
 * direction that ends first keeps copying until the other ends.
 */
export interface SampleColumns {
  direction: DirectionMoved;
  /** From the session's zero. */
  startNs: Float64Array;
  durationNs: Float64Array;
  /**
   * For throughput: from the sample's start until a worker's last call to start a copy returns, without waiting for the
   * copies; for `gather` to the host, until the CPU has stored the last block. Mean of the workers. Empty for latency.
   */
  hostNs?: Float64Array;
}

/**
 * A load during a measurement. `compute`: half-precision matrix multiplications on the tensor cores, in registers only.
 * `memory`: copies within device memory, larger than its caches. `host`: `hostThreads` threads copy between the halves
 * of `hostBytes` of ordinary memory, each its share of at least 64 KiB; the other loads use neither field. Device loads
 * have their own stream and sleeping thread, and launch about 0.5 ms of work at a time, calibrated at the start. A
 * watched call runs every millisecond, or immediately if the last one took longer; each is a completion.
 */
export interface LoadOptions {
  kind: Exclude<Beside, "none"> | WatchedCall;
  hostThreads: number;
  hostBytes: number;
}

/** A running load: until stop(), an abort, or the session's close(). */
export interface NativeLoad {
  /**
   * Work completed since the last call or the start. Throws the NativeError that ended the load, if any: later
   * measurements would have had no load.
   */
  completions(): LoadCompletions;
  /** Ends its threads and frees its memory. Rejects with the NativeError if one had ended the load. */
  stop(): Promise<void>;
}

/** Pieces of a load's work, of equal size. */
export interface LoadCompletions {
  /** From the session's zero; ascending. The first piece began with the load. */
  atNs: Float64Array;
  /**
   * Size of each piece: floating-point operations (a multiply-add is two), bytes read plus bytes written, or 1 for a
   * call.
   */
  unitsEach: number;
}

/**
 * The error of every failing call. Codes are "CUDA_ERROR_OUT_OF_MEMORY", "LIBRARY_NOT_FOUND", "ABORTED",
 * "OUT_OF_HOST_MEMORY" …
 */
export interface NativeError extends Error, Omit<ErrorRecord, "location"> {
  /** The CUresult; null if no CUDA call failed. */
  cudaResult: number | null;
  /** "file:line" in the C++ sources. */
  location: string;
}
