import { batchesInFlight } from "../../src/results/loader-setting.js";
import type { EpochTurn, LoaderSetting } from "../../src/results/tuning.js";
import { longEpochStarts } from "../../src/tune/live/joint-arrivals.js";
import type { Probe, ProbeFacts, Trial, TrialControl } from "../../src/tune/loader-probe.js";
import { droppedBatches } from "../../src/tune/score.js";
import { generator, simulatedFacts } from "./simulated-loader.js";

/** A simulated training job whose loader is changed while it runs. */
export interface SimulatedJob {
  /** The loop's time outside next(): step, bookkeeping, and the copy of a batch, which is longer without pinning. */
  bodyMs: number;
  copyMs: number;
  /** Time to make a batch, in a worker or in the training process. */
  makeMs: number;
  /** Time to take over a worker's batch in next(), without a pinning thread. */
  handOverMs: number;
  cpus: number;
  /** CPUs that the loop itself uses; each worker beyond the other CPUs slows it down by 1 %. */
  loopCpus: number;
  /** Extra time of each of the job's first batches, while kernels are chosen. */
  warmUp?: { batches: number; ms: number };
  /** In this trial (the first is 1) something delays the loop outside next(). */
  heldUp?: { trial: number; factor: number };
  /** Number of first trials in which the machine is faster than later, and the factor. */
  fastStart?: { trials: number; factor: number };
  /** Epochs: their batches, the time between two of them, and the time to start each worker that does not persist. */
  epochs?: { batches: number; betweenMs: number; workerStartMs: number };
  /** Relative standard deviation of each duration, and of a whole trial's speed. */
  noise?: number;
  trialNoise?: number;
}

/** The loop's waits under a setting, and its time for each batch, without noise. */
function workOf(job: SimulatedJob, { numWorkers, pinMemory }: LoaderSetting) {
  const beyond = Math.max(0, numWorkers + job.loopCpus - job.cpus);
  const bodyMs = (job.bodyMs + (pinMemory ? 0 : job.copyMs)) * (1 + 0.01 * beyond);
  const makeMs = job.makeMs * Math.max(1, (numWorkers + job.loopCpus) / job.cpus);
  return { bodyMs, makeMs, handOverMs: numWorkers > 0 && !pinMemory ? job.handOverMs : 0 };
}

/** Batches a second of the job in the long run. */
export function trueJobRate(job: SimulatedJob, setting: LoaderSetting): number {
  const { bodyMs, makeMs, handOverMs } = workOf(job, setting);
  const { numWorkers } = setting;
  const batchMs = numWorkers === 0 ? bodyMs + makeMs : Math.max(bodyMs + handOverMs, makeMs / numWorkers);
  if (job.epochs === undefined) return 1e3 / batchMs;
  const { batches, betweenMs } = job.epochs;
  return (1e3 * batches) / ((batches - 1) * batchMs + betweenMs + firstBatchMs(job, setting));
}

/** Since the start of an epoch. */
function firstBatchMs(job: SimulatedJob, setting: LoaderSetting): number {
  const started = setting.persistentWorkers ? 0 : setting.numWorkers;
  return workOf(job, setting).makeMs + started * (job.epochs?.workerStartMs ?? 0);
}

/** A probe of such a job whose script has `startingPoint`. */
export class SimulatedJobProbe implements Probe {
  spentNs = 0;
  readonly order: LoaderSetting[] = [];
  readonly facts: ProbeFacts;
  readonly #random: () => number;
  /** Over all trials. */
  #batches = 0;

  constructor(
    readonly job: SimulatedJob,
    startingPoint: LoaderSetting,
    seed = 1,
    facts: Partial<ProbeFacts> = {},
  ) {
    this.facts = { ...simulatedFacts, kind: "live", link: null, startingPoint, ...facts };
    this.#random = generator(seed);
  }

  measure(setting: LoaderSetting, control: TrialControl): Promise<Trial> {
    this.order.push(setting);
    const { job } = this;
    const isFast = this.order.length <= (job.fastStart?.trials ?? 0);
    const speed = (1 + (job.trialNoise ?? 0) * this.#normal()) * (isFast ? job.fastStart!.factor : 1);
    const ns = (ms: number) => (ms * 1e6 * Math.max(0.1, 1 + (job.noise ?? 0) * this.#normal())) / speed;
    const { bodyMs, makeMs, handOverMs } = workOf(job, setting);
    const { numWorkers } = setting;
    const free = Array.from({ length: numWorkers }, () => 0);
    const taken: number[] = [];
    const arrivalsNs: number[] = [];
    let nowNs = 0;
    let waitNs = 0;
    for (let batch = 0; ; ++batch) {
      const askedNs = nowNs;
      if (this.#begins(batch, setting)) nowNs += 1e6 * firstBatchMs(job, setting);
      if (numWorkers === 0) {
        nowNs += ns(makeMs);
      } else {
        const worker = batch % numWorkers;
        const readyNs = Math.max(free[worker]!, taken[batch - batchesInFlight(setting)] ?? 0) + ns(makeMs);
        free[worker] = readyNs;
        nowNs = Math.max(nowNs, readyNs) + (handOverMs === 0 ? 0 : ns(handOverMs));
      }
      // Batches right after the change do not count.
      if (batch >= 2 * batchesInFlight(setting)) waitNs += nowNs - askedNs;
      taken.push(nowNs);
      nowNs += ns(bodyMs) * (job.heldUp?.trial === this.order.length ? job.heldUp.factor : 1);
      if (this.order.length === 1 && batch < (job.warmUp?.batches ?? 0)) nowNs += ns(job.warmUp!.ms);
      arrivalsNs.push(nowNs);
      if ((batch % 4 === 3 || job.warmUp !== undefined) && control.enough(arrivalsNs)) {
        const { least, withinNs } = control.epochTurns ?? { least: 0, withinNs: 0 };
        if (this.#turns(setting, batch).length >= least || nowNs >= withinNs) break;
      }
    }
    this.spentNs += nowNs;
    const epochTurns = this.#turns(setting, arrivalsNs.length);
    this.#batches += arrivalsNs.length;
    return Promise.resolve({
      setting,
      arrivalsNs,
      aborted: false,
      failure: null,
      waitNsPerBatch: waitNs / Math.max(1, arrivalsNs.length - 2 * batchesInFlight(setting)),
      copyNsPerBatch: null,
      makeNsPerBatch: makeMs * 1e6,
      sharedMemoryBytes: null,
      pinnedBytes: null,
      workerPrivateBytes: null,
      storageReadBytes: null,
      epochTurns,
    });
  }

  /** Whether an epoch begins whose start is part of the steady state, as with short epochs. */
  #begins(batchOfTrial: number, setting: LoaderSetting): boolean {
    const { epochs } = this.job;
    if (epochs === undefined || epochs.batches >= longEpochStarts * droppedBatches(setting)) return false;
    return this.#batches + batchOfTrial > 0 && (this.#batches + batchOfTrial) % epochs.batches === 0;
  }

  #turns(setting: LoaderSetting, batchesOfTrial: number): EpochTurn[] {
    if (this.job.epochs === undefined) return [];
    const { batches, betweenMs } = this.job.epochs;
    const turn = { batches, betweenNs: 1e6 * betweenMs, firstBatchNs: 1e6 * firstBatchMs(this.job, setting) };
    const epochsAfter = (count: number) => Math.floor(count / batches);
    const length = epochsAfter(this.#batches + batchesOfTrial) - epochsAfter(this.#batches);
    return Array.from({ length }, () => turn);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.#random())) * Math.cos(2 * Math.PI * this.#random());
  }
}
