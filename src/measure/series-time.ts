import { median } from "../stats/order-statistics.js";
import { SteadyEnd } from "./steady-end.js";

/**
 * How long a series of like things takes that follow one another, such as runs in fresh processes. Times are those of one
 * steady clock, in nanoseconds.
 */
export class SeriesTime {
  readonly #expectedNs: number | null;
  readonly #tookNs: number[] = [];
  readonly #end = new SteadyEnd();
  readonly #count: number;
  #startedNs: number | null = null;

  /** `expectedNs` is what one presumably takes, before any has been; null where nothing tells. */
  constructor(count: number, expectedNs: number | null) {
    this.#count = count;
    this.#expectedNs = expectedNs;
  }

  /** Takes note that the next one begins now, and that the one before it has ended. */
  next(nowNs: number): void {
    this.finish(nowNs);
    this.#startedNs = nowNs;
  }

  /** Takes note that the one under way has ended. */
  finish(nowNs: number): void {
    if (this.#startedNs !== null) this.#tookNs.push(nowNs - this.#startedNs);
    this.#startedNs = null;
  }

  /** How long those that are left presumably take; null while nothing tells. */
  leftNs(nowNs: number): number | null {
    const eachNs = this.#tookNs.length > 0 ? median(this.#tookNs) : this.#expectedNs;
    if (eachNs === null) return null;
    const inProgress = this.#startedNs === null ? 0 : 1;
    const waiting = Math.max(0, this.#count - this.#tookNs.length - inProgress);
    const currentNs = this.#startedNs === null ? 0 : Math.max(0, eachNs - (nowNs - this.#startedNs));
    return this.#end.leftNs(waiting * eachNs + currentNs, nowNs);
  }
}
