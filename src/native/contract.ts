/**
 * Everything the compiled addon offers, written by hand: the one place that says what crosses the boundary
 * between TypeScript (policy) and C++ (mechanism). Times are nanoseconds, sizes are bytes, both plain numbers
 * (2^53 bytes and 104 days are enough). Every call that measures is asynchronous and ends early, with what it
 * has, after `abort()`.
 */

import type { Cell, CellResult } from "../results/cell-schema.js";
import type { ErrorRecord, LinkRecord, PinningCost } from "../results/schema-parts.js";
import type {
  Beside,
  BlockWay,
  DirectionMoved,
  PeerPath,
  Verifying,
  WatchedCall,
} from "../settings/choices.js";
import type {
  BuildInfo,
  DeviceActivity,
  DeviceHealth,
  DeviceProcess,
  DriverFacts,
} from "./device-contract.js";
import type { LoaderOptions, NativeLoader, NativePool, PoolOptions } from "./loader-contract.js";

/** How host memory is allocated. Staged and host copies use a pageable arena, mapped ones a pinned arena. */
export type ArenaKind = "pageable" | "pinned" | "registered" | "write-combined";

/** The ways of obtaining memory whose cost is timed. */
export type PinningKind = Exclude<ArenaKind, "write-combined">;

/** What the compiled module exports. */
export interface NativeAddon {
  readonly build: BuildInfo;
  /**
   * Opens a driver library (libcuda.so.1 or the emulated one) and, where a path is given, NVML; `cuInit` is not
   * called yet. A missing NVML is no error. Throws a NativeError: `LIBRARY_NOT_FOUND` where there is no such file,
   * `LIBRARY_UNUSABLE` where it does not load, `NOT_A_CUDA_DRIVER` with the symbols that are missing.
   */
  openDriver(paths: { driver: string; nvml: string | null }): NativeDriver;
  /**
   * A place where measure() calls meet, of sessions of this process or of others. Throws a NativeError
   * `RENDEZVOUS_FAILED` where the system has no file or memory for it.
   */
  createRendezvous(): NativeRendezvous;
  /** The one that another process of this user made, by its `path`; throws as createRendezvous() does. */
  openRendezvous(path: string): NativeRendezvous;
  /**
   * Asks the kernel to forget the pages of files (posix_fadvise), once they are on storage. It keeps those of file
   * systems that live in memory; files that cannot be opened are passed over.
   */
  dropFromPageCache(files: readonly string[]): Promise<void>;
  /**
   * Has the kernel send SIGCONT to this process when the one that started it ends (prctl(2), PR_SET_PDEATHSIG): one that
   * was stopped together with it can then see that it is alone.
   */
  wakeAsParentEnds(): void;
}

/** A driver library that is open. */
export interface NativeDriver {
  /** Calls cuInit (slow: it may wake the GPU) and reads what does not change. Fails with the driver's error. */
  initialize(): Promise<DriverFacts>;
  openSession(options: SessionOptions): Promise<NativeSession>;
  /** The processes with a context on a device, this one included, as NVML tells; null where it does not. */
  readProcesses(pciBusId: string): Promise<DeviceProcess[] | null>;
  /** What a device does at the moment, for any process; null without NVML. Takes about 40 ms. */
  readActivity(pciBusId: string): Promise<DeviceActivity | null>;
  /** The state that a device is in; null where NVML does not know it. May be called while a session measures. */
  readHealth(pciBusId: string): Promise<DeviceHealth | null>;
}

/** Where several measure() calls take their samples together: a barrier, and which flows are done. */
export interface NativeRendezvous {
  /** Where another process finds it as long as this process lives; nothing of it is left when both have ended. */
  readonly path: string;
  /**
   * Before each use, while no call is in it: the threads of each flow, at least one. A flow moves one direction of one
   * device, in whatever sessions and processes.
   */
  reset(flows: readonly number[]): void;
  /** Lets everybody go: their calls end with `aborted`. */
  cancel(): void;
}

/** Which device a session is for, and where it runs on the host. */
export interface SessionOptions {
  device: number;
  /** CPUs that the session's threads may run on (each thread may use all of them). */
  cpus: number[];
  /** Threads that touch, fill and compare memory: the CPUs within the cgroup's quota. */
  threads: number;
  /** Node that host memory is preferred from; null leaves it to the system. */
  numaNode: number | null;
  /** Seed of the test pattern, 0 to 2^53. */
  seed: number;
}

