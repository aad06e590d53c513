import type { PoolWay, WeightsWay } from "../settings/choices.js";

/**
 * A model of a training job's loader in the compiled addon (`NativeSession.openLoader()`), written by hand like
 * contract.ts. Times are in nanoseconds, sizes in bytes.
 */

/**
 * A loader like torch's DataLoader, with threads instead of processes. Each worker makes whole batches in its own
 * memory (a new memfd per batch) and passes them in order to the consumer, which maps that memory again; with
 * `pinMemory`, a pinning thread is in between. The consumer copies each batch to the device and enqueues the step after
 * it. All device work is on one stream, as in torch, so a copy waits for the step before it.
 */
export interface LoaderOptions {
  /** With 0 the consumer makes the batches itself. */
  workers: number;
  pinMemory: boolean;
  /** Most batches that each worker makes ahead of the consumer, at least 1; unused with 0 workers. */
  prefetchFactor: number;
  /**
   * Whether to take the next batch without waiting for a pinned batch's copy; at most two copies are then pending. No
   * effect with a step.
   */
  nonBlocking: boolean;
  batchSamples: number;
  /** Bytes of a sample in its batch. */
  sampleBytes: number;
  /** CPU time spent computing a sample, in ns; 0 only writes it. */
  sampleCostNs: number;
  /** Files to read, each whole for one sample; the session's seed shuffles them each pass. May be empty. */
  files: string[];
  /**
   * First index in the endless sequence of samples, and the distance between two. Sessions with one seed use the files
   * in the same order; loaders that run at once split it by a stride.
   */
  firstSample: number;
  sampleStride: number;
  /** Whether to drop each file from the page cache after reading it, so that storage delivers it every time. */
  dropFiles: boolean;
  step: LoaderStep;
}

/**
 * The training step on the device: at least this long, with at least this number of multiply-adds (two operations each)
 * per byte of the batch; 0 and 0 for none. The loop waits for it before it takes the next batch, like a loop that reads
 * the loss.
 */
export interface LoaderStep {
  durationNs: number;
  multiplyAddsPerByte: number;
}

export interface NativeLoader {
  /** Duration of the step alone; null without one. */
  readonly stepNs: number | null;
  /**
   * Batches that arrived on the device since the last call. Waits for one, then returns all that arrived; none after
   * `waitNs`, and at once after an abort or close(). Rejects with the error of a failed thread (`FILE_UNREADABLE`,
   * `TOO_MANY_FILES`, `OUT_OF_SHARED_MEMORY`, `OUT_OF_HOST_MEMORY`, a CUDA error, …).
   */
  arrivals(waitNs: number): Promise<LoaderArrivals>;
  /**
   * Stops all threads and frees all memory. Returns the number of started samples: the next loader's `firstSample` is
   * this many strides after this one's.
   */
  close(): Promise<number>;
}

/** The batches that a loader has delivered, and its use of memory. */
export interface LoaderArrivals {
  /** Since openLoader() started the workers; ascending. */
  arrivalsNs: Float64Array;
  /** Sums since the start: time that the consumer waited for batches, and for copies. */
  waitNs: number;
  copyNs: number;
  /** Peak memory of batches, in memfds and pinned (in power-of-two buffers, like torch's). */
  sharedMemoryBytes: number;
  pinnedBytes: number;
  /** Bytes that storage delivered for files; 0 if the kernel does not count them. */
  storageBytes: number;
  /** Number of batches made so far, delivered or not, and the total time of making them. */
  batchesMade: number;
  makeNs: number;
}

/* The addon's interface for allocating pinned memory; see contract.ts for the rest. */

/** How to allocate a pool: src/settings/choices.ts describes the methods. */
export interface PoolOptions {
  way: PoolWay;
  /** Size of the whole pool. */
  bytes: number;
  /** Number of allocations of whole pages, as equal as possible; at least 1. */
  pieces: number;
  /**
   * With one piece: threads that touch its pages before it is registered. With several: threads that make the pieces,
   * each from allocating to registering. At least 1, and at most the number of pieces if that exceeds 1.
   */
  threads: number;
}

/** A pool of pinned memory, valid until release() or the session's close(). */
export interface NativePool {
  /** Time until the last byte could be copied, and its parts for touching and registering (of the slowest thread). */
  readonly obtainNs: number;
  readonly touchNs: number;
  readonly registerNs: number;
  /** Bytes in huge pages of any kind; null if unknown. */
  readonly hugePageBytes: number | null;
  /** Number of pages on each NUMA node, of all pages or a sample; empty if the system hides it. */
  readonly pagesOfNode: readonly { node: number; pages: number }[];
  /** Durations of copies of `sizeBytes` (at most a piece) between the device and positions spread over the pool. */
  copy(direction: "h2d" | "d2h", sizeBytes: number, copies: number): Promise<Float64Array>;
  /** Frees the pool with as many threads as allocated it; returns the nanoseconds. A second call does nothing. */
  release(): Promise<number>;
}

/*
 * The addon's interface for loading weights from files.
 */

/** A tensor, or another range of a file. */
export interface WeightsPiece {
  /** Index in the request's files. */
  file: number;
  offset: number;
  bytes: number;
}

/** Copies each piece once, to its own position on the device. */
export interface WeightsRequest {
  files: readonly string[];
  pieces: readonly WeightsPiece[];
  way: WeightsWay;
  /** Number of threads that fill slots, at least 1. Mappings are copied by one thread. */
  threads: number;
}

/** One pass over all pieces. */
export interface WeightsPass {
  /** Time for mapping and registering the files, and for undoing both. */
  mapNs: number;
  /** From the first byte until the last arrives; for `storage` until the last is read. */
  copyNs: number;
  /** Bytes read from storage meanwhile; network and virtual file systems may not report them. */
  storageBytes: number;
  /** Bytes that were compared with the files after the pass, and the number of those that differ. */
  checkedBytes: number;
  mismatchedBytes: number;
}
