import { type WatchedCall, watchedCalls } from "../settings/choices.js";
import type { CallStalls, PinningStalls } from "./pinning-document.js";

/** When calls were answered, ascending, in nanoseconds. Each kind is made once a millisecond by a thread of its own. */
export type Answers = Partial<Record<WatchedCall, Float64Array>>;

/** Time from one call to the next, as in cuda/beside/call_load.cpp. */
const periodNs = 1e6;

/** An answer that is this late is a stall: the system wakes a thread about 0.1 ms late. */
const leastStallNs = 1e6;

/** A server can bear waits up to this: most operations in a step of a model take longer. */
export const bearableStallNs = 10e6;

/** The delays of the answers, by call; calls with fewer than two answers are left out. */
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

/** The longest stall of any call; 0 for none. */
export function longestStallNs(calls: readonly CallStalls[]): number {
  return Math.max(0, ...calls.map(({ longestNs }) => longestNs));
}

/**
 * The largest pieces that a server can bear, together with all smaller ones of their way; of two ways with equal pieces
 * the quicker one. Null for none. `pieces` ascend.
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
