import { fieldOf, readText } from "../host/files.js";
import { type PageEvents, pageEventsSince, readPageEvents } from "../host/memory.js";
import type { Placement } from "../host/topology.js";
import { openPlacedSession, patternSeed } from "../native/backend.js";
import type { NativeDriver, NativeError, NativeSession } from "../native/contract.js";
import type { DeviceFacts } from "../native/device-contract.js";
import type { NativePool } from "../native/loader-contract.js";
import { poolWays } from "../settings/choices.js";
import { MiB } from "../settings/units.js";
import type { PoolShape, ProcessMemory, WatchedStalls } from "./pinning-document.js";
import { copyBytesOf } from "./pool-shapes.js";
import { type Neighbour, stallsOf } from "./stalls.js";

export interface PoolSample {
  obtainNs: number;
  /** Null if the driver does it in one call. */
  touchNs: number | null;
  registerNs: number | null;
  releaseNs: number;
  /** Copies of `copyBytes` each. */
  h2dNs: readonly number[];
  d2hNs: readonly number[];
  copyBytes: number;
  /** The driver's error if copies failed, whose durations are missing then; otherwise null. */
  copyError: string | null;
  hugePageShare: number | null;
  pagesOfNode: { node: number; pages: number }[];
  pageEvents: PageEvents;
  memory: { before: ProcessMemory; held: ProcessMemory; after: ProcessMemory };
}

/** Number of copies per direction. */
const copies = 12;

/** Size of a first pool that pays for the one-time set-up of the driver and its threads. */
const warmupBytes = 16 * MiB;

/** One device on which pools are obtained. All calls reject with the driver's error, or the system's. */
export class PoolBench {
  readonly #session: NativeSession;
  /** The folder with /proc. */
  readonly #root: string;

  private constructor(session: NativeSession, root: string) {
    this.#session = session;
    this.#root = root;
  }

  static async open(
    driver: NativeDriver,
    { ordinal }: DeviceFacts,
    placement: Placement,
    root = "/",
  ): Promise<PoolBench> {
    return new PoolBench(
      await openPlacedSession(driver, { device: ordinal, placement, seed: patternSeed }),
      root,
    );
  }

  /** Obtains a little memory of each kind, and ignores failures. */
  async warmUp(threads: number): Promise<void> {
    for (const way of poolWays) {
      const pool = await this.#session
        .obtainPool({ way, bytes: warmupBytes, pieces: 1, threads: way === "host-alloc" ? 1 : threads })
        .catch((error: NativeError) => {
          if (error.sticky || error.code === "ABORTED") throw error;
          return null;
        });
      await pool?.release();
    }
  }

  /** Obtains a pool, copies from and to it, and frees it. Failed copies cost only their own figures. */
  async measure(sizeBytes: number, { way, pieces, threads }: PoolShape): Promise<PoolSample> {
    const before = this.#processMemory();
    const eventsBefore = readPageEvents(this.#root);
    const pool = await this.#session.obtainPool({ way, bytes: sizeBytes, pieces, threads });
    const pageEvents = pageEventsSince(eventsBefore, this.#root);
    const copyBytes = copyBytesOf(sizeBytes, pieces);
    try {
      const held = this.#processMemory();
      const copied = await copy(pool, copyBytes);
      const { releaseNs } = await pool.release();
      const isOneCall = way === "host-alloc";
      return {
        obtainNs: pool.obtainNs,
        touchNs: isOneCall ? null : pool.touchNs,
        registerNs: isOneCall ? null : pool.registerNs,
        releaseNs,
        ...copied,
        copyBytes,
        pageEvents,
        hugePageShare: pool.hugePageBytes === null ? null : pool.hugePageBytes / sizeBytes,
        pagesOfNode: [...pool.pagesOfNode],
        memory: { before, held, after: this.#processMemory() },
      };
    } finally {
      await pool.release();
    }
  }

  /** Obtains a pool once more while a neighbour is watched, and frees it. */
  async watch(
    sizeBytes: number,
    { way, pieces, threads }: PoolShape,
    neighbour: Neighbour,
  ): Promise<WatchedStalls> {
    await neighbour.watch();
    const obtained = await this.#session.obtainPool({ way, bytes: sizeBytes, pieces, threads }).then(
      (pool) => ({ pool, error: null }),
      (error: NativeError) => ({ pool: null, error }),
    );
    try {
      const answers = await neighbour.endWatch();
      if (obtained.error !== null) throw obtained.error;
      return stallsOf(answers);
    } finally {
      await obtained.pool?.release();
    }
  }

  /** Whether a pool can be obtained; it is freed at once. Rejects if its size is not the reason for a failure. */
  async canObtain(sizeBytes: number, { way, pieces, threads }: PoolShape): Promise<boolean> {
    let pool: NativePool;
    try {
      pool = await this.#session.obtainPool({ way, bytes: sizeBytes, pieces, threads });
    } catch (error) {
      if (isOfSize(error as NativeError)) return false;
      throw error;
    }
    await pool.release();
    return true;
  }

  /** Ends the current attempt when the driver call in flight returns. */
  abort(): void {
    this.#session.abort();
  }

  /** Frees all remaining memory. */
  close(): Promise<void> {
    return this.#session.close();
  }

  #processMemory(): ProcessMemory {
    const status = readText(this.#root, "proc/self/status");
    const bytes = (field: string) => {
      const kibibytes = /^(\d+) kB$/.exec(fieldOf(status, field) ?? "")?.[1];
      return kibibytes === undefined ? null : Number(kibibytes) * 1024;
    };
    return { residentBytes: bytes("VmRSS"), pinnedBytes: bytes("VmPin"), lockedBytes: bytes("VmLck") };
  }
}

/** A failure here, such as a lack of device memory, says nothing about the pool. */
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

/** Whether less memory may be granted after this error. */
export function isOfSize({ code, sticky }: Pick<NativeError, "code" | "sticky">): boolean {
  return !sticky && code !== "ABORTED" && code !== "TOO_MANY_THREADS" && code !== "INVALID_REQUEST";
}
