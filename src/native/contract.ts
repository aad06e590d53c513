/**
 * The interface of the compiled addon, written by hand: the boundary between TypeScript (policy) and C++ (mechanism).
 * Times are in nanoseconds, sizes in bytes, both plain numbers (2^53 bytes and 104 days are enough). Every call that
 * measures is asynchronous and, after `abort()`, ends early with its results.
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

/** How host memory is allocated. Staged and host copies use a pageable arena, mapped ones a pinned arena. */
export type ArenaKind = "pageable" | "pinned" | "registered" | "write-combined" | "file" | "file-registered";

/** Ways of obtaining memory whose cost is timed. */
export type PinningKind = "pageable" | "pinned" | "registered";

/** The exports of the compiled module. */
export interface NativeAddon {
  readonly build: BuildInfo;
  /**
   * Opens a driver library (libcuda.so.1 or the emulated one) and, with a path, NVML, without calling `cuInit`. A
   * missing NVML is no error. Throws a NativeError: `LIBRARY_NOT_FOUND` if the file is missing, `LIBRARY_UNUSABLE` if
   * it does not load, `NOT_A_CUDA_DRIVER` with the missing symbols.
   */
  openDriver(paths: { driver: string; nvml: string | null }): NativeDriver;
  /**
   * A meeting point for measure() calls of sessions in this process or in others. Throws a NativeError
   * `RENDEZVOUS_FAILED` if the system has no file or memory for it.
   */
  createRendezvous(): NativeRendezvous;
  /** Opens one that another process of this user made, by its `path`; throws like createRendezvous(). */
  openRendezvous(path: string): NativeRendezvous;
  /**
   * Asks the kernel to drop the pages of files (posix_fadvise) once they are on storage. File systems in memory keep
   * theirs; files that cannot be opened are skipped.
   */
  dropFromPageCache(files: readonly string[]): Promise<void>;
  /**
   * Has the kernel send SIGCONT to this process when its parent ends (prctl(2), PR_SET_PDEATHSIG), so that one that was
   * stopped together with its parent notices.
   */
  wakeAsParentEnds(): void;
}

/** A driver library that is open. */
export interface NativeDriver {
  /** Calls cuInit (slow, because it may wake the GPU) and reads the constant facts. Fails with the driver's error. */
  initialize(): Promise<DriverFacts>;
  openSession(options: SessionOptions): Promise<NativeSession>;
  /** The processes with a context on a device, including this one, from NVML; null without its report. */
  readProcesses(pciBusId: string): Promise<DeviceProcess[] | null>;
  /** A device's current activity for any process; null without NVML. Takes about 40 ms. */
  readActivity(pciBusId: string): Promise<DeviceActivity | null>;
  /** The state of a device; null if NVML does not know it. May be called while a session measures. */
  readHealth(pciBusId: string): Promise<DeviceHealth | null>;
}

/** Lets several measure() calls take their samples together: a barrier, and the state of each flow. */
export interface NativeRendezvous {
  /** Its path for other processes while this process lives; nothing is left when both have ended. */
  readonly path: string;
  /**
   * Before each use, while no call is in it: the number of threads of each flow, at least one. A flow moves one
   * direction of one device, in any session or process.
   */
  reset(flows: readonly number[]): void;
  /** Releases all waiting threads: their calls end with `aborted`. */
  cancel(): void;
}

export interface SessionOptions {
  device: number;
  /** CPUs that the session's threads may run on (each thread may use all of them). */
  cpus: number[];
  /** Number of threads that touch, fill and compare memory: the CPUs within the cgroup's quota. */
  threads: number;
  /** Preferred node of host memory; null leaves it to the system. */
  numaNode: number | null;
  /** Seed of the test pattern, 0 to 2^53. */
  seed: number;
  /** Whether reserveHost() asks the system for the nodes of the pages (no); it always does for those of a file. */
  reportsNodes?: boolean;
  /** Where reserveHost() makes the files of memory `file` and `file-registered`, without names; these need it. */
  fileFolder?: string;
}