/** A device's context with the memory, threads and streams that measure on it. */
export interface NativeSession {
  readonly opening: SessionOpening;
  /**
   * Allocates and fills the host memory of one kind; a larger geometry replaces a smaller. Calls for different
   * kinds may overlap: one is pinned while another is touched.
   */
  reserveHost(kind: ArenaKind, geometry: ArenaGeometry): Promise<ArenaReport>;
  /** Allocates the device's memory; all arenas of a session have one chunk size. `copies` is 2 for d2d and p2p. */
  reserveDevice(geometry: ArenaGeometry, copies: 1 | 2): Promise<ArenaReport>;
  /** Rings of pinned slots for staged and host copies, one a worker. */
  reserveStaging(ring: StagingRing): Promise<ArenaReport>;
  measure(request: MeasureRequest): Promise<MeasureResult>;
  /** Time to obtain one buffer ready to copy from, and to give it back; pageable is new memory, touched by one thread. */
  measurePinning(kind: PinningKind, sizeBytes: number): Promise<PinningCost>;
  /**
   * The duration of one copy of 4 KiB from new pinned memory, the first of the session if called before any other. Its
   * thread rests for `restMs`, at most 1000, once that memory is there, and then copies at once.
   */
  measureFirstCopy(restMs: number): Promise<{ durationNs: number }>;
  /**
   * Obtains pinned memory as a program does that keeps a pool of it, in the way and the number of pieces asked for. Rejects
   * with `INVALID_REQUEST`, `OUT_OF_HOST_MEMORY`, `NO_HUGE_PAGES` (hugetlbfs has too few), `TOO_MANY_THREADS`, `ABORTED`, or
   * the driver's error; nothing of it stays then.
   */
  obtainPool(options: PoolOptions): Promise<NativePool>;
  memoryInfo(): { freeBytes: number; totalBytes: number };
  /**
   * Starts a model of a training job's loader; nothing else may be measured until it is closed. Rejects with
   * `INVALID_REQUEST`, `NO_KERNELS` (for a step), `LOADER_OPEN`, `TOO_MANY_THREADS`, or the driver's error.
   */
  openLoader(options: LoaderOptions): Promise<NativeLoader>;
  /**
   * Starts work that keeps the device or the host's memory busy beside whatever else the session does, and resolves
   * once it runs. Several may run at once. Device memory is allocated here and freed by stop(), which can make the
   * device wait for all of its work: not while event-timed cells are measured. Rejects with `INVALID_REQUEST`,
   * `NO_KERNELS` (for the device), `NO_NVML` (for its call), `OUT_OF_HOST_MEMORY`, `TOO_MANY_THREADS`, `ABORTED`, or the driver's error.
   */
  startLoad(options: LoadOptions): Promise<NativeLoad>;
  /** Makes the call that is running, and every later one, end as soon as the driver call in flight returns. */
  abort(): void;
  close(): Promise<void>;
}

/** How a session opened, and what cannot be measured in it. */
export interface SessionOpening {
  /** Retaining the primary context and making it current. */
  contextNs: number;
  /** Why kernels cannot be used (mapped memory is then skipped, verifying reads back); null where they can. */
  kernelsOff: string | null;
  /** Why the event timer cannot be used; null where it can. */
  eventTimerOff: string | null;
  /** How threads wait for the device: always "spin" as yet. */
  syncMode: "spin";
  /** Steady clock at the session's zero; sample starts are relative to it. */
  openedAtNs: number;
}

/**
 * A worker's arena is so many separate allocations of `chunkBytes`; no buffer spans two. Buffers of S bytes lie
 * at multiples of S rounded up to 512 within a chunk, chunk after chunk. Workers of one cell: W, or 2 W
 * for bidir (host-to-device first).
 */
export interface ArenaGeometry {
  /** One entry a worker. */
  chunksOfWorker: number[];
  chunkBytes: number;
}

/** Rings of pinned slots, one a worker. */
export interface StagingRing {
  workers: number;
  slots: number;
  chunkBytes: number;
  /** The slots that host cells copy to and from, in the same memory; 0 and 0 for the ring's own. */
  hostSlots: number;
  hostChunkBytes: number;
}

