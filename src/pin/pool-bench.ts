import { setTimeout as sleep } from "node:timers/promises";
import { readText } from "../host/files.js";
import { bytesIn } from "../host/memory.js";
import { Bench, type BenchOptions } from "../measure/bench.js";
import type { NativeError, NativeLoad, NativeSession } from "../native/contract.js";
import type { NativePool } from "../native/loader-contract.js";
import { type PoolWay, poolWays, type WatchedCall, watchedCalls } from "../settings/choices.js";
import { MiB } from "../settings/units.js";
import type { CallStalls, PinningStalls, PoolShape, ProcessMemory } from "./pinning-document.js";
import { copyBytesOf } from "./pool-shapes.js";
import { stallsOf } from "./stalls.js";

export type PoolSample = Awaited<ReturnType<PoolBench["measure"]>>;

/** Number of copies per direction. */
const copies = 12;

/** Timed calls run this long before anything is pinned. */
const beforehandMs = 10;

/** Size of a warm-up pool, whose time includes the one-time set-up of driver and threads. */
const warmupBytes = 16 * MiB;

/** Allocates pools on one device. Rejects with the driver's or the system's error. */
export class PoolBench {
  readonly #bench: Bench;
  readonly #session: NativeSession;
  readonly #root: string;

  private constructor(bench: Bench, root: string) {
    this.#bench = bench;
    this.#session = bench.session;
    this.#root = root;
  }

  static async open(options: BenchOptions, root = "/"): Promise<PoolBench> {
    return new PoolBench(await Bench.open(options), root);
  }

  /** Allocates a little memory of each kind, and ignores failures. */
  async warmUp(threads: number): Promise<void> {
    for (const way of poolWays) {
      const shape = { way, threads: way === "host-alloc" ? 1 : threads };
      const pool = await this.#obtain(warmupBytes, shape).catch((error: NativeError) => {
        if (error.sticky || error.code === "ABORTED") throw error;
        return null;
      });
      await pool?.release();
    }
  }

  /** Allocates a pool, copies from and to it, and frees it. Failed copies lose only their own figures. */
  async measure(sizeBytes: number, shape: PoolShape) {
    const before = this.#processMemory();
    const pool = await this.#obtain(sizeBytes, shape);
    const copyBytes = copyBytesOf(sizeBytes);
    try {
      const held = this.#processMemory();
      const copied = await copy(pool, copyBytes);
      const releaseNs = await pool.release();
      const isOneCall = shape.way === "host-alloc";
      return {
        obtainNs: pool.obtainNs,
        /** Null if the driver does both in one call. */
        touchNs: isOneCall ? null : pool.touchNs,
        registerNs: isOneCall ? null : pool.registerNs,
        releaseNs,
        ...copied,
        copyBytes,
        hugePageShare: pool.hugePageBytes === null ? null : pool.hugePageBytes / sizeBytes,
        pagesOfNode: [...pool.pagesOfNode],
        memory: { before, held, after: this.#processMemory() },
      };
    } finally {
      await pool.release();
    }
  }

  /** Times this process' calls while one thread pins `bytes` in consecutive pieces. */
  async pinInPieces(
    way: PoolWay,
    bytes: number,
    pieceBytes: number,
  ): Promise<PinningStalls["pieces"][number]> {
    let obtainNs = 0;
    const calls = await this.watchCalls(async () => {
      const pool = await this.#session.obtainPool({ way, bytes, pieces: bytes / pieceBytes, threads: 1 });
      obtainNs = pool.obtainNs;
      return () => pool.release();
    });
    return { way, pieceBytes, bytes, obtainNs, calls };
  }

  /**
   * Times this process' calls during an action. Launches are skipped without kernels. Calls the function that the
   * action returns once no call is timed any more.
   */
  async watchCalls(action: () => Promise<() => Promise<unknown>>): Promise<CallStalls[]> {
    const loads: [WatchedCall, NativeLoad][] = [];
    let after: () => Promise<unknown> = async () => undefined;
    try {
      for (const kind of watchedCalls) {
        const load = await this.#session
          .startLoad({ kind, hostThreads: 0, hostBytes: 0 })
          .catch((error: NativeError) => {
            if (error.code !== "NO_KERNELS") throw error;
            return null;
          });
        if (load !== null) loads.push([kind, load]);
      }
      await sleep(beforehandMs);
      after = await action();
    } finally {
      await Promise.all(loads.map(([, load]) => load.stop()));
      await after();
    }
    return stallsOf(Object.fromEntries(loads.map(([call, load]) => [call, load.completions().atNs])));
  }

  /** Whether a pool can be allocated; frees it at once. Rejects if a failure is not due to its size. */
  async canObtain(sizeBytes: number, shape: PoolShape): Promise<boolean> {
    const pool = await this.#obtain(sizeBytes, shape).catch((error: NativeError) => {
      if (isOfSize(error)) return null;
      throw error;
    });
    await pool?.release();
    return pool !== null;
  }

  #obtain(bytes: number, { way, threads }: PoolShape): Promise<NativePool> {
    return this.#session.obtainPool({ way, bytes, pieces: 1, threads });
  }

  close(): Promise<void> {
    return this.#bench.close();
  }

  #processMemory(): ProcessMemory {
    const status = readText(this.#root, "proc/self/status");
    const bytes = (field: string) => bytesIn(status, field);
    return { residentBytes: bytes("VmRSS"), pinnedBytes: bytes("VmPin"), lockedBytes: bytes("VmLck") };
  }
}

/**
 * Copies of `copyBytes` each. If they failed, `copyError` is the driver's error and durations are missing. Such a
 * failure, as for lack of device memory, does not count against the pool.
 */
async function copy(pool: NativePool, copyBytes: number) {
  const h2dNs: number[] = [];
  const d2hNs: number[] = [];
  try {
    h2dNs.push(...(await pool.copy("h2d", copyBytes, copies)));
    d2hNs.push(...(await pool.copy("d2h", copyBytes, copies)));
    return { h2dNs, d2hNs, copyError: null };
  } catch (error) {
    const { code, message, sticky } = error as NativeError;
    if (typeof code !== "string" || sticky || code === "ABORTED") throw error;
    return { h2dNs, d2hNs, copyError: message };
  }
}

/** Whether a smaller pool may succeed after this error. */
export function isOfSize({ code, sticky }: Pick<NativeError, "code" | "sticky">): boolean {
  return !sticky && code !== "ABORTED" && code !== "TOO_MANY_THREADS" && code !== "INVALID_REQUEST";
}
