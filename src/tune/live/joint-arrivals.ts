import { type ChangeRecord, firstSteps } from "./loader-record.js";

/** The part of the ranks' records that counts. */
export interface JointOptions {
  /** Number of an epoch's first batches that are left out; asked whenever an epoch begins. */
  startBatches: () => number;
  /** False for a setting in force, which needs no start: the last `startBatches` stand for it. */
  isNew: boolean;
  /** Whether it is the script's own setting from the job's beginning: its first steps do not count, and are over. */
  isOfStart: boolean;
}

/**
 * When each batch had arrived in the slowest of several ranks, which wait for each other in every step: nanoseconds
 * from the change, ascending. The time between two epochs (validating, saving) is left out, and so are the first
 * `startBatches` of an epoch.
 */
export class JointArrivals {
  readonly arrivalsNs: number[] = [];
  /** For each batch, the longest wait of any rank's loop. */
  readonly waitNs: number[] = [];
  readonly #ranks: readonly ChangeRecord[];
  readonly #startBatches: () => number;
  /** Index of the next batch in the records. */
  #next: number;
  /** The zero of the arrivals on the ranks' clock. */
  #zeroNs: number;
  #lastNs: number;
  /** Batches of an epoch's start that are still to be left out, and the time of all that were. */
  #leftOut = 0;
  #leftOutNs = 0;

  /** A record for each rank. */
  constructor(ranks: readonly ChangeRecord[], { startBatches, isNew, isOfStart }: JointOptions) {
    this.#ranks = ranks;
    this.#startBatches = startBatches;
    const epochs = ranks.flatMap(({ epochStarts }) => [...epochStarts.keys()]);
    const begun = epochs.filter((index) => index <= this.#available);
    const first = isOfStart ? firstSteps : 0;
    this.#next = isNew ? 0 : Math.max(first, this.#available - startBatches(), ...begun);
    this.#zeroNs = this.#lastNs =
      this.#next === 0 ? Math.max(...ranks.map(({ startNs }) => startNs)) : this.#at(this.#next - 1);
  }

  /** Reads new records of the ranks; true if there were any. */
  update(): boolean {
    const [before, end] = [this.#next, this.#available];
    for (; this.#next < end; ++this.#next) this.#add(this.#next);
    return end > before;
  }

  /** Time of all batches, those that are left out included, without the time between two epochs. */
  get elapsedNs(): number {
    return (this.arrivalsNs.at(-1) ?? 0) + this.#leftOutNs;
  }

  /** Converts a time from the ranks' clock to that of the arrivals. */
  since(ranksNs: number): number {
    return ranksNs - this.#zeroNs;
  }

  #add(index: number): void {
    const begins = this.#ranks.flatMap(({ epochStarts }) => epochStarts.get(index) ?? []);
    if (begins.length > 0) {
      this.#pass(Math.max(this.#lastNs, ...begins));
      this.#leftOut = this.arrivalsNs.length > 0 ? this.#startBatches() : 0;
    }
    const at = Math.max(this.#lastNs, this.#at(index));
    if (this.#leftOut > 0) {
      this.#leftOut -= 1;
      this.#leftOutNs += at - this.#lastNs;
      this.#pass(at);
      return;
    }
    this.#lastNs = at;
    this.arrivalsNs.push(at - this.#zeroNs);
    this.waitNs.push(Math.max(...this.#ranks.map(({ waitNs }) => waitNs[index]!)));
  }

  /** The time until then is left out. */
  #pass(untilNs: number): void {
    this.#zeroNs += untilNs - this.#lastNs;
    this.#lastNs = untilNs;
  }

  get #available(): number {
    return Math.min(...this.#ranks.map(({ ns }) => ns.length));
  }

  #at(index: number): number {
    return Math.max(...this.#ranks.map(({ ns }) => ns[index]!));
  }
}
