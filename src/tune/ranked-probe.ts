import type { LoaderSetting } from "../results/tuning.js";
import { mean } from "../stats/variance.js";
import type { Figures, Probe, ProbeFacts, Trial, TrialControl } from "./loader-probe.js";

/**
 * A probe for all training processes of a node; their loaders compete for CPUs and memory, as in a training.
 * `open(rank)` opens the probe of a rank, from 0. If one rejects, this does too, and closes the others.
 */
export async function openRankedProbe(ranks: number, open: (rank: number) => Promise<Probe>): Promise<Probe> {
  const opened = await Promise.allSettled(Array.from({ length: ranks }, (_, index) => open(index)));
  const failed = opened.find((one) => one.status === "rejected");
  const probes = opened.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  if (failed === undefined) return ranks === 1 ? probes[0]! : new RankedProbe(probes as [Probe, ...Probe[]]);
  await Promise.all(probes.map((probe) => probe.close()));
  throw failed.reason;
}

/**
 * Runs each trial in all ranks at once. A batch counts as arrived once every rank has its own: training steps wait for
 * the slowest rank. Most other figures are means over the ranks.
 */
class RankedProbe implements Probe {
  readonly facts: ProbeFacts;
  readonly #ranks: readonly Probe[];

  constructor(ranks: readonly [Probe, ...Probe[]]) {
    this.facts = { ...ranks[0].facts, places: ranks.flatMap(({ facts }) => facts.places ?? []) };
    this.#ranks = ranks;
  }

  async measure(setting: LoaderSetting, control: TrialControl): Promise<Trial> {
    await this.ready(control.signal);
    const ending = new AbortController();
    const signal = AbortSignal.any([control.signal, ending.signal]);
    const latest = new LatestArrivals(this.#ranks.length);
    let isEnough = false;
    const run = async (rank: Probe, index: number): Promise<Trial> => {
      const enough = (arrivalsNs: readonly number[]): boolean => {
        if (!isEnough && latest.add(index, arrivalsNs) && control.enough(latest.ns)) {
          isEnough = true;
          ending.abort();
        }
        return isEnough;
      };
      const trial = await rank.measure(setting, { ...control, enough, signal }).catch((error: unknown) => {
        ending.abort();
        throw error;
      });
      // In a training, the other ranks would wait for the failed one.
      if (trial.failure !== null) ending.abort();
      return trial;
    };
    const ended = await Promise.allSettled(this.#ranks.map(run));
    const trials = ended.map((one) => {
      if (one.status === "rejected") throw one.reason;
      return one.value;
    });
    const failure = isEnough ? null : (trials.find((trial) => trial.failure !== null)?.failure ?? null);
    return {
      setting,
      arrivalsNs: [...latest.ns],
      aborted: !isEnough && failure === null && trials.some(({ aborted }) => aborted),
      failure,
      ...figuresOfOne(trials, this.facts.kind),
    };
  }

  async ready(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#ranks.map((rank) => rank.ready?.(signal)));
  }

  async close(): Promise<void> {
    await Promise.all(this.#ranks.map((rank) => rank.close()));
  }
}

/** Time at which each batch had arrived in the last of the ranks. */
class LatestArrivals {
  readonly ns: number[] = [];
  readonly #ofRanks: (readonly number[])[];

  constructor(ranks: number) {
    this.#ofRanks = Array.from({ length: ranks }, () => []);
  }

  /** Sets a rank's arrivals so far; returns whether further batches have arrived in all ranks. */
  add(rank: number, arrivalsNs: readonly number[]): boolean {
    this.#ofRanks[rank] = arrivalsNs;
    const batches = Math.min(...this.#ofRanks.map(({ length }) => length));
    const before = this.ns.length;
    for (let batch = before; batch < batches; ++batch) {
      this.ns.push(Math.max(...this.#ofRanks.map((ofRank) => ofRank[batch]!)));
    }
    return batches > before;
  }
}

type RankFigures = Omit<Figures, "epochTurns" | "rankWaits">;

function figuresOfOne(trials: readonly Trial[], kind: ProbeFacts["kind"]): RankFigures {
  const known = (of: keyof RankFigures) =>
    trials.map((trial) => trial[of]).filter((figure) => figure != null);
  const middle = (of: keyof RankFigures) => {
    const figures = known(of);
    return figures.length === 0 ? null : Math.round(mean(figures));
  };
  const whereKnown = (of: "collateNsPerBatch" | "handOverNsPerBatch" | "workerEpochBytes") =>
    known(of).length === 0 ? {} : { [of]: middle(of) };
  const shared = known("sharedMemoryBytes");
  // Each process sees the ranks' joint use of /dev/shm; the simulated loader counts its own.
  const sharers = kind === "native" ? 1 : trials.length;
  return {
    waitNsPerBatch: middle("waitNsPerBatch"),
    copyNsPerBatch: middle("copyNsPerBatch"),
    makeNsPerBatch: middle("makeNsPerBatch"),
    ...whereKnown("collateNsPerBatch"),
    ...whereKnown("handOverNsPerBatch"),
    sharedMemoryBytes: shared.length === 0 ? null : Math.round(Math.max(...shared) / sharers),
    pinnedBytes: middle("pinnedBytes"),
    ...(known("sampleCopies").length === 0 ? {} : { sampleCopies: Math.max(...known("sampleCopies")) }),
    workerPrivateBytes: middle("workerPrivateBytes"),
    ...whereKnown("workerEpochBytes"),
    storageReadBytes: middle("storageReadBytes"),
  };
}
