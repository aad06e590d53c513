import type { EpochTurn } from "../../results/tuning.js";
import type { BatchFacts } from "../loader-probe.js";
import type { HookMessage, HookMessageOf } from "./live-messages.js";

/**
 * First batches of a job that do not count: their steps start CUDA, compile kernels and search for the best ones, which
 * takes seconds.
 */
export const firstSteps = 5;

/** One process' record of a loader during one change; the arrays grow. */
export interface ChangeRecord {
  /** When the change was made; for change 0, when the first epoch began. */
  startNs: number;
  /** When each batch was handed to the loop, and the loop's wait for it. */
  ns: number[];
  waitNs: number[];
  /** Index of the first batch of an epoch, and when that epoch began. */
  epochStarts: Map<number, number>;
  /** Turns to the epochs that began under it, except the job's first one, with the index of their first batch. */
  turns: { turn: EpochTurn; index: number }[];
  /** The last news of it, with the figures of all its batches. */
  last: HookMessageOf<"batches"> | null;
}

/** One process' record of one of its loaders. */
export class LoaderRecord {
  facts: BatchFacts | null = null;
  /** Batches of all changes. */
  delivered = 0;
  /** Whether the script makes it anew, for each epoch say. */
  isRenewed = false;
  /** Number of epochs in a row that ended after one batch. */
  looks = 0;
  /** Whether it has delivered a batch with gradients on. */
  hasTrained = false;
  /**
   * Time between consecutive batches of an epoch, and the waiting in it: with gradients on, and without. The first
   * steps are left out.
   */
  readonly loop = { training: { ns: 0, waitNs: 0 }, other: { ns: 0, waitNs: 0 } };
  /** Batches of the last epoch that is over; before any, the loader's own number. */
  epochBatches: number | null;
  readonly #changes = new Map<number, ChangeRecord>();
  #lastNs: number | null = null;
  #isOpen = false;
  #epochBegan: { ns: number; delivered: number } | null = null;
  /** When the loop got its last batch. */
  #deliveredNs = 0;
  /** State before the current epoch. */
  #ended: Omit<EpochTurn, "firstBatchNs"> | null = null;

  constructor(readonly reported: HookMessageOf<"loader">) {
    this.epochBatches = reported.epochBatches;
  }

  /** Null before the change was made. */
  change(number: number): ChangeRecord | null {
    return this.#changes.get(number) ?? null;
  }

  /** Called when the first steps are over. */
  get isUnderWay(): boolean {
    return this.facts !== null && this.delivered > firstSteps;
  }

  /**
   * Whether an epoch is under way: between epochs no batch is expected. Some loops count the batches, and never ask
   * whether there is one more.
   */
  get isInEpoch(): boolean {
    return this.#isOpen && (this.epochBatches === null || this.batchesOfEpoch < this.epochBatches);
  }

  /** Delivered batches of the current epoch, if there is one. */
  get batchesOfEpoch(): number {
    return this.#isOpen && this.#epochBegan !== null ? this.delivered - this.#epochBegan.delivered : 0;
  }

  /** Records without batches are left out. */
  add(message: HookMessage): void {
    if (message.type === "batch") this.facts = message.facts;
    else if (message.type === "renewed") this.isRenewed = true;
    else if (message.type === "changed") this.#open(message.change, message.ns);
    else if (message.type === "epoch") this.#turn(message);
    else if (message.type === "batches") this.#extend(message);
  }

  #turn({ event, ns }: HookMessageOf<"epoch">): void {
    if (event === "end") {
      if (this.#isOpen) this.epochBatches = this.batchesOfEpoch;
      this.#isOpen = false;
    } else {
      const batches = this.delivered - (this.#epochBegan?.delivered ?? 0);
      // A loop that left the epoch before its end may do so in each; a script that looks at a batch does not.
      const isLook = this.#isOpen && batches === 1;
      this.looks = isLook ? this.looks + 1 : 0;
      if (this.#isOpen && !isLook) this.epochBatches = batches;
      this.#ended =
        batches === 0 || isLook ? null : { batches, betweenNs: Math.max(0, ns - this.#deliveredNs) };
      this.#isOpen = true;
      this.#epochBegan = { ns, delivered: this.delivered };
    }
    this.#lastNs = null;
  }

  #extend(message: HookMessageOf<"batches">): void {
    const { change, ns, waitNs, grad } = message;
    const began = this.#epochBegan;
    const record = this.#changes.get(change) ?? this.#open(change, began?.ns ?? ns[0] ?? 0);
    if (began !== null && began.delivered === this.delivered) {
      record.epochStarts.set(record.ns.length, began.ns);
      if (this.#ended !== null) {
        const turn = { ...this.#ended, firstBatchNs: Math.max(0, (ns[0] ?? began.ns) - began.ns) };
        record.turns.push({ turn, index: record.ns.length });
        this.#ended = null;
      }
    }
    const loop = grad ? this.loop.training : this.loop.other;
    this.hasTrained ||= grad;
    for (const [index, at] of ns.entries()) {
      const wait = waitNs[index] ?? 0;
      if (this.#lastNs !== null && this.delivered + index >= firstSteps) {
        loop.ns += at - this.#lastNs;
        loop.waitNs += wait;
      }
      this.#lastNs = at;
      record.ns.push(at);
      record.waitNs.push(wait);
    }
    this.delivered += ns.length;
    this.#deliveredNs = ns.at(-1) ?? this.#deliveredNs;
    record.last = message;
  }

  #open(change: number, startNs: number): ChangeRecord {
    const record = { startNs, ns: [], waitNs: [], epochStarts: new Map(), turns: [], last: null };
    this.#changes.set(change, record);
    return record;
  }
}
