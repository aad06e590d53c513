import { type WatchedCall, watchedCalls } from "../settings/choices.js";
import type { CallStalls, PinningStalls } from "./pinning-document.js";

/** Times of answers in ns, ascending. A thread of its own makes each kind of call once per millisecond. */
export type Answers = Partial<Record<WatchedCall, Float64Array>>;

/** Time between calls, as in cuda/beside/call_load.cpp. */
const periodNs = 1e6;

/** Delay from which an answer is a stall; waking a thread takes about 0.1 ms. */
const leastStallNs = 1e6;

/** Waits below this count as tolerable for a server. */
export const bearableStallNs = 10e6;

/** Delays of answers by call; calls with fewer than two answers are left out. */
export function stallsOf(answers: Answers): CallStalls[] {
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

export function longestStallNs(calls: readonly CallStalls[]): number {
  return Math.max(0, ...calls.map(({ longestNs }) => longestNs));
}

/**
 * The largest pieces whose stalls, like those of all smaller pieces of the method, a server can tolerate; of
 * two equal ones the faster method. Null for none.
 */
export function bearablePieces({ pieces }: PinningStalls): PinningStalls["pieces"][number] | null {
  const bearable = pieces.filter(({ way, pieceBytes }) =>
    pieces
      .filter((one) => one.way === way && one.pieceBytes <= pieceBytes)
      .every(({ calls }) => longestStallNs(calls) < bearableStallNs),
  );
  const [best] = bearable.sort((a, b) => b.pieceBytes - a.pieceBytes || a.obtainNs - b.obtainNs);
  return best ?? null;
}