/** What reserving memory of one kind took. */
export interface ArenaReport {
  bytes: number;
  /** Allocation, first touch and registration. */
  allocateNs: number;
  /** Writing the test pattern; for pageable memory that is its first touch. */
  fillNs: number;
  /** Bytes backed by transparent huge pages; null where that does not apply or cannot be told. */
  hugePageBytes: number | null;
}

/**
 * Some samples of a cell. A warm cell's destinations are left in the CPU's caches while they are made ready.
 * Memory `host` is copied by the CPU alone: h2d from the pageable arena into the slots of the worker's ring, a slot's
 * length at a time, d2h out of the slots. It has no bidir, no event timer and no link to be read.
 */
export interface MeasureRequest
  extends Pick<Cell, "direction" | "memory" | "sizeBytes" | "workers" | "mode" | "timer" | "cache"> {
  /** Length of each worker's rotation of buffers; a warm cell's is 1. */
  buffers: number;
  /** Where in the rotation the first copy of this call starts. */
  firstBuffer: number;
  /** Copies a worker makes before the clock starts, at least 1, and their size (at most `sizeBytes`). */
  warmupCopies: number;
  warmupBytes: number;
  copiesPerSample: number;
  samples: number;
  /**
   * True compares at the end what each buffer holds. "every" does so after each sample, outside its window, and before it
   * gives the sources bytes that were never copied before: no two copies of a sample go to one buffer then
   * (copiesPerSample is at most `buffers`), and copies outside the window, which several flows make, go to a buffer of
   * their own, for which arenas have room behind the rotation.
   */
  verify: Verifying;
  /** Read link and clocks while the warm-up runs (it goes on until they are read). */
  readLink: boolean;
  /** Absent where nothing else is measured at the same time. */
  company?: Company;
  /** Absent where copies are all there is. */
  pipeline?: Pipeline;
  /** Absent where copies are made in one piece. */
  blocks?: BlockCopy;
  /** Of p2p alone. */
  peer?: PeerCopy;
}

/**
 * The other device of a copy between two. The session whose measure() is called drives the copy, with its own streams
 * and timers: it is the source's for the paths that write and `through-host`, the destination's for those that read.
 * Both sessions are of one driver and one seed, and have reserved device memory, the destination with `copies` 2; the
 * other one waits meanwhile, and an abort of either ends the call. Peer access is given to both devices, or for
 * `through-host` taken from both, before anything is timed; close() takes back what was given, until when a session
 * holds the contexts of its peers. Fails with the driver's error where the devices have no access to each other, and
 * with `NO_PEER_COPIES` where it lacks the calls.
 */
export interface PeerCopy {
  session: NativeSession;
  path: PeerPath;
}

/**
 * Other calls that take as many samples at the same time. All threads of all calls begin a sample together, and whoever
 * is done copies on until every flow is, so that none is measured beside an idle one. A call that fails or is aborted
 * cancels the rendezvous, however far it came. By the wall clock, sample starts of several processes are on one clock,
 * each from its session's zero.
 */
export interface Company {
  rendezvous: NativeRendezvous;
  /** The flow of this call's first direction; the second one of bidir has the next. */
  flow: number;
}

/**
 * A batch (one copy of the cell, h2d from pinned, pageable or registered memory, by the wall timer) that is copied in
 * `chunks` pieces on one stream; on a second one a kernel for each piece follows it. The batch is done with its last
 * kernel, and the next one begins only then: with one chunk the duration is the sum of both parts. At most a chunk for
 * each 512 bytes; the pieces differ by 512 bytes at most.
 */
export interface Pipeline {
  chunks: number;
  /** What the kernels of a batch take in all, up to a minute: each keeps all multiprocessors busy for its share by bytes. */
  computeNs: number;
}

/**
 * A copy of `sizeBytes`, at most 32 GiB, in blocks: h2d or d2h, throughput by the wall timer, cold, without company or
 * pipeline. Each worker's rotation, `buffers` of `sizeBytes` each, is divided into places of `bytes`, and the places of
 * each side are shuffled by themselves, by the session's seed: copy i has the i-th run of places of both sides. The lists
 * of addresses stand ready before a sample, in host memory; for kernels each copy sends its own to the device, in its time.
 * Memory is pinned or pageable for all ways but `kernel`, which takes pinned memory alone; `gather` goes through the
 * worker's staging ring, and takes as much memory of the device as the ring has. Blocks larger than a slot go through
 * it in pieces, without a kernel. Every block is compared where `verify` is on; mismatches are told at the places where
 * blocks should have arrived. Rejects with `NO_KERNELS` for `kernel` and `gather` where none are loaded, with
 * `NO_BATCH_COPIES` (for all batches) where the driver lacks cuMemcpyBatchAsync, with `NOT_RESERVED` where there is no staging ring for
 * `gather` or the device does not map the memory, and with `INVALID_REQUEST` for what is no such copy.
 */
