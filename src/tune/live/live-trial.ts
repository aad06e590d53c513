import type { EpochTurn, LoaderSetting, TrialFailure } from "../../results/tuning.js";
import { mean } from "../../stats/variance.js";
import type { ProbeFacts, Trial, TrialControl } from "../loader-probe.js";
import { droppedBatches } from "../search/rate.js";
import { afterSilence, hangFailure } from "../silence.js";
import { privateBytesOf } from "./live-job.js";
import { type ChangeRecord, firstSteps, type LoaderRecord } from "./loader-record.js";

export interface Rank {
  rank: number;
  loader: LoaderRecord;
}

/** The setting of a trial: requested by this change, or already in force. */
export interface TrialSubject {
  setting: LoaderSetting;
  change: number;
  ranks: readonly Rank[];
  facts: Pick<ProbeFacts, "epochBatches">;
}

/** Collects the records of all ranks for one change, until there are enough. */
export class LiveTrial {
  /** Rejects only with errors thrown by `enough`. */
  readonly done: Promise<Trial>;
  readonly #isNew: boolean;
  #resolve: (trial: Trial) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  #joint: JointArrivals | null = null;
  #stopWaiting: () => void = () => undefined;
  #isSettled = false;

  constructor(
    readonly subject: TrialSubject,
    readonly control: TrialControl,
  ) {
    this.#isNew = this.#records().length < subject.ranks.length;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    control.signal.addEventListener("abort", this.#abort, { once: true });
    this.#awaitBatch();
    if (control.signal.aborted) this.#settle({ aborted: true });
    else if (!this.#isNew) this.#join();
  }

  /** Reads what the ranks have reported since the last call. */
  update(): void {
    if (this.#isSettled) return;
    this.#awaitBatch();
    if (this.#joint === null && !this.#join()) return;
    const joint = this.#joint!;
    if (!joint.update() || joint.arrivalsNs.length === 0) return;
    try {
      if (this.control.enough(joint.arrivalsNs, joint.elapsedNs) && this.#hasTurns(joint)) this.#settle();
    } catch (error) {
      this.#close();
      this.#reject(error);
    }
  }

  #hasTurns(joint: JointArrivals): boolean {
    const { epochTurns: requested } = this.control;
    if (requested === undefined || joint.elapsedNs > requested.withinNs) return true;
    return this.#records().every(({ turns }) => turns.length >= requested.least);
  }

  /** Each rank's mean wait over its last `batches` batches. */
  #rankWaits(batches: number): Pick<Trial, "rankWaits"> {
    const { ranks } = this.subject;
    const records = this.#records();
    if (ranks.length === 1 || records.length < ranks.length || batches === 0) return {};
    const waits = ranks.map(({ rank }, i) => ({ rank, waitNs: mean(records[i]!.waitNs.slice(-batches)) }));
    return { rankWaits: waits.sort((a, b) => a.rank - b.rank) };
  }

  /** Takes the epoch turns of the rank that lost most time by them; a later trial does not see them. */
  #takeTurns(): EpochTurn[] {
    const lostNs = (turns: readonly EpochTurn[]) =>
      turns.reduce((sum, { betweenNs, firstBatchNs }) => sum + betweenNs + firstBatchNs, 0);
    const ofRanks = this.#records().map(({ turns, ns, epochStarts }) =>
      turns.splice(0).map(({ turn, index }) => {
        const next = [...epochStarts.keys()].find((start) => start > index) ?? ns.length;
        const batches = Math.min(this.#startBatches, next - index);
        const beganNs = ns[index]! - turn.firstBatchNs;
        return { ...turn, start: { batches, ns: ns[index + batches - 1]! - beganNs } };
      }),
    );
    return ofRanks.sort((a, b) => lostNs(b) - lostNs(a))[0] ?? [];
  }

  get #startBatches(): number {
    const { setting, facts } = this.subject;
    return droppedBatches(setting, facts.epochBatches);
  }

  /** Ends the trial, because a rank could not change its loader. */
  fail(failure: TrialFailure): void {
    this.#settle({ failure });
  }

  /** Ends the trial after reading messages that came while this process had no CPU: the loop did not wait for those. */
  readonly #abort = (): void => void setImmediate(() => this.#settle({ aborted: true }));

