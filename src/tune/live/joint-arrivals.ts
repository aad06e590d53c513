import { type ChangeRecord, firstSteps } from "./loader-record.js";

/** An epoch that has fewer times the batches of a start has its starts measured along: they are part of its steady state. */
export const longEpochStarts = 4;

/** What of the ranks' records counts. */
export interface JointOptions {
  /** After a start so many batches come that were not waited for in the steady state. */
  startBatches: number;
  /** Of an epoch, as far as that is known. */
  epochBatches: number | null;
  /** False for a setting that is in force: the last `startBatches` stand for its start, as it needs none. */
  isNew: boolean;
  /** Whether it is the script's own from the job's beginning, whose first steps do not count; they are over. */
  isOfStart: boolean;
}

/**
 * When each batch had arrived in the slowest of several ranks, which wait for each other in every step: nanoseconds from
 * the change, ascending. What lies between two epochs, such as validating and saving, is taken out of the time, and with
 * it the first `startBatches` of an epoch, for which no training step was waited with.
 */
export class JointArrivals {
  readonly arrivalsNs: number[] = [];
  /** How long the loop of the rank that waited longest waited for each of them. */
  readonly waitNs: number[] = [];
  readonly #ranks: readonly ChangeRecord[];
  readonly #startBatches: number;
  /** Index of the next batch, of those that the records hold. */
  #next: number;
  /** Where 0 would lie on the ranks' clock. */
  #zeroNs: number;
  #lastNs: number;
  #leftOut = 0;

  /** A record for each rank. */
  constructor(
    ranks: readonly ChangeRecord[],
    { startBatches, epochBatches, isNew, isOfStart }: JointOptions,
  ) {
    this.#ranks = ranks;
    const isLong = epochBatches === null || epochBatches >= longEpochStarts * startBatches;
    this.#startBatches = isLong ? startBatches : 0;
    const epochs = ranks.flatMap(({ epochStarts }) => [...epochStarts.keys()]);
    const begun = epochs.filter((index) => index <= this.#available);
    const first = isOfStart ? firstSteps : 0;
    this.#next = isNew ? 0 : Math.max(first, this.#available - startBatches, ...begun);
    this.#zeroNs = this.#lastNs =
      this.#next === 0 ? Math.max(...ranks.map(({ startNs }) => startNs)) : this.#at(this.#next - 1);
  }

  /** Takes over what the ranks have told since; true where a batch has been added. */
  update(): boolean {
    const before = this.arrivalsNs.length;
    for (const end = this.#available; this.#next < end; ++this.#next) this.#add(this.#next);
    return this.arrivalsNs.length > before;
  }

  /** On the clock of the arrivals, from what is on the ranks'. */
  since(ranksNs: number): number {
    return ranksNs - this.#zeroNs;
  }

  #add(index: number): void {
    const begins = this.#ranks.flatMap(({ epochStarts }) => epochStarts.get(index) ?? []);
    if (begins.length > 0) {
      this.#pass(Math.max(this.#lastNs, ...begins));
      this.#leftOut = this.arrivalsNs.length > 0 ? this.#startBatches : 0;
    }
    const at = Math.max(this.#lastNs, this.#at(index));
    if (this.#leftOut > 0) {
      this.#leftOut -= 1;
      this.#pass(at);
      return;
    }
    this.#lastNs = at;
    this.arrivalsNs.push(at - this.#zeroNs);
    this.waitNs.push(Math.max(...this.#ranks.map(({ waitNs }) => waitNs[index]!)));
  }

  /** The time until then does not count. */
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
