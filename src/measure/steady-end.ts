/** A new estimate has replaced the old one after a few of these. */
const settlingNs = 2e9;

/** Nor in less than this share of what is left: the end of an hour's work may be seconds off. */
const settlingShare = 0.05;

/**
 * The end of something that takes a while, by estimates that come and go: what is shown follows them, but not in jumps.
 * Times are those of one steady clock, in nanoseconds.
 */
export class SteadyEnd {
  #endNs: number | null = null;
  #seenNs = Number.NEGATIVE_INFINITY;

  /** What to show as left where `estimatedNs` are left by a new estimate. */
  leftNs(estimatedNs: number, nowNs: number): number {
    const estimatedEndNs = nowNs + Math.max(0, estimatedNs);
    if (this.#endNs === null) this.#endNs = estimatedEndNs;
    const paceNs = Math.max(settlingNs, settlingShare * (this.#endNs - nowNs));
    const followed = 1 - Math.exp(-Math.max(0, nowNs - this.#seenNs) / paceNs);
    this.#endNs += followed * (estimatedEndNs - this.#endNs);
    this.#seenNs = nowNs;
    return Math.max(0, this.#endNs - nowNs);
  }
}