  #records(): ChangeRecord[] {
    return this.subject.ranks.flatMap(({ loader }) => loader.change(this.subject.change) ?? []);
  }

  /** Starts joining the ranks' records once all ranks have made the change; returns whether they have. */
  #join(): boolean {
    const { ranks } = this.subject;
    const records = this.#records();
    if (records.length < ranks.length) return false;
    this.#joint = new JointArrivals(records, {
      startBatches: () => this.#startBatches,
      isNew: this.#isNew,
      isOfStart: this.subject.change === 0,
    });
    return true;
  }

  /** Between epochs no batch is expected, however long validation takes. */
  #awaitBatch(): void {
    this.#stopWaiting();
    const { ranks, setting } = this.subject;
    const { timeoutNs } = this.control;
    this.#stopWaiting = afterSilence(timeoutNs / 1e6, () => {
      if (ranks.some(({ loader }) => !loader.isInEpoch)) return this.#awaitBatch();
      this.#settle({ failure: hangFailure(setting, { timeoutNs, batches: 1, everywhere: true }) });
    });
  }

  #settle({ failure = null, aborted = false }: Partial<Pick<Trial, "failure" | "aborted">> = {}): void {
    if (this.#isSettled) return;
    this.#close();
    const { setting } = this.subject;
    const { arrivalsNs, waitNs } = this.#joint ?? { arrivalsNs: [], waitNs: [] };
    const dropped = this.#startBatches;
    const steadyWaits = waitNs.slice(waitNs.length > dropped ? dropped : 0);
    const records = this.#records();
    const workers = setting.numWorkers === 0 ? [] : (records[0]?.last?.workers ?? null);
    const collateNs = meanOf(records, "collateNs", "collated");
    const handOverNs = meanOf(records, "handOverNs", "handedOver");
    this.#resolve({
      setting,
      arrivalsNs,
      aborted,
      failure,
      waitNsPerBatch: steadyWaits.length === 0 ? null : mean(steadyWaits),
      copyNsPerBatch: null,
      makeNsPerBatch: meanOf(records, "makeNs", "made"),
      ...(collateNs === null ? {} : { collateNsPerBatch: collateNs }),
      ...(handOverNs === null ? {} : { handOverNsPerBatch: handOverNs }),
      pinnedBytes: null,
      epochTurns: this.#takeTurns(),
      ...this.#rankWaits(steadyWaits.length),
      storageReadBytes: null,
      // Null because all programs share /dev/shm.
      sharedMemoryBytes: null,
      // Of one rank only, because the kernel answers slowly.
      workerPrivateBytes: workers === null ? null : privateBytesOf(workers),
    });
  }

  #close(): void {
    this.#isSettled = true;
    this.#stopWaiting();
    this.control.signal.removeEventListener("abort", this.#abort);
  }
}

/** Mean time of a batch over all ranks; null if none was timed. */
function meanOf(
  records: readonly ChangeRecord[],
  ns: "makeNs" | "collateNs" | "handOverNs",
  batches: "made" | "collated" | "handedOver",
): number | null {
  const sum = (of: typeof ns | typeof batches) =>
    records.reduce((total, { last }) => total + (last?.[of] ?? 0), 0);
  return sum(batches) === 0 ? null : sum(ns) / sum(batches);
}

export interface JointOptions {
  /** Number of batches to leave out at the start of an epoch; called at each start. */
  startBatches: () => number;
  /** False if the setting was already in force: its last `startBatches` batches then stand in for a start. */
  isNew: boolean;
  /** Whether this is the script's own setting since the job began; then the first steps do not count. */
  isOfStart: boolean;
}

/**
 * Arrival of each batch in the slowest rank, in nanoseconds from the change, ascending: ranks wait for each other in
 * every step. Leaves out the time between two epochs, and `startBatches` at an epoch's start.
 */
export class JointArrivals {
  readonly arrivalsNs: number[] = [];
  /** Longest wait of any rank's loop, for each batch. */
  readonly waitNs: number[] = [];
  readonly #ranks: readonly ChangeRecord[];
  readonly #startBatches: () => number;
  /** Index of the next batch in the records. */
  #next: number;
  /** Time of arrival 0 on the ranks' clock. */
  #zeroNs: number;
  #lastNs: number;
  /** Number of batches still to leave out, and total time of those left out so far. */
  #leftOut = 0;
  #leftOutNs = 0;

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

  /** Total time, with the left-out batches but without the time between epochs. */
  get elapsedNs(): number {
    return (this.arrivalsNs.at(-1) ?? 0) + this.#leftOutNs;
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

  /** Leaves out the time until `untilNs`. */
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
