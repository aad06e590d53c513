import type { PoolWay } from "../settings/choices.js";

/**
 * The model of a training job's loader that the compiled addon offers (`NativeSession.openLoader()`), written by hand as
 * contract.ts is. Times are nanoseconds, sizes are bytes.
 */

/**
 * A loader of the shape of torch's DataLoader, with threads in place of processes: each worker makes whole batches into
 * memory of its own (a fresh memfd a batch), hands them over in order to the consuming thread (which maps that memory
 * anew), by way of a pinning thread where `pinMemory` is set; the consumer copies each to the device and enqueues the
 * step behind the copy. All that the device does is in one stream, as in torch: a copy waits for the step before it.
 */
export interface LoaderOptions {
  /** 0: the consuming thread makes the batches itself. */
  workers: number;
  pinMemory: boolean;
  /** Batches that each worker may have made or be making ahead of the consumer, at least 1; unused with 0 workers. */
  prefetchFactor: number;
  /**
   * Does not wait for a pinned batch's copy before it takes the next batch, nor for the step that the copy comes after;
   * two copies at most are then under way. Of no effect beside a step that blocks.
   */
  nonBlocking: boolean;
  batchSamples: number;
  /** Bytes that a sample takes in its batch. */
  sampleBytes: number;
  /** CPU time that making a sample takes, spent computing; 0 for none beyond writing the sample. */
  sampleCostNs: number;
  /** Files of which each sample reads one from end to end, in an order that `seed` shuffles anew each round; or none. */
  files: string[];
  /**
   * Where it begins in the endless sequence of samples, and how far it goes on from each to the next. Sessions of one
   * seed go through the files in one order: loaders that run at once share it out by a stride.
   */
  firstSample: number;
  sampleStride: number;
  /** Drops each file from the page cache once it has been read, so that storage delivers it every time. */
  dropFiles: boolean;
  /** The training step beside the loader, on the device's compute units; null for none. */
  step: LoaderStep | null;
}

/**
 * So long, or so many multiply-adds (two operations each) for each byte of the batch. The loop waits for a step that
 * `blocks`, as one does that reads the loss, before it takes the next batch.
 */
export type LoaderStep = ({ durationNs: number } | { multiplyAddsPerByte: number }) & { blocks: boolean };

/** A loader that runs. */
export interface NativeLoader {
  /** The step as it takes with nothing beside it; null without one. */
  readonly stepNs: number | null;
  /**
   * The batches that have arrived on the device since the last call: waits for at least one, then returns what there
   * is; none after `waitNs` without any, and at once after an abort or close(). Rejects with what made a thread fail
   * (`FILE_UNREADABLE`, `TOO_MANY_FILES`, `OUT_OF_SHARED_MEMORY`, `OUT_OF_HOST_MEMORY`, a CUDA error, …).
   */
  arrivals(waitNs: number): Promise<LoaderArrivals>;
  /**
   * Stops and joins all threads, gives back all memory. Tells how many samples were begun: the next loader's
   * `firstSample` lies so many strides behind this one's.
   */
  close(): Promise<{ samplesBegun: number }>;
}

/** What a loader has handed over and held. */
export interface LoaderArrivals {
  /** From the moment that openLoader() started the workers; ascending. */
  arrivalsNs: Float64Array;
  /** Sums since the start: the consumer's waiting for batches, and for copies. */
  waitNs: number;
  copyNs: number;
  /** Most memory that batches have held so far, in memfds and pinned (in buffers of a power of two, as torch's are). */
  sharedMemoryBytes: number;
  pinnedBytes: number;
  /** Bytes of files read, and what storage delivered for that; 0 where the kernel does not count it. */
  fileBytes: number;
  storageBytes: number;
  /** Batches made so far, handed over or not, and the sum of what each took where it was made. */
  batchesMade: number;
  makeNs: number;
}

/*
 * What the addon offers to obtain pinned memory; the rest of the boundary is contract.ts.
 */

/** How a pool is obtained: src/settings/choices.ts says what each way is. */
export interface PoolOptions {
  way: PoolWay;
  /** In all. */
  bytes: number;
  /** Allocations that it is made of, as equal as whole pages allow; at least 1. */
  pieces: number;
  /**
   * With one piece: threads that touch its pages before it is registered. With several: threads that obtain them, each by
   * itself from allocating to registering. At least 1, and at most as many as pieces where there are several.
   */
  threads: number;
}

/** A pool of pinned memory: until release(), or the session's close(). */
export interface NativePool {
  /** Until the last byte could be copied, and of that what touching and registering took (of the slowest thread). */
  readonly obtainNs: number;
  readonly touchNs: number;
  readonly registerNs: number;
  /** Backed by huge pages of any kind; null where it cannot be told. */
  readonly hugePageBytes: number | null;
  /** Durations of copies, of `sizeBytes` each (at most a piece), between the device and places all over the pool, in turn. */
  copy(direction: "h2d" | "d2h", sizeBytes: number, copies: number): Promise<Float64Array>;
  /** Gives all of it back, by as many threads as obtained it. A second call does nothing. */
  release(): Promise<{ releaseNs: number }>;
}
