import { type WatchedCall, watchedCalls } from "../settings/choices.js";
import type { PinnedPool, WatchedStalls } from "./pinning-document.js";

/**
 * When a program got the answers to its calls, ascending, in nanoseconds. It makes one call of each kind per
 * millisecond.
 */
type WatchedAnswers = Partial<Record<WatchedCall, Float64Array>>;

/** Another process on the device, which makes calls while it is watched. All reject with its NativeError. */
export interface Neighbour {
  /** Resolves when it makes its calls. */
  watch(): Promise<void>;
  /** Resolves when the calls under way are answered too. */
  endWatch(): Promise<WatchedAnswers>;
  close(): Promise<void>;
}

/** Time from one call to the next, as in cuda/beside/call_load.cpp. */
const periodNs = 1e6;

/** An answer that is this late is a stall: the system wakes a thread about 0.1 ms late. */
const leastStallNs = 1e6;

/** A neighbour can bear waits up to this: most operations in a step of a model take longer. */
export const bearableStallNs = 10e6;

/** The delays of the answers, by call; calls with fewer than two answers are left out. */
export function stallsOf(answers: WatchedAnswers): WatchedStalls {
  return watchedCalls.flatMap((call) => {
    const atNs = answers[call];
    if (atNs === undefined || atNs.length < 2) return [];
    let longestNs = 0;
    let stalledNs = 0;
    for (let i = 1; i < atNs.length; ++i) {
      const lateNs = atNs[i]! - atNs[i - 1]! - periodNs;
      longestNs = Math.max(longestNs, lateNs);
      if (lateNs >= leastStallNs) stalledNs += lateNs;
    }
    return [{ call, answers: atNs.length, longestNs, stalledShare: stalledNs / (atNs.at(-1)! - atNs[0]!) }];
  });
}

/** The longest stall of any call; 0 for none. */
export function longestStallNs(stalls: WatchedStalls): number {
  return Math.max(0, ...stalls.map(({ longestNs }) => longestNs));
}

/** A pool during which a neighbour was watched. */
export type WatchedPool = PinnedPool & { stalls: WatchedStalls };

/** The watched pools, all of one size. */
export function watchedPools(pools: readonly PinnedPool[]): WatchedPool[] {
  return pools.filter((pool): pool is WatchedPool => (pool.stalls?.length ?? 0) > 0);
}

/** The quickest pool that a neighbour can bear; null for none. */
export function bearablePool(pools: readonly WatchedPool[]): WatchedPool | null {
  const soon = ({ obtain }: WatchedPool) => obtain?.median ?? Number.POSITIVE_INFINITY;
  return pools
    .filter(({ stalls }) => longestStallNs(stalls) < bearableStallNs)
    .reduce<WatchedPool | null>(
      (best, pool) => (best === null || soon(pool) < soon(best) ? pool : best),
      null,
    );
}
