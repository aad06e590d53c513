import { settingKey } from "../../results/loader-setting.js";
import type { LoaderSetting } from "../../results/tuning.js";
import { jobEnded, type Probe, type ProbeFacts, type Trial, type TrialControl } from "../loader-probe.js";
import type { LiveJob, Member } from "./live-job.js";
import type { HookMessage, HookMessageOf } from "./live-messages.js";
import { LiveTrial, type Rank } from "./live-trial.js";
import type { LoaderRecord } from "./loader-record.js";

/** Lead time of a change with several ranks, so that each rank knows it before the batch. */
const aheadNs = 0.25e9;
const aheadBatches = 2;
/** Number of recent batches from which the current rate is computed. */
const recentBatches = 20;

/** The loader to measure, in each of these ranks. */
export interface LiveTarget {
  job: LiveJob;
  facts: ProbeFacts;
  loader: number;
  ranks: readonly (Rank & { member: Member })[];
  /** Number of training processes on this node, including unmeasured ones; they share its CPUs. */
  ranksOfNode: number;
}

/**
 * Runs trials in a running job: changes a loader's setting in the middle of an epoch and measures the job. The caller
 * ends the job or leaves it running.
 */
export class LiveProbe implements Probe {
  readonly facts: ProbeFacts;
  readonly ranksOfNode: number;
  readonly #target: LiveTarget;
  readonly #over = new AbortController();
  readonly #closing = new AbortController();
  #changes = 0;
  #inForce: { change: number; setting: LoaderSetting } | null;
  #trial: LiveTrial | null = null;

  constructor(target: LiveTarget) {
    this.#target = target;
    this.facts = target.facts;
    this.ranksOfNode = target.ranksOfNode;
    this.#inForce = { change: 0, setting: target.facts.startingPoint! };
    target.job.onNews = this.#receive;
    target.job.over.addEventListener("abort", () => this.#end(), { once: true });
    if (target.job.over.aborted) this.#end();
  }

  /** Aborted if no further trial is possible; the reason is `jobEnded` if the job has ended. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  async measure(setting: LoaderSetting, control: TrialControl): Promise<Trial> {
    if (this.#trial !== null) throw new Error("A probe runs one trial at a time.");
    const signal = AbortSignal.any([control.signal, this.over, this.#closing.signal]);
    const { ranks, job } = this.#target;
    const change = signal.aborted ? (this.#inForce?.change ?? 0) : this.#enforce(setting);
    const subject = { setting, change, ranks, facts: this.facts };
    this.#trial = new LiveTrial(subject, { ...control, signal });
    // Batches that have already arrived count for the trial.
    this.#trial.update();
    const trial = await this.#trial.done.finally(() => {
      this.#trial = null;
    });
    if (job.fault !== null) throw job.fault;
    return trial;
  }

  /** The tuned loader's name in any run of the script; null if its construction was not observed. */
  get loaderName(): string | null {
    return this.#target.ranks[0]!.loader.reported.name;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#trial?.done.catch(() => undefined);
  }

  /** Requests a setting unless it is in force; returns the number of its change. */
  #enforce(setting: LoaderSetting): number {
    if (this.#inForce !== null && settingKey(this.#inForce.setting) === settingKey(setting))
      return this.#inForce.change;
    this.#changes += 1;
    const change = this.#changes;
    const { loader, ranks } = this.#target;
    const atBatch = this.#nextJointBatch();
    for (const { member } of ranks) {
      member.send({ type: "change", loader, change, setting, atBatch });
    }
    this.#inForce = { change, setting };
    return change;
  }

  /** The first batch at which all ranks can still change the setting. */
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
      // A process that connected too late to learn that it is not tuned.
      if (message === null && member.isConnected) member.send({ type: "rest" });
      return;
    }
    if (message === null) this.#end();
    else if ("loader" in message && message.loader === loader) {
      if (message.type === "failed") this.#fail(message);
      else if (message.type === "check") this.#check(message);
      else {
        // A loop may leave its epochs early, which is known only after an epoch.
        this.facts.epochBatches = ranks[0]!.loader.epochBatches;
        this.facts.isRenewed = ranks[0]!.loader.isRenewed;
        this.#trial?.update();
      }
    }
  };

  /** Records each check once for all ranks. A connection that workers would share rules out changes. */
  #check({ check, message }: HookMessageOf<"check">): void {
    if (this.facts.checks.some((one) => one.check === check)) return;
    this.facts.checks.push({ check, message });
    if (check === "connection") this.facts.workersOff = message;
  }

  #fail(message: HookMessageOf<"failed">): void {
    if (this.#inForce?.change === message.change) {
      // The rank is back at its script's own setting, so no change is in force any more.
      this.#inForce = null;
    }
    if (this.#trial?.subject.change === message.change) this.#trial.fail(message.failure);
  }

  /** A rank or the job has ended: the job takes no further step. */
  #end(): void {
    this.#over.abort(jobEnded);
  }
}

/** The tuned loader of a rank; null until its first steps are over. */
export function readyLoader(member: Member, loader: number): LoaderRecord | null {
  const record = member.loaders.get(loader);
  return record?.isUnderWay ? record : null;
}
