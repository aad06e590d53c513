import type { EpochTurn, LoaderSetting, TrialFailure } from "../../results/tuning.js";
import { mean } from "../../stats/variance.js";
import type { ProbeFacts, Trial, TrialControl } from "../loader-probe.js";
import { droppedBatches } from "../search/rate.js";
import { afterSilence, hangFailure } from "../silence.js";
import { privateBytesOf } from "./live-job.js";
import { type ChangeRecord, firstSteps, type LoaderRecord } from "./loader-record.js";

/** A rank of the job: its process, and its records of the tuned loader. */
export interface Rank {
  /** Its number in the whole job. */
  rank: number;
  loader: LoaderRecord;
}

/** The setting that a trial measures: requested as this change, or already in force. */
export interface TrialSubject {
  setting: LoaderSetting;
  change: number;
  ranks: readonly Rank[];
  /** An epoch of the job, as it is known so far. */
  facts: Pick<ProbeFacts, "epochBatches">;
}

/** One trial: collects the records of all ranks on a change, until there are enough. */
export class LiveTrial {
  /** Rejects only with what `enough` throws. */
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

  /** Called when the records of the ranks have grown. */
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

  /** Mean over the last batches, as many as count. */
  #rankWaits(batches: number): Pick<Trial, "rankWaits"> {
    const { ranks } = this.subject;
    const records = this.#records();
    if (ranks.length === 1 || records.length < ranks.length || batches === 0) return {};
    const waits = ranks.map(({ rank }, i) => ({ rank, waitNs: mean(records[i]!.waitNs.slice(-batches)) }));
    return { rankWaits: waits.sort((a, b) => a.rank - b.rank) };
  }

  /** Epoch turns of the rank that lost most time by them, for this trial alone. */
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

  /** The change failed in a rank. */
  fail(failure: TrialFailure): void {
    this.#settle({ failure });
  }

  /** What has come while this process had no CPU is read first: only then has the loop waited. */
  readonly #abort = (): void => void setImmediate(() => this.#settle({ aborted: true }));

  #records(): ChangeRecord[] {
    return this.subject.ranks.flatMap(({ loader }) => loader.change(this.subject.change) ?? []);
  }

  /** Called when the change is made in all ranks. */
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

  /** Between two epochs no batch comes, however long the script validates. */
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
      // All programs of the machine use /dev/shm.
      sharedMemoryBytes: null,
      // Of one rank, which represents all, because the kernel takes long to answer.
      workerPrivateBytes: workers === null ? null : privateBytesOf(workers),
    });
  }

  #close(): void {
    this.#isSettled = true;
    this.#stopWaiting();
    this.control.signal.removeEventListener("abort", this.#abort);
  }
}

/** Mean for a batch over all ranks; null if none was timed. */
function meanOf(
  records: readonly ChangeRecord[],
  ns: "makeNs" | "collateNs" | "handOverNs",
  batches: "made" | "collated" | "handedOver",
): number | null {
  const sum = (of: typeof ns | typeof batches) =>
    records.reduce((total, { last }) => total + (last?.[of] ?? 0), 0);
  return sum(batches) === 0 ? null : sum(ns) / sum(batches);
}

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
