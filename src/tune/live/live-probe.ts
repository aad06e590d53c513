import { setTimeout as sleep } from "node:timers/promises";
import type { LoaderSetting } from "../../results/tuning.js";
import { jobEnded, type Probe, type ProbeFacts, type Trial, type TrialControl } from "../loader-probe.js";
import type { LiveJob, Member } from "./live-job.js";
import type { ChangeableSetting, HookMessage, HookMessageOf } from "./live-messages.js";
import { LiveTrial, type Rank } from "./live-trial.js";
import type { LoaderRecord } from "./loader-record.js";

/** Lead time of a change in several ranks, so that each hears of it before its batch. */
const aheadNs = 0.25e9;
const aheadBatches = 2;
/** Longest wait for a job that was asked to end: its loop may be between two batches, and has to shut CUDA down. */
const endMs = 5000;
/** Number of last batches that give the current rate. */
const recentBatches = 20;

/** One loader in each of these ranks is measured. */
export interface LiveTarget {
  job: LiveJob;
  facts: ProbeFacts;
  /** The script's own setting, in force at the start. */
  setting: LoaderSetting;
  loader: number;
  ranks: readonly (Rank & { member: Member })[];
  /** Training processes on this node, which share its CPUs: at least the measured ones. */
  ranksOfNode: number;
  /** Time for the search, from now on. */
  budgetNs: number;
}

/**
 * A loader of a running job as a source of trials: changes its setting in the middle of an epoch, and measures the job.
 * The caller ends the job or leaves it running.
 */
export class LiveProbe implements Probe {
  readonly facts: ProbeFacts;
  readonly job: LiveJob;
  readonly ranksOfNode: number;
  readonly budgetNs: number;
  readonly #target: LiveTarget;
  readonly #over = new AbortController();
  readonly #closing = new AbortController();
  #changes = 0;
  #inForce: { change: number; setting: LoaderSetting } | null;
  #trial: LiveTrial | null = null;
  onTrial: (trial: Trial) => void = () => undefined;