export interface BlockCopy {
  /** Of a block: a multiple of 16, of which `sizeBytes` is one. */
  bytes: number;
  way: BlockWay;
  /** Most multiprocessors that the kernel of way `kernel` may use, at least 1; null for all, and for other ways. */
  multiprocessors: number | null;
}

/** What was compared, and what was found wrong: as a result has it. */
export interface Verification
  extends Pick<NonNullable<CellResult["verification"]>, "checkedBytes" | "mismatches"> {
  copies: number;
  provenCopies: number;
}

/** The samples of one call, and what was found beside them. */
export interface MeasureResult {
  /** One entry a direction moved: two for bidir (h2d, d2h), else one. */
  columns: SampleColumns[];
  /**
   * Total bytes compared and every buffer that was wrong (at most 8 are described). Of host cells: h2d each slot with
   * the piece that it got last (offsets are within the ring), d2h each piece of a buffer.
   */
  verification: Verification;
  link: LinkRecord | null;
  /** True after abort() or the end of its company: there are no columns then, for their data was not compared. */
  aborted: boolean;
  /** Outside the samples: poisoning and warming up, and verifying. */
  prepareNs: number;
  verifyNs: number;
}

/**
 * Throughput: an entry a sample, from the direction's first start to its last end; bytes moved in it are
 * `workers x copiesPerSample x sizeBytes`. Latency: an entry a copy and worker, of `sizeBytes` (sample-major, then
 * worker). For bidir the direction that is done first copies on until the other one is done too.
 */
export interface SampleColumns {
  direction: DirectionMoved;
  /** From the session's zero. */
  startNs: Float64Array;
  durationNs: Float64Array;
  /**
   * Of throughput by the wall timer: from the sample's start until the last call that a worker's copies take has returned,
   * waiting for their end left out; by `gather` to the host, until the CPU has put the last block in its place. The mean of the workers.
   */
  hostNs?: Float64Array;
}

/**
 * Work beside a measurement. `compute`: multiplications of matrices in half precision on the tensor cores, in registers
 * alone. `memory`: copies within the device's memory, of more than its caches hold. `host`: `hostThreads` threads copy
 * between the halves of `hostBytes` of ordinary memory, each its share of at least 64 KiB; the other two need neither.
 * The device's loads have a stream and a thread of their own, which sleeps while it waits, and launch about half a
 * millisecond of work at a time, calibrated when they start. A watched call is made once a millisecond, or at once where
 * the last one took longer; each is a completion.
 */
export interface LoadOptions {
  kind: Exclude<Beside, "none"> | WatchedCall;
  hostThreads: number;
  hostBytes: number;
}

/** A load that runs: until stop(), an abort, or the session's close(). */
export interface NativeLoad {
  /** What it holds of the device's memory: eight times its last cache for `memory`, next to nothing for the others. */
  readonly deviceBytes: number;
  /**
   * What was completed since the last call, or since the start. Throws the NativeError that ended the load, if one did:
   * what is measured beside it would have been alone from then on.
   */
  completions(): LoadCompletions;
  /** Ends all of its threads, and gives back its memory. Rejects with the NativeError that ended the load before. */
  stop(): Promise<void>;
}

/** Pieces of a load's work, all of one size. */
export interface LoadCompletions {
  /** From the session's zero; ascending. The first piece began when the load did. */
  atNs: Float64Array;
  /** What each piece was: floating-point operations (a multiply-add is two), bytes read plus bytes written, or 1 for a call. */
  unitsEach: number;
}

/**
 * What every failing call throws or rejects with. Codes are "CUDA_ERROR_OUT_OF_MEMORY", "LIBRARY_NOT_FOUND", "ABORTED",
 * "OUT_OF_HOST_MEMORY", "EVENT_HOLD_TIMEOUT" …
 */
export interface NativeError extends Error, Omit<ErrorRecord, "location"> {
  /** The CUresult, or null where no CUDA call failed. */
  cudaResult: number | null;
  /** "file:line" in the C++ sources. */
  location: string;
}
