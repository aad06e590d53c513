import type { PoolWay } from "../settings/choices.js";

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
