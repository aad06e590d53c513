import type { PoolWay, WeightsWay } from "../settings/choices.js";

/**
 * The model of a training job's loader in the compiled addon (`NativeSession.openLoader()`), written by hand like
 * contract.ts. Times are in nanoseconds, sizes in bytes.
 */

/**
 * A loader like torch's DataLoader, with threads instead of processes: each worker makes whole batches in memory of its
 * own (a fresh memfd per batch), and passes them in order to the consuming thread (which maps that memory again), with
 * `pinMemory` through a pinning thread; the consumer copies each to the device and enqueues the step after the copy.
 * All work of the device is in one stream, as in torch: a copy waits for the step before it.
 */
export interface LoaderOptions {
  /** 0: the consuming thread makes the batches itself. */
  workers: number;
  pinMemory: boolean;
  /** Most batches that each worker has made or is making ahead of the consumer, at least 1; unused with 0 workers. */
  prefetchFactor: number;
  /**
   * Whether to take the next batch without waiting for a pinned batch's copy; at most two copies are then under way. No
   * effect with a step.
   */
  nonBlocking: boolean;
  batchSamples: number;
  /** Size of a sample in its batch. */
  sampleBytes: number;
  /** CPU time for making a sample, spent computing; 0 for only writing it. */
  sampleCostNs: number;
  /**
   * Files, of which each sample reads one completely, in an order that `seed` shuffles again each round; may be empty.
   */
  files: string[];
  /**
   * The first index in the endless sequence of samples, and the distance from each to the next. Sessions with one seed
   * use the files in the same order: loaders that run at once divide it by a stride.
   */
  firstSample: number;
  sampleStride: number;
  /** Whether to drop each file from the page cache after reading it, so that storage delivers it every time. */
  dropFiles: boolean;
  step: LoaderStep;
}

/**
 * The training step, on the device's compute units: at least this long, with at least this number of multiply-adds (two
 * operations each) for each byte of the batch; 0 and 0 for none. The loop waits for it before it takes the next batch, as
 * one does that reads the loss.
 */
export interface LoaderStep {
  durationNs: number;
  multiplyAddsPerByte: number;
}

export interface NativeLoader {
  /** Duration of the step alone; null without one. */
  readonly stepNs: number | null;
  /**
   * The batches that have arrived on the device since the last call: waits for at least one, then returns all; none
   * after `waitNs` without any, and at once after an abort or close(). Rejects with the error of a failed thread
   * (`FILE_UNREADABLE`, `TOO_MANY_FILES`, `OUT_OF_SHARED_MEMORY`, `OUT_OF_HOST_MEMORY`, a CUDA error, …).
   */
  arrivals(waitNs: number): Promise<LoaderArrivals>;
  /**
   * Stops and joins all threads, and frees all memory. Returns the number of started samples: the next loader's
   * `firstSample` is this many strides after this one's.
   */
  close(): Promise<number>;
}

/** The batches that a loader has delivered, and its use of memory. */
export interface LoaderArrivals {
  /** Since openLoader() started the workers; ascending. */
  arrivalsNs: Float64Array;
  /** Sums since the start: the consumer's waiting for batches, and for copies. */
  waitNs: number;
  copyNs: number;
  /** Most memory that batches have used so far, in memfds and pinned (in buffers of a power of two, like torch's). */
  sharedMemoryBytes: number;
  pinnedBytes: number;
  /** Bytes that storage delivered for files; 0 if the kernel does not count them. */
  storageBytes: number;
  /** Number of batches made so far, delivered or not, and the sum of their making times. */
  batchesMade: number;
  makeNs: number;
}

/*
 * The addon's interface for obtaining pinned memory; the rest of the boundary is in contract.ts.
 */

/** How to obtain a pool: src/settings/choices.ts describes each way. */
export interface PoolOptions {
  way: PoolWay;
  /** Size of the whole pool. */
  bytes: number;
  /** Number of allocations, as equal as whole pages allow; at least 1. */
  pieces: number;
  /**
   * With one piece: number of threads that touch its pages before it is registered. With several: threads that obtain
   * them, each from allocating to registering. At least 1, and with several pieces at most their number.
   */
  threads: number;
}

/** A pool of pinned memory: until release(), or the session's close(). */
export interface NativePool {
  /** Time until the last byte could be copied, and the parts for touching and registering (of the slowest thread). */
  readonly obtainNs: number;
  readonly touchNs: number;
  readonly registerNs: number;
  /** Bytes in huge pages of any kind; null if unknown. */
  readonly hugePageBytes: number | null;
  /** Pages on each NUMA node, of all or of a sample; empty if the system does not tell. */
  readonly pagesOfNode: readonly { node: number; pages: number }[];
  /**
   * Durations of copies of `sizeBytes` each (at most a piece), between the device and places all over the pool, in
   * turn.
   */
  copy(direction: "h2d" | "d2h", sizeBytes: number, copies: number): Promise<Float64Array>;
  /**
   * Frees all of it, with as many threads as obtained it, and returns the nanoseconds that this took. A second call does
   * nothing.
   */
  release(): Promise<number>;
}

/*
 * The addon's interface for loading weights from files.
 */

/** A tensor, or another stretch of a file. */
export interface WeightsPiece {
  /** Index in the request's files. */
  file: number;
  offset: number;
  bytes: number;
}

/** Copies all pieces once, each to its own place on the device. */
export interface WeightsRequest {
  files: readonly string[];
  pieces: readonly WeightsPiece[];
  way: WeightsWay;
  /** Number of threads that fill slots; mappings are copied by one. At least 1. */
  threads: number;
}

/** One pass over all pieces. */
export interface WeightsPass {
  /** Mapping and registering the files, and undoing both. */
  mapNs: number;
  /** From the first byte to the arrival of the last; for `storage` until the last is read. */
  copyNs: number;
  /** What storage delivered meanwhile; network and virtual file systems may not report it. */
  storageBytes: number;
  /** Bytes that were compared with the files after the pass, and the number of those that differ. */
  checkedBytes: number;
  mismatchedBytes: number;
}
