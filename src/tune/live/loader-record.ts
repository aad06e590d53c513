import type { EpochTurn } from "../../results/tuning.js";
import type { BatchFacts } from "../loader-probe.js";
import type { HookMessage, HookMessageOf } from "./live-messages.js";

/** Number of a job's first batches that do not count: they start CUDA and choose kernels, which takes seconds. */
export const firstSteps = 5;

/** A process' records of a loader under one setting; the arrays grow. */
export interface ChangeRecord {
  /** Time of the change; for change 0, start of the first epoch. */
  startNs: number;
  /** Time at which each batch was handed to the loop, and the loop's wait for it. */
  ns: number[];
  waitNs: number[];
  /** Index of each epoch's first batch, and time at which the epoch began. */
  epochStarts: Map<number, number>;
  /**
   * Turns to epochs that began under this setting, with the index of their first batch; not for the job's first epoch.
   */
  turns: { turn: EpochTurn; index: number }[];
  /** The last message, which has totals over all batches. */
  last: HookMessageOf<"batches"> | null;
}

export class LoaderRecord {
  facts: BatchFacts | null = null;
  /** Number of batches, under all settings. */
  delivered = 0;
  /** Whether the script constructs it again, for example in each epoch. */
  isRenewed = false;
  /** Number of consecutive epochs that ended after one batch. */
  looks = 0;
  /** Whether it has delivered a batch with gradients on. */
  hasTrained = false;
  /**
   * Total time between consecutive batches of an epoch, and the loop's waiting in it, with gradients on (`training`)
   * and off. Without the first steps.
   */
  readonly loop = { training: { ns: 0, waitNs: 0 }, other: { ns: 0, waitNs: 0 } };
  /** Batches of the last finished epoch; before any, the number that the loader reports. */
  epochBatches: number | null;
  readonly #changes = new Map<number, ChangeRecord>();
  #lastNs: number | null = null;
  #isOpen = false;
  #epochBegan: { ns: number; delivered: number } | null = null;
  /** Time at which the loop got its last batch. */
  #deliveredNs = 0;
  /** The end of the previous epoch. */
  #ended: Omit<EpochTurn, "firstBatchNs"> | null = null;

  constructor(readonly reported: HookMessageOf<"loader">) {
    this.epochBatches = reported.epochBatches;
  }

  change(number: number): ChangeRecord | null {
    return this.#changes.get(number) ?? null;
  }

  /** Whether the first steps are over. */
  get isUnderWay(): boolean {
    return this.facts !== null && this.delivered > firstSteps;
  }

  /** Whether another batch is expected in this epoch. Some loops count batches and never ask for one too many. */
  get isInEpoch(): boolean {
    return this.#isOpen && (this.epochBatches === null || this.batchesOfEpoch < this.epochBatches);
  }

  get batchesOfEpoch(): number {
    return this.#isOpen && this.#epochBegan !== null ? this.delivered - this.#epochBegan.delivered : 0;
  }

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
      // A loop that left one epoch early may leave each early. A single batch was only a look at the data.
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