/** A device's context, with the memory, threads and streams that measure on it. */
export interface NativeSession {
  readonly opening: SessionOpening;
  /**
   * Allocates and fills host memory of one kind; a larger geometry replaces a smaller one. Calls for different kinds
   * may overlap: one is pinned while another is touched.
   */
  reserveHost(kind: ArenaKind, geometry: ArenaGeometry): Promise<ArenaReport>;
  /** Allocates device memory; all arenas of a session have one chunk size. `copies` is 2 for d2d and p2p. */
  reserveDevice(geometry: ArenaGeometry, copies: 1 | 2): Promise<undefined>;
  /** Rings of pinned slots for staged and host copies, one per worker. */
  reserveStaging(ring: StagingRing): Promise<undefined>;
  measure(request: MeasureRequest): Promise<MeasureResult>;
  /** Time to obtain one buffer, ready to copy from, and to free it; pageable is new memory, touched by one thread. */
  measurePinning(kind: PinningKind, sizeBytes: number): Promise<PinningCost>;
  /**
   * The duration, in nanoseconds, of one copy of 4 KiB from new pinned memory, the session's first copy if called first. The thread
   * rests for `restMs`, at most 1000, after allocating that memory, and then copies at once.
   */
  measureFirstCopy(restMs: number): Promise<number>;
  /**
   * Obtains pinned memory like a program that keeps a pool, in the requested way and number of pieces. Rejects with
   * `INVALID_REQUEST`, `OUT_OF_HOST_MEMORY`, `NO_HUGE_PAGES` (hugetlbfs has too few), `TOO_MANY_THREADS`, `ABORTED`, or
   * the driver's error; nothing of it is left then.
   */
  obtainPool(options: PoolOptions): Promise<NativePool>;
  memoryInfo(): { freeBytes: number; totalBytes: number };
  /**
   * Starts a model of a training job's loader; nothing else may be measured until it is closed. Rejects with
   * `INVALID_REQUEST`, `NO_KERNELS` (for a step), `LOADER_OPEN`, `TOO_MANY_THREADS`, or the driver's error.
   */
  openLoader(options: LoaderOptions): Promise<NativeLoader>;
  /**
   * Copies weights from files to the device once; nothing else is measured meanwhile. A file that is cut while it is
   * mapped ends this process with SIGBUS. Rejects with `INVALID_REQUEST`, `FILE_UNREADABLE`, `FILE_CHANGED`,
   * `OUT_OF_HOST_MEMORY`, `TOO_MANY_THREADS`, `ABORTED`, or the driver's error.
   */
  loadWeights(request: WeightsRequest): Promise<WeightsPass>;
  /**
   * Starts work that keeps the device or the host's memory busy during the session's other work, and resolves once it
   * runs. Several may run at once. Device memory is allocated here and freed by stop(), which can make the device wait
   * for all of its work. Rejects with `INVALID_REQUEST`, `NO_KERNELS` (for the device), `NO_NVML` (for its call),
   * `OUT_OF_HOST_MEMORY`, `TOO_MANY_THREADS`, `ABORTED`, or the driver's error.
   */
  startLoad(options: LoadOptions): Promise<NativeLoad>;
  /** Makes the current call, and every later one, end when the driver call in flight returns. */
  abort(): void;
  close(): Promise<void>;
}

/** What opening a session took, and whether kernels run in it. */
export interface SessionOpening {
  /** Retaining the primary context and making it current. */
  contextNs: number;
  /** Why kernels cannot be used (mapped memory is then skipped, and verifying reads back); null if they can. */
  kernelsOff: string | null;
  /** The session's zero on the steady clock; sample starts are relative to it. */
  openedAtNs: number;
}

/**
 * A worker's arena consists of separate allocations of `chunkBytes`; no buffer spans two. Buffers of S bytes are at
 * multiples of S rounded up to 512 within a chunk, chunk after chunk. A cell has W workers, or 2 W for bidir
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
  /** The slots that host cells copy to and from, in the same memory; 0 and 0 for the ring's own. */
  hostSlots: number;
  hostChunkBytes: number;
}

/** Host memory of one kind that was reserved. */
export interface ArenaReport {
  bytes: number;
  /** Bytes in transparent huge pages; null if that does not apply or is unknown. */
  hugePageBytes: number | null;
  /**
   * Pages on each NUMA node, of all or of a sample. Empty unless the session reports nodes, and if the system does not tell.
   */
  pagesOfNode: { node: number; pages: number }[];
}

/**
 * A request for some samples of a cell. A warm cell's destinations stay in the CPU's caches while they are prepared.
 * Memory `host` is copied only by the CPU: h2d from the pageable arena into the slots of the worker's ring, one slot
 * length at a time, d2h out of the slots. It has no bidir and no link to read.
 */
