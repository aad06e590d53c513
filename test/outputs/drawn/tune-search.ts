import { afterEach, vi } from "vitest";
import { PinbenchError } from "../../../src/errors.js";
import { usualSetting } from "../../../src/results/loader-setting.js";
import { faults, type LoaderSetting } from "../../../src/results/tuning.js";
import {
  jobEnded,
  type Probe,
  type ProbeFacts,
  type Trial,
  type TrialControl,
} from "../../../src/tune/loader-probe.js";
import type { MachineLimits } from "../../../src/tune/machine-limits.js";
import { openRankedProbe } from "../../../src/tune/ranked-probe.js";
import { tuningKind } from "../../../src/tune/report/tuning-formats.js";
import { type TuneRequest, tuneLoader } from "../../../src/tune/tune-loader.js";
import { drawn } from "../../helpers/drawn.js";
import { gpuNames, machineTree } from "../../helpers/machine-tree.js";
import { seeded } from "../../helpers/seeded.js";
import { type SimulatedJob, SimulatedJobProbe } from "../../helpers/simulated-job.js";
import { type SimulatedLoader, SimulatedProbe, simulatedFacts } from "../../helpers/simulated-loader.js";
import { failureOf, limitsOf } from "../../helpers/tune.js";
import { stopTheClock } from "../../measure/support.js";
import { draws } from "../draws.js";

const root = machineTree();
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A simulated probe, by whose time the clock goes; some of its trials fail, are cut off or have odd figures. */
class PlayedProbe implements Probe {
  readonly over: AbortSignal;
  readonly #over = new AbortController();
  readonly log: unknown[] = [];

  constructor(
    readonly inner: (SimulatedProbe | SimulatedJobProbe) & Probe,
    readonly change: (trial: Trial, number: number) => Partial<Trial>,
    readonly deadline: { ms: number; controller: AbortController },
    readonly ending: { trial: number; how: readonly string[]; abort: () => void },
  ) {
    this.over = this.#over.signal;
  }

  get facts() {
    return this.inner.facts;
  }

  async measure(setting: LoaderSetting, control: TrialControl): Promise<Trial> {
    const number = this.log.push([setting, control.timeoutNs, control.epochTurns]);
    if (number === this.ending.trial) {
      if (this.ending.how.includes("ends")) this.#over.abort(jobEnded);
      if (this.ending.how.includes("late")) this.deadline.controller.abort();
      if (this.ending.how.includes("aborts")) this.ending.abort();
      if (this.ending.how.includes("fails")) throw new PinbenchError("measurement", "The device is lost.");
      if (this.ending.how.includes("breaks")) throw new Error("a fault");
    }
    const { spentNs } = this.inner;
    const trial = await this.inner.measure(setting, control);
    vi.advanceTimersByTime((this.inner.spentNs - spentNs) / 1e6);
    if (performance.now() >= this.deadline.ms) this.deadline.controller.abort();
    return { ...trial, aborted: control.signal.aborted, ...this.change(trial, number) };
  }

  async storage() {
    return { bytesPerSecond: 2e9, threads: 4 };
  }

  async close(): Promise<void> {
    this.log.push("closed");
  }
}

