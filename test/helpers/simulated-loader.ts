import { batchesInFlight } from "../../src/results/loader-setting.js";
import type { LoaderSetting } from "../../src/results/tuning.js";
import type { Probe, ProbeFacts, Trial, TrialControl } from "../../src/tune/loader-probe.js";

/** A simulated loader, for quick and repeatable searches. */
export interface SimulatedLoader {
  /** A worker's time to make a batch. */
  makeMs: number;
  /** The training process' time to receive a worker's batch and copy it; the same pinned. */
  handOverMs: number;
  handOverPinnedMs: number;
  /** Time to copy a batch that the training process made itself; the same pinned. */
  copyMs: number;
  copyPinnedMs: number;
  /** Relative time that each further worker adds to all making: memory bandwidth, caches, clocks. */
  contention?: number;
  startMsPerWorker?: number;
  /** Relative standard deviation of each duration, and of a whole trial's speed. */
  noise?: number;
  trialNoise?: number;
  /** More workers than this share CPUs. */
  cpus?: number;
  /** One batch in this many takes ten times as long. */
  slowOneIn?: number;
  /** Factor on the time to make a batch in the first trial, whose files are not in the page cache yet. */
  coldFactor?: number;
  /** In this trial (the first is 1) everything takes twice as long for half a second from there on. */
  disturbed?: { trial: number; fromMs: number };
  /** False for a probe that does not time the making of batches. */
  timesMaking?: boolean;
  /** Relative standard deviation of making alone, lognormal; the mean stays `makeMs`. */
  makeSpread?: number;
  /** Making has the long tail of a Pareto distribution of this exponent instead; the mean stays. */
  makeTail?: number;
  /** The pinning thread's time for each pinned batch; it takes one after the other. */
  pinningMs?: number;
  /** A changing clock: in every second period everything takes `slower` times as long. */
  drift?: { periodMs: number; slower: number };
}

/** Probes report arrivals in chunks of this duration; a trial can only end between two of them. */
const chunkNs = 20e6;

export const simulatedFacts: ProbeFacts = {
  kind: "torch",
  source: "simulated.py:dataset",
  device: "Simulated GPU",
  runtime: "torch 2.11.0, Python 3.12.3",
  batch: { samples: 64, bytes: 38_535_168, description: "float32 [64, 3, 224, 224]" },
  epochBatches: 1000,
  startingPoint: null,
  pinningOff: null,
  workersOff: null,
  link: { pinnedBytesPerSecond: 55e9, pageableBytesPerSecond: 11e9 },
  stepNs: null,
  filesPerBatch: 1,
  fileLimit: 1024,
  filesInUse: 30,
  checks: [],
  notes: [],
};

/** A probe of such a loader. `spentNs` is the time that its trials would have taken. */
export class SimulatedProbe implements Probe {
  spentNs = 0;
  readonly order: LoaderSetting[] = [];
  readonly #random: () => number;

  constructor(
    readonly loader: SimulatedLoader,
    readonly facts: ProbeFacts = simulatedFacts,
    seed = 1,
  ) {
    this.#random = generator(seed);
  }