export interface MeasureRequest
  extends Pick<Cell, "direction" | "memory" | "sizeBytes" | "workers" | "mode" | "cache"> {
  /** Number of buffers in each worker's rotation; 1 for a warm cell. */
  buffers: number;
  /** Index in the rotation of this call's first copy. */
  firstBuffer: number;
  /** Number of copies by each worker before the clock starts, at least 1, and their size (at most `sizeBytes`). */
  warmupCopies: number;
  warmupBytes: number;
  copiesPerSample: number;
  samples: number;
  /**
   * "last" compares the content of each buffer at the end. "every" compares after each sample, outside its window, and
   * before it fills the sources with new bytes. So no two copies of a sample may go to one buffer (copiesPerSample is
   * at most `buffers`), and copies outside the window, which several flows make, go to a buffer of their own, for which
   * arenas have room after the rotation.
   */
  verify: Verifying | "none";
  /** Whether to read link and clocks during the warm-up, which lasts until they are read. */
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
 * The other device of a copy between two. The session whose measure() is called drives the copy, with its own streams:
 * the source's for the paths that write and for `through-host`, the destination's for those that read. Both sessions
 * have the same driver and seed, and reserved device memory, the destination with `copies` 2; the other one waits
 * meanwhile, and an abort of either ends the call. Peer access is enabled for both devices, or for `through-host`
 * disabled for both, before anything is timed; close() restores it, and until then a session holds the contexts of its
 * peers. Fails with the driver's error if the devices have no access to each other, and with `NO_PEER_COPIES` if it
 * lacks the calls.
 */
export interface PeerCopy {
  session: NativeSession;
  path: PeerPath;
}

/**
 * Other calls that take the same number of samples at the same time. All threads of all calls begin a sample together,
 * and threads that are done copy on until every flow is done, so that no flow is measured while another is idle. A call
 * that fails or is aborted cancels the rendezvous, at any point. Sample starts of several processes are on one clock, each from
 * its session's zero.
 */
export interface Company {
  rendezvous: NativeRendezvous;
  /** The flow of this call's first direction; the second one of bidir uses the next. */
  flow: number;
}

/**
 * A batch (one copy of the cell, h2d from pinned, pageable or registered memory) that is copied in `chunks` pieces on one
 * stream; on a second stream a kernel follows each piece. The batch ends with its last kernel, and only then the next
 * one begins: with one chunk the duration is the sum of both parts. At most one chunk per 512 bytes; the pieces differ
 * by at most 512 bytes.
 */
interface Pipeline {
  chunks: number;
  /** Time of all kernels of a batch, up to a minute: each keeps all multiprocessors busy for its share by bytes. */
  computeNs: number;
}

/**
 * A copy of `sizeBytes`, at most 32 GiB, in blocks: h2d, d2h or bidir, throughput, cold, without company or
 * pipeline. Each worker's rotation, `buffers` of `sizeBytes` each, is divided into places of `bytes`, and
 * the places of each side are shuffled separately, by the session's seed: copy i uses the i-th run of places on both
 * sides. The address lists are ready in host memory before a sample; for kernels, each copy sends its own list to the
 * device within its time. All ways use pinned or pageable memory, except `kernel`, which needs pinned memory; `gather`
 * goes through the worker's staging ring, and needs as much device memory as the ring has. Blocks larger than a slot go
 * through it in pieces, without a kernel. With `verify`, every block is compared; mismatches are reported at the places
 * where blocks should have arrived. Rejects with `NO_KERNELS` for `kernel` and `gather` if none are loaded, with
 * `NO_BATCH_COPIES` if the driver lacks cuMemcpyBatchAsync, with `NOT_RESERVED` if `gather` has no
 * staging ring or the device does not map the memory, and with `INVALID_REQUEST` for an impossible copy.
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

/** The samples of one call, and its other results. */
export interface MeasureResult {
  /** One entry per direction: two for bidir (h2d, d2h), otherwise one. */
  columns: SampleColumns[];
  /**
   * Number of bytes compared, and every wrong buffer (at most 8 are described). For host cells: h2d each slot with its
   * last piece (offsets are within the ring), d2h each piece of a buffer.
   */
  verification: Verification;
  link: LinkRecord | null;
  /** True after abort() or the end of its company: then there are no columns, because their data was not compared. */
  aborted: boolean;
}

/**
 * Throughput: an entry per sample, from the direction's first start to its last end; the bytes moved in it are `workers
 * x copiesPerSample x sizeBytes`. Latency: an entry per copy and worker, of `sizeBytes` (sample-major, then worker).
 * For bidir, the direction that is done first copies on until the other one is done too.
 */
export interface SampleColumns {
  direction: DirectionMoved;
  /** From the session's zero. */
  startNs: Float64Array;
  durationNs: Float64Array;
  /**
   * For throughput: from the sample's start until the last call of a worker's copies has returned, without waiting for
   * their end; for `gather` to the host, until the CPU has put the last block into its place. The mean of the workers.
   * Empty for latency.
   */
  hostNs?: Float64Array;
}

/**
 * Work during a measurement. `compute`: multiplications of matrices in half precision on the tensor cores, only in
 * registers. `memory`: copies within the device's memory, of more than its caches hold. `host`: `hostThreads` threads
 * copy between the halves of `hostBytes` of ordinary memory, each its share of at least 64 KiB; the other two need
 * neither. The device's loads have a stream and a sleeping thread of their own, and launch about half a millisecond of
 * work at a time, calibrated at the start. A watched call is made once a millisecond, or at once if the last one took
 * longer; each is a completion.
 */
export interface LoadOptions {
  kind: Exclude<Beside, "none"> | WatchedCall;
  hostThreads: number;
  hostBytes: number;
}

/** A running load: until stop(), an abort, or the session's close(). */
export interface NativeLoad {
  /**
   * The work completed since the last call, or since the start. Throws the NativeError that ended the load, if any,
   * because later measurements would have been alone.
   */
  completions(): LoadCompletions;
  /** Ends all of its threads, and frees its memory. Rejects with the NativeError that ended the load before. */
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
