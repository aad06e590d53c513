import { batchesInFlight } from "../../src/results/loader-setting.js";
import type { EpochTurn, LoaderSetting } from "../../src/results/tuning.js";
import type { Probe, ProbeFacts, Trial, TrialControl } from "../../src/tune/loader-probe.js";
import { droppedBatches } from "../../src/tune/search/rate.js";
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
  /** The machine's speed wanders by this relative standard deviation, and forgets it within `batches` batches. */
  drift?: { relative: number; batches: number };
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
  const epoch = new SimulatedEpoch(setting, 1e6 * startMs(job, setting));
  for (let batch = 0; batch < job.epochs.batches; ++batch) {
    epoch.take(batch, { bodyNs: 1e6 * bodyMs, makeNs: 1e6 * makeMs, handOverNs: 1e6 * handOverMs });
  }
  return job.epochs.batches / (epoch.nowNs / 1e9 + job.epochs.betweenMs / 1e3);
}

/** Of workers that do not persist, which start one after the other. */
const startMs = ({ epochs }: SimulatedJob, { numWorkers, persistentWorkers }: LoaderSetting) =>
  persistentWorkers ? 0 : numWorkers * (epochs?.workerStartMs ?? 0);

/** Workers and loop from `nowNs` on, when no batch has been made. */
class SimulatedEpoch {
  /** When the loop got its last batch, and how long it waited for that. */
  takenNs = 0;
  waitNs = 0;
  readonly #freeNs: number[];
  readonly #takenNs: number[] = [];

  constructor(
    readonly setting: LoaderSetting,
    public nowNs: number,
  ) {
    this.#freeNs = Array.from({ length: setting.numWorkers }, () => nowNs);
  }

  /** The loop takes the batch, the epoch's `batch`th, and works on it. */
  take(
    batch: number,
    { bodyNs, makeNs, handOverNs }: { bodyNs: number; makeNs: number; handOverNs: number },
  ) {
    const { numWorkers } = this.setting;
    const askedNs = this.nowNs;
    if (numWorkers === 0) {
      this.nowNs += makeNs;
    } else {
      const worker = batch % numWorkers;
      const roomNs = this.#takenNs[batch - batchesInFlight(this.setting)] ?? 0;
      this.#freeNs[worker] = Math.max(this.#freeNs[worker]!, roomNs) + makeNs;
      this.nowNs = Math.max(this.nowNs, this.#freeNs[worker]) + handOverNs;
    }
    this.#takenNs.push(this.nowNs);
    this.takenNs = this.nowNs;
    this.waitNs = this.nowNs - askedNs;
    this.nowNs += bodyNs;
  }
}

/** A probe of such a job whose script has `startingPoint`. */
export class SimulatedJobProbe implements Probe {
  spentNs = 0;
  readonly order: LoaderSetting[] = [];
  readonly facts: ProbeFacts;
  readonly #random: () => number;
  /** Over all trials. */
  #batches = 0;
  /** How much faster the machine is just now. */
  #drift = 0;

  constructor(
    readonly job: SimulatedJob,
    startingPoint: LoaderSetting,
    seed = 1,
    facts: Partial<ProbeFacts> = {},
  ) {
    const epochBatches = job.epochs?.batches ?? simulatedFacts.epochBatches;
    this.facts = { ...simulatedFacts, kind: "live", link: null, epochBatches, startingPoint, ...facts };
    this.#random = generator(seed);
  }

  measure(setting: LoaderSetting, control: TrialControl): Promise<Trial> {
    this.order.push(setting);
    const { job } = this;
    const isFast = this.order.length <= (job.fastStart?.trials ?? 0);
    const speed = (1 + (job.trialNoise ?? 0) * this.#normal()) * (isFast ? job.fastStart!.factor : 1);
    const ns = (ms: number) =>
      (ms * 1e6 * Math.max(0.1, 1 + (job.noise ?? 0) * this.#normal())) / (speed * (1 + this.#drift));
    const { bodyMs, makeMs, handOverMs } = workOf(job, setting);
    const epochBatches = job.epochs?.batches ?? Number.POSITIVE_INFINITY;
    const ofStart = droppedBatches(setting, job.epochs?.batches ?? null);
    const arrivalsNs: number[] = [];
    const waits: number[] = [];
    const turns: EpochTurn[] = [];
    let epoch = new SimulatedEpoch(setting, 0);
    let [ofEpoch, beganNs, leftOutNs] = [0, 0, 0];
    for (let batch = 0; ; ++batch, ++ofEpoch) {
      if (this.#batches + batch > 0 && (this.#batches + batch) % epochBatches === 0) {
        const betweenNs = epoch.nowNs - epoch.takenNs + 1e6 * job.epochs!.betweenMs;
        beganNs = epoch.nowNs;
        epoch = new SimulatedEpoch(setting, beganNs + 1e6 * startMs(job, setting));
        ofEpoch = 0;
        turns.push({ batches: epochBatches, betweenNs, firstBatchNs: 0, start: { batches: 1, ns: 0 } });
      }
      this.#wander();
      epoch.take(ofEpoch, {
        bodyNs: ns(bodyMs),
        makeNs: ns(makeMs),
        handOverNs: handOverMs && ns(handOverMs),
      });
      if (job.heldUp?.trial === this.order.length) epoch.nowNs += (job.heldUp.factor - 1) * ns(bodyMs);
      if (this.order.length === 1 && batch < (job.warmUp?.batches ?? 0)) epoch.nowNs += ns(job.warmUp!.ms);
      const turn = turns.at(-1);
      const isLeftOut = turn !== undefined && ofEpoch < ofStart && arrivalsNs.length > 0;
      if (turn !== undefined && ofEpoch < ofStart) {
        turn.start = { batches: ofEpoch + 1, ns: epoch.takenNs - beganNs };
        if (ofEpoch === 0) turn.firstBatchNs = turn.start.ns;
      }
      if (isLeftOut) {
        leftOutNs = epoch.takenNs - arrivalsNs.at(-1)!;
      } else {
        arrivalsNs.push(epoch.takenNs - leftOutNs);
        // What follows the change counts for nothing.
        if (batch >= 2 * batchesInFlight(setting)) waits.push(epoch.waitNs);
      }
      if ((batch % 4 === 3 || job.warmUp !== undefined) && control.enough(arrivalsNs, epoch.takenNs)) {
        const { least, withinNs } = control.epochTurns ?? { least: 0, withinNs: 0 };
        if (turns.length >= least || epoch.nowNs >= withinNs) {
          this.#batches += batch + 1;
          break;
        }
      }
    }
    this.spentNs += epoch.nowNs + turns.length * 1e6 * (job.epochs?.betweenMs ?? 0);
    return Promise.resolve({
      setting,
      arrivalsNs,
      aborted: false,
      failure: null,
      waitNsPerBatch: waits.reduce((sum, wait) => sum + wait, 0) / Math.max(1, waits.length),
      copyNsPerBatch: null,
      makeNsPerBatch: makeMs * 1e6,
      sharedMemoryBytes: null,
      pinnedBytes: null,
      workerPrivateBytes: null,
      storageReadBytes: null,
      epochTurns: turns,
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** An autoregressive process of the first order. */
  #wander(): void {
    const { drift } = this.job;
    if (drift === undefined) return;
    const kept = Math.exp(-1 / drift.batches);
    this.#drift = kept * this.#drift + Math.sqrt(1 - kept ** 2) * drift.relative * this.#normal();
  }

  #normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.#random())) * Math.cos(2 * Math.PI * this.#random());
  }
}