  measure(setting: LoaderSetting, control: TrialControl): Promise<Trial> {
    this.order.push(setting);
    const arrivalsNs: number[] = [];
    let waitNs = 0;
    let tellNs = 0;
    for (const [arrivalNs, waitedNs] of this.#arrivals(setting)) {
      // Arrivals before that are reported before the next one.
      if (arrivalNs > tellNs) {
        if (arrivalsNs.length > 0 && control.enough(arrivalsNs)) break;
        tellNs = Math.max(tellNs + chunkNs, arrivalNs);
      }
      arrivalsNs.push(arrivalNs);
      waitNs += waitedNs;
    }
    this.spentNs += arrivalsNs.at(-1)! + 0.1e9 + setting.numWorkers * 0.01e9;
    return Promise.resolve({
      setting,
      arrivalsNs,
      aborted: false,
      failure: null,
      waitNsPerBatch: waitNs / arrivalsNs.length,
      copyNsPerBatch: 1e6,
      makeNsPerBatch: this.loader.timesMaking === false ? null : this.loader.makeMs * this.#cold * 1e6,
      sharedMemoryBytes: batchesInFlight(setting) * this.facts.batch.bytes,
      pinnedBytes: setting.pinMemory ? batchesInFlight(setting) * this.facts.batch.bytes : 0,
      workerPrivateBytes: setting.numWorkers * 50e6,
      storageReadBytes: 0,
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  get #cold(): number {
    return this.order.length === 1 ? (this.loader.coldFactor ?? 1) : 1;
  }

  /** Endless arrivals with their waiting times: workers take turns, and the loop takes batches in order. */
  *#arrivals(setting: LoaderSetting): Generator<[number, number]> {
    const { loader } = this;
    const { numWorkers: workers, pinMemory } = setting;
    const speed = 1 + (loader.trialNoise ?? 0) * this.#normal();
    let nowNs = 0;
    const fromNs = loader.disturbed?.trial === this.order.length ? loader.disturbed.fromMs * 1e6 : Infinity;
    const disturbance = (atNs: number) => (atNs >= fromNs && atNs < fromNs + 0.5e9 ? 2 : 1);
    const { drift } = loader;
    const slower = () =>
      drift !== undefined && Math.floor(nowNs / 1e6 / drift.periodMs) % 2 === 1 ? drift.slower : 1;
    const ms = (duration: number, atNs: number) =>
      (duration *
        1e6 *
        slower() *
        disturbance(atNs) *
        Math.max(0.1, 1 + (loader.noise ?? 0) * this.#normal())) /
      speed;
    const make = (atNs: number) => {
      const crowded = 1 + (loader.contention ?? 0) * Math.max(0, workers - 1);
      const shared = Math.max(1, workers / (loader.cpus ?? Number.POSITIVE_INFINITY));
      const slow = loader.slowOneIn !== undefined && this.#random() * loader.slowOneIn < 1 ? 10 : 1;
      return ms(loader.makeMs * this.#cold * crowded * shared * slow * this.#unevenness(), atNs);
    };
    const startedNs = workers * (loader.startMsPerWorker ?? 20) * 1e6;
    const free = Array.from({ length: workers }, () => startedNs);
    const taken: number[] = [];
    let pinnedNs = 0;
    nowNs = startedNs;
    for (let batch = 0; ; ++batch) {
      let readyNs: number;
      if (workers === 0) {
        readyNs = nowNs + make(nowNs);
      } else {
        const worker = batch % workers;
        const orderedNs = taken[batch - batchesInFlight(setting)] ?? startedNs;
        const fromWorkerNs = Math.max(free[worker]!, orderedNs);
        readyNs = fromWorkerNs + make(fromWorkerNs);
        free[worker] = readyNs;
        if (pinMemory && loader.pinningMs !== undefined) {
          readyNs = Math.max(readyNs, pinnedNs) + ms(loader.pinningMs, readyNs);
          pinnedNs = readyNs;
        }
      }
      const waitedNs = Math.max(0, readyNs - nowNs);
      taken.push(Math.max(nowNs, readyNs));
      const copy =
        workers === 0 ? [loader.copyMs, loader.copyPinnedMs] : [loader.handOverMs, loader.handOverPinnedMs];
      nowNs = Math.max(nowNs, readyNs) + ms(copy[pinMemory ? 1 : 0]!, nowNs);
      yield [nowNs, waitedNs];
    }
  }

  /** Time to make one batch, relative to the mean. */
  #unevenness(): number {
    const { makeSpread, makeTail } = this.loader;
    if (makeTail !== undefined) return ((makeTail - 1) / makeTail) * (1 - this.#random()) ** (-1 / makeTail);
    if (makeSpread === undefined) return 1;
    const variance = Math.log(1 + makeSpread ** 2);
    return Math.exp(Math.sqrt(variance) * this.#normal() - variance / 2);
  }

  #normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.#random())) * Math.cos(2 * Math.PI * this.#random());
  }
}

/** Mulberry32. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let word = Math.imul(state ^ (state >>> 15), state | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
  };
}