/** A search in a loader or in a job at random, its order of trials, and what is said of it. */
async function searched(seed: number, isLive: boolean) {
  const { uniform, pick } = seeded(seed);
  stopTheClock();
  const own = pick(null, {
    ...usualSetting(pick(0, 2, 4, 12), pick(true, false), pick(2, 4)),
    persistentWorkers: false,
    nonBlocking: false,
  });
  const facts: Partial<ProbeFacts> = {
    ...{
      startingPoint: isLive ? (own ?? usualSetting(pick(2, 3), false)) : own,
      device: pick("Simulated GPU", "Simulated GPU", null),
    },
    ...{
      pinningOff: pick(null, null, null, "torch sees no GPU"),
      workersOff: pick(null, null, null, null, "batches are CUDA tensors"),
    },
    ...{
      batch: { ...simulatedFacts.batch, bytes: pick(1e5, 38_535_168, 4e8) },
      stepNs: isLive ? null : pick(null, null, 15e6, 60e6),
    },
    ...{
      link: isLive ? null : pick(null, simulatedFacts.link),
      epochBatches: pick(null, 40, 1000),
      filesPerBatch: pick(1, 20),
      fileLimit: pick(null, 200, 1024),
    },
    ...(uniform() < 0.2 ? { isCold: true, fileBytesPerBatch: pick(null, 5e6) } : {}),
    ...{ waitsForRanks: isLive && uniform() < 0.2 },
    ...pick(
      {},
      {},
      {
        places: [0, 1].map((rank) => ({
          rank,
          place: { cpus: [rank, 3], memoryPolicy: null, pciBusId: gpuNames[0] },
        })),
      },
    ),
  };
  const noise = { noise: pick(0, 0.03, 0.1), trialNoise: pick(0, 0.01, 0.05) };
  const loader = (): SimulatedLoader => ({
    ...{
      makeMs: pick(5, 20, 55, 200),
      handOverMs: pick(0.5, 4, 9.4),
      handOverPinnedMs: pick(0.3, 4, 10.7),
      copyMs: pick(1, 4),
      copyPinnedMs: pick(0.3, 1.2, 4),
    },
    ...{
      contention: pick(0, 0.02, 0.15),
      ...noise,
      cpus: pick(4, 16),
      startMsPerWorker: pick(5, 200),
      timesMaking: pick(true, true, false),
    },
    ...pick<Partial<SimulatedLoader>>(
      {},
      {},
      { slowOneIn: 40 },
      { coldFactor: 3 },
      { disturbed: { trial: pick(2, 4), fromMs: 10 } },
      { makeSpread: 0.8 },
      { pinningMs: 6 },
      { drift: { periodMs: 700, slower: 1.3 } },
    ),
  });
  const job = (): SimulatedJob => ({
    ...{
      bodyMs: pick(5, 20, 70),
      copyMs: pick(0.01, 1, 8),
      makeMs: pick(4, 30, 120),
      handOverMs: pick(0.1, 2),
      cpus: pick(4, 16),
      loopCpus: pick(1, 4),
      ...noise,
    },
    ...pick<Partial<SimulatedJob>>(
      {},
      {},
      { warmUp: { batches: 9, ms: 300 } },
      { heldUp: { trial: pick(1, 2, 3), factor: 2 } },
      { fastStart: { trials: 2, factor: 1.3 } },
      { drift: { relative: 0.1, batches: 50 } },
    ),
    ...pick(
      {},
      { epochs: { batches: pick(10, 60, 400), betweenMs: pick(5, 500), workerStartMs: pick(20, 300) } },
    ),
  });
  const start = facts.startingPoint!;
  const inner = isLive
    ? new SimulatedJobProbe(job(), start, seed, facts)
    : new SimulatedProbe(loader(), { ...simulatedFacts, ...facts }, seed);
  const abort = new AbortController();
  const deadline = { ms: Number.POSITIVE_INFINITY, controller: new AbortController() };
  vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    deadline.ms = ms;
    return deadline.controller.signal;
  });
  const failing = pick(0, 0, 0.15);
  const most = pick(99, 99, 99, 6, 12);
  const odd = pick("", "", "", "storage", "storage at first", "copies", "memory", "open");
  const probe = new PlayedProbe(
    inner,
    ({ setting, arrivalsNs }, number) => ({
      ...(uniform() < failing || setting.numWorkers > most
        ? {
            failure: failureOf(pick(...faults), { everywhere: uniform() < 0.1, message: "It failed." }),
            arrivalsNs: arrivalsNs.slice(0, pick(0, 20, 999)),
          }
        : {}),
      ...(odd === "storage" || (odd === "storage at first" && number < 3)
        ? { storageReadBytes: pick(9e9, 9e9, 0) }
        : {}),
      ...(odd === "copies" && setting.numWorkers > 1 ? { sampleCopies: pick(null, setting.numWorkers) } : {}),
      ...(odd === "memory" ? { workerEpochBytes: setting.numWorkers * 9e9 } : {}),
      ...(odd === "open" && number % 5 === 0 ? { aborted: true } : {}),
    }),
    deadline,
    {
      trial: pick(0, 0, 0, 0, 1, 3, 7),
      how: pick(...endings),
      abort: () => abort.abort(),
    },
  );
  const limits: Partial<MachineLimits> = {
    ...{
      usableCpus: pick(1, 4, 16),
      memoryAvailableBytes: pick(1e12, 1e12, 5e9),
      sharedMemoryBytes: pick(null, 64e9, 6e8),
      ranks: pick(1, 1, 2),
      cpuQuota: pick(null, 3.5),
    },
  };
  const request: TuneRequest = {
    ...{
      limits: limitsOf(limits),
      maxWorkers: pick(null, null, 3, 12),
      budgetNs: pick(60e9, 60e9, 60e9, 8e9, 300e9, 1e16),
      timeoutNs: pick(30e9, 2e9),
    },
    argv: ["tune"],
    ...{ startedAt: new Date("2026-11-20T10:00:00Z"), startedMs: performance.now() - 5000, root },
  };
  const said: unknown[] = [];
  try {
    const tuning = await tuneLoader(probe, request, abort.signal, (setting, best) =>
      said.push([setting.numWorkers, best?.score.batchesPerSecond]),
    );
    const document = {
      ...tuning,
      tool: { ...tuning.tool, version: "0.1.0" },
      machine: { ...tuning.machine, hostname: "node-1", cpuModel: "A CPU" },
    };
    return [
      deadline.ms,
      drawn(tuningKind, document, "table").split("\n"),
      drawn(tuningKind, document, "python").split("\n"),
      probe.log,
      said,
      document,
    ];
  } catch (error) {
    return [String(error), probe.log, said];
  }
}