  constructor(target: LiveTarget) {
    this.#target = target;
    this.facts = target.facts;
    this.job = target.job;
    this.ranksOfNode = target.ranksOfNode;
    this.budgetNs = target.budgetNs;
    this.#inForce = { change: 0, setting: target.setting };
    target.job.onNews = this.#receive;
    target.job.over.addEventListener("abort", () => this.#end(), { once: true });
    if (target.job.over.aborted) this.#end();
  }

  /** Aborted if no further trial is possible: with the reason jobEnded if the job has ended. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  async measure(setting: LoaderSetting, control: TrialControl): Promise<Trial> {
    if (this.#trial !== null) throw new Error("A probe runs one trial at a time.");
    const signal = AbortSignal.any([control.signal, this.over, this.#closing.signal]);
    const { ranks, job } = this.#target;
    const { sharedMemoryBytesBefore } = job;
    const change = signal.aborted ? (this.#inForce?.change ?? 0) : this.#enforce(setting);
    const subject = { setting, change, ranks, facts: this.facts, sharedMemoryBytesBefore };
    this.#trial = new LiveTrial(subject, { ...control, signal });
    // The trial begins with the batches so far.
    this.#trial.update();
    const trial = await this.#trial.done.finally(() => {
      this.#trial = null;
    });
    if (job.fault !== null) throw job.fault;
    this.onTrial(trial);
    return trial;
  }

  /**
   * Ends the search: the job continues with this setting, or with the one in force for null. The hook keeps the
   * script's own if another could not be shown to make the same batches.
   */
  rest(setting: LoaderSetting | null): void {
    if (setting !== null) this.#enforce(setting);
    for (const { member } of this.#target.ranks) member.connection.send({ type: "rest" });
  }

  /** Asks the job to end at its next batch, the same in all ranks. Resolves when it has ended, or after a while. */
  async endJob(): Promise<void> {
    const { loader, ranks, job } = this.#target;
    const atBatch = this.#nextJointBatch();
    for (const { member } of ranks) member.connection.send({ type: "end", loader, atBatch });
    await Promise.race([job.process.exit, sleep(endMs, undefined, { ref: false })]);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#trial?.done.catch(() => undefined);
  }

  /** The number of the change to this setting, which is requested unless it is in force. */
  #enforce(setting: LoaderSetting): number {
    if (this.#inForce !== null && isSame(this.#inForce.setting, setting)) return this.#inForce.change;
    this.#changes += 1;
    const change = this.#changes;
    const { loader, ranks } = this.#target;
    const atBatch = this.#nextJointBatch();
    for (const { member } of ranks) {
      member.connection.send({ type: "change", loader, change, setting: changeable(setting), atBatch });
    }
    this.#inForce = { change, setting };
    return change;
  }

  /** The next batch at which all ranks can act if told now. */
  #nextJointBatch(): number {
    const { ranks } = this.#target;
    const delivered = Math.max(...ranks.map((rank) => rank.loader.delivered));
    return ranks.length === 1 ? delivered : delivered + this.#batchesAhead();
  }

  #batchesAhead(): number {
    const { loader } = this.#target.ranks[0]!;
    const ns = loader.change(this.#inForce?.change ?? 0)?.ns.slice(-recentBatches) ?? [];
    const gapNs = ns.length < 2 ? aheadNs : (ns.at(-1)! - ns[0]!) / (ns.length - 1);
    return Math.ceil(aheadNs / Math.max(1, gapNs)) + aheadBatches;
  }

  readonly #receive = (member: Member, message: HookMessage | null): void => {
    const { ranks, loader } = this.#target;
    if (!ranks.some((rank) => rank.member === member)) {
      // A process that is not tuned, and connected too late to hear so.
      if (message === null && member.isConnected) member.connection.send({ type: "rest" });
      return;
    }
    if (message === null) this.#end();
    else if ("loader" in message && message.loader === loader) {
      if (message.type === "failed") this.#fail(message);
      else if (message.type === "safety" || message.type === "aside") this.#note(message);
      else {
        // A loop may leave its epochs early, which only their ends show.
        this.facts.epochBatches = ranks[0]!.loader.epochBatches;
        this.#trial?.update();
      }
    }
  };

  /** Refusals of the hook, once for all ranks. */
  #note(message: HookMessageOf<"safety" | "aside">): void {
    const note = noteOn(message);
    if (note !== null && !this.facts.notes.includes(note)) this.facts.notes.push(note);
  }

  #fail(message: Extract<HookMessage, { type: "failed" }>): void {
    if (this.#inForce?.change === message.change) {
      // The rank continues with its script's own or its previous setting: the next one must be requested in any case.
      this.#inForce = null;
    }
    if (this.#trial?.subject.change === message.change) this.#trial.fail(message);
  }

  /** A rank has ended, so the job takes no further step. */
  #end(): void {
    this.#over.abort(jobEnded);
  }
}

function noteOn(message: HookMessageOf<"safety" | "aside">): string | null {
  if (message.type === "aside") {
    return `pinbench stopped changing the job after an error of its own: ${message.message}`;
  }
  if (message.reason === null) return null;
  return message.workers === "refused"
    ? `no other number of workers was tried: ${message.reason}`
    : `the job has kept its own number of workers; batches of other workers were discarded: ${message.reason}`;
}

/** Whether both give a DataLoader the same arguments. */
function isSame(a: LoaderSetting, b: LoaderSetting): boolean {
  return (
    a.numWorkers === b.numWorkers &&
    a.pinMemory === b.pinMemory &&
    a.prefetchFactor === b.prefetchFactor &&
    a.persistentWorkers === b.persistentWorkers
  );
}

function changeable({ nonBlocking: _, ...setting }: LoaderSetting): ChangeableSetting {
  return setting;
}

/** The tuned loader of a rank; null until its first steps are over. */
export function readyLoader(member: Member, loader: number): LoaderRecord | null {
  const record = member.loaders.get(loader);
  return record?.isUnderWay ? record : null;
}
