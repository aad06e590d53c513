import type { NativeError } from "../native/contract.js";
import type { PoolOptions } from "../native/loader-contract.js";
import { formatSize } from "../settings/units.js";
import { distribution } from "../stats/order-statistics.js";
import type { DividedPool, PoolShape, WatchedStalls } from "./pinning-document.js";
import type { PoolObservations } from "./pool-observations.js";
import { leastPieceBytes, shapeId } from "./pool-shapes.js";
import { type Neighbour, stallsOf } from "./stalls.js";

/*
 * Pools that several processes obtain at the same time, each an equal share, as the ranks of a server do.
 */

/** Another process with a context of its own. All calls reject with its NativeError. */
export interface PoolProcess {
  /** Its NUMA node; null if the system decides. */
  readonly numaNode: number | null;
  /** Resolves when its share is there: with the time, and the end on the monotonic clock of all processes, in ns. */
  obtainPool(options: PoolOptions): Promise<{ obtainNs: number; endNs: number }>;
  releasePool(): Promise<void>;
  /** Ends the current call, and every later one, soon. */
  abort(): void;
  close(): Promise<void>;
}

/** What is divided, and what measures it. */
export interface DivideOptions {
  /** Measured pools of one size, each divided among each of these numbers of processes. */
  pools: readonly PoolObservations[];
  counts: readonly number[];
  /** Opens this number of processes at once. */
  openProcesses: (count: number) => Promise<PoolProcess[]>;
  /** Null if none is watched. */
  openNeighbour: (() => Promise<Neighbour>) | null;
  signal: AbortSignal;
  /** The remaining time in milliseconds. */
  leftMs: () => number;
  onActivity: (text: string) => void;
}

/** Repetitions, if there is time. */
const rounds = 3;

/**
 * Divided pools, in the order of pools and counts. If it rejects, which is after an abort or a failed start of a process,
 * those in `into` without samples and without a reason were not reached.
 */
export async function dividePools(options: DivideOptions, into: DividedPool[]): Promise<void> {
  const { pools, counts, openProcesses, openNeighbour, signal, leftMs, onActivity } = options;
  onActivity(`starting ${Math.max(...counts)} processes`);
  const processes = await openProcesses(Math.max(...counts));
  const abort = () => processes.forEach((process) => void process.abort());
  signal.addEventListener("abort", abort, { once: true });
  let neighbour: Neighbour | null = null;
  try {
    neighbour = (await openNeighbour?.()) ?? null;
    for (const pool of pools) {
      for (const count of counts) {
        const divided = dividedPool(pool, processes.slice(0, count));
        // Few pieces among many processes are one each, as in the usual pool.
        if (into.some((other) => other.processes === count && shapeId(other) === shapeId(divided))) continue;
        into.push(divided);
      }
    }
    // Each once, before any is repeated: time may be short.
    for (let round = 0; round < rounds; ++round) {
      for (const divided of into.filter(
        ({ reason, samples }) => reason === null && samples.length === round,
      )) {
        signal.throwIfAborted();
        if (leftMs() < 2 * Math.max(divided.aloneNs, divided.samples.at(-1) ?? 0) * 1e-6) {
          if (round === 0) divided.reason = "no time was left";
          continue;
        }
        const { sizeBytes, processes: count } = divided;
        onActivity(`${formatSize(sizeBytes)} by ${shapeId(divided)} each, in ${count} processes`);
        await divideOnce(divided, processes.slice(0, count), neighbour, signal);
      }
    }
  } finally {
    signal.removeEventListener("abort", abort);
    await Promise.all([...processes, ...(neighbour === null ? [] : [neighbour])].map((one) => one.close()));
  }
}

function dividedPool(pool: PoolObservations, processes: readonly PoolProcess[]): DividedPool {
  const { sizeBytes, shape } = pool;
  const share = shareOf(shape, processes.length);
  const isTooSmall = sizeBytes / processes.length / share.pieces < leastPieceBytes;
  return {
    ...share,
    sizeBytes,
    processes: processes.length,
    nodes: processes.map(({ numaNode }) => numaNode),
    // Later rounds of the pool change its median.
    get aloneNs() {
      return pool.obtainNs;
    },
    samples: [],
    obtain: null,
    reason: isTooSmall ? `a piece has at least ${formatSize(leastPieceBytes)}` : null,
    stalls: null,
  };
}

/** The shape of one of `count` shares: together they have the pool's pieces and threads, and at least one each. */
export function shareOf({ way, pieces, threads }: PoolShape, count: number): PoolShape {
  const each = (total: number) => Math.max(1, Math.floor(total / count));
  return { way, pieces: each(pieces), threads: each(threads) };
}

/** A refusal is its reason, unless it was obtained before; only an abort rejects. */
async function divideOnce(
  divided: DividedPool,
  processes: readonly PoolProcess[],
  neighbour: Neighbour | null,
  signal: AbortSignal,
): Promise<void> {
  const { way, pieces, threads, sizeBytes } = divided;
  const unit = leastPieceBytes;
  // In whole units; the last share also has the bytes below one.
  const endOf = (i: number) =>
    i === processes.length - 1
      ? sizeBytes
      : Math.floor(((i + 1) * Math.floor(sizeBytes / unit)) / processes.length) * unit;
  const bytesOf = (i: number) => endOf(i) - (i === 0 ? 0 : endOf(i - 1));
  try {
    await neighbour?.watch();
    const obtained = await Promise.allSettled(
      processes.map((process, i) => process.obtainPool({ way, pieces, threads, bytes: bytesOf(i) })),
    );
    const answers = await neighbour?.endWatch();
    const shares = obtained.map((share) => {
      if (share.status === "rejected") throw share.reason;
      return share.value;
    });
    const beginNs = Math.min(...shares.map(({ endNs, obtainNs }) => endNs - obtainNs));
    divided.samples.push(Math.max(...shares.map(({ endNs }) => endNs)) - beginNs);
    const { median: middle, min, max } = distribution(divided.samples);
    divided.obtain = { median: middle, least: min, most: max };
    if (answers !== undefined) divided.stalls = worseOf(divided.stalls, stallsOf(answers));
  } catch (error) {
    const { code, message } = error as NativeError;
    if (signal.aborted || typeof code !== "string") throw error;
    if (divided.obtain === null) divided.reason = message;
  } finally {
    // Before another share is obtained; a process that has died is met again there.
    await Promise.allSettled(processes.map((process) => process.releasePool()));
  }
}

/** The stalls of the round with the longest. */
function worseOf(one: WatchedStalls | null | undefined, other: WatchedStalls): WatchedStalls {
  const longest = (stalls: WatchedStalls) => Math.max(0, ...stalls.map(({ longestNs }) => longestNs));
  return one == null || longest(other) > longest(one) ? other : one;
}