const endings = [
  ["ends"],
  ["fails"],
  ["aborts"],
  ["breaks"],
  ["aborts", "ends"],
  ["aborts", "fails"],
  ["ends", "late"],
  ["late"],
];

/** Trials of several processes at once, whose batches, figures and failures are at random. */
async function ranked(seed: number) {
  const { uniform, pick } = seeded(seed);
  const figure = () => pick(null, 0, Math.round(uniform() * 1e6));
  const log: string[] = [];
  const limits = limitsOf({
    ranks: pick(1, 2, 3, 3),
    usableCpus: pick(1, 2, 16, 16),
    memoryAvailableBytes: pick(100, 1e12, 1e12),
  });
  const facts = {
    ...simulatedFacts,
    kind: pick("torch" as const, "native" as const),
    notes: [] as string[],
  };
  const badRank = pick(-1, -1, -1, 0, 1, 2);
  const how = pick("refused", "broken", "throws", "fails", "ends");
  const control = new AbortController();
  const open = async (rank: number): Promise<Probe> => {
    log.push(`open ${rank}`);
    if (rank === badRank && how === "refused") throw new PinbenchError("measurement", "There is no room.");
    if (rank === badRank && how === "broken") throw new Error("a fault");
    return {
      facts: { ...facts, places: [{ rank, place: { cpus: [rank], memoryPolicy: null, pciBusId: null } }] },
      ...(uniform() < 0.5 ? { ready: async () => void log.push(`ready ${rank}`) } : {}),
      measure: async (setting, { enough, signal }) => {
        const arrivalsNs: number[] = [];
        const has = () => ({ setting, arrivalsNs, aborted: signal.aborted, failure: null });
        const figures = {
          waitNsPerBatch: figure(),
          copyNsPerBatch: figure(),
          makeNsPerBatch: figure(),
          sharedMemoryBytes: figure(),
          pinnedBytes: figure(),
          workerPrivateBytes: figure(),
          storageReadBytes: figure(),
        };
        const rest = {
          ...pick({}, { collateNsPerBatch: 5 * rank }),
          ...pick({}, { handOverNsPerBatch: 7 }),
          ...pick({}, { sampleCopies: pick(null, rank + 1) }),
          ...pick({}, { workerEpochBytes: figure() }),
        };
        for (let turn = 0; turn < 40 && !signal.aborted; ++turn) {
          await Promise.resolve();
          if (rank === badRank && turn === 3) {
            if (how === "throws") throw new Error("it broke");
            if (how === "fails")
              return { ...has(), failure: failureOf("worker-killed"), ...figures, ...rest };
            if (how === "ends") control.abort();
          }
          for (let i = pick(0, 1, 3); i > 0; --i)
            arrivalsNs.push((arrivalsNs.at(-1) ?? 0) + Math.round(1e6 * (1 + uniform())));
          if (enough(arrivalsNs)) break;
        }
        return { ...has(), aborted: signal.aborted, ...figures, ...rest };
      },
      close: async () => void log.push(`close ${rank}`),
    };
  };
  try {
    const probe = await openRankedProbe(limits.ranks, open);
    const enough = (arrivalsNs: readonly number[]) => arrivalsNs.length >= 9;
    const measure = () =>
      probe.measure(usualSetting(2, true), { enough, signal: control.signal, timeoutNs: 1e9 });
    const trial = await measure().catch(String);
    await probe.ready?.(control.signal);
    await probe.close();
    return [log, trial, probe.facts];
  } catch (error) {
    return [log, String(error)];
  }
}

draws(import.meta.url, async () => {
  const outputs: [string, unknown][] = [];
  const several = async (make: (seed: number) => Promise<unknown>, from: number, count: number) => {
    const all = [];
    for (let seed = from; seed < from + count; ++seed) all.push(await make(seed));
    return all;
  };
  for (let i = 1; i <= 36; ++i) {
    outputs.push([`loaders at random ${i}`, await several((seed) => searched(seed, false), 1000 + 3 * i, 3)]);
    outputs.push([`jobs at random ${i}`, await several((seed) => searched(seed, true), 2000 + 4 * i, 4)]);
    outputs.push([`several processes at random ${i}`, await several(ranked, 3000 + 5 * i, 5)]);
  }
  return outputs;
});
