import { usualSetting } from "../../src/results/loader-setting.js";
import type { LoaderSetting, Recommendation, Tried, Tuning, TuningScore } from "../../src/results/tuning.js";
import { evenly } from "./tune.js";

type TrialRecord = Tried["trials"][number];
type Failure = NonNullable<TrialRecord["failure"]>;

export interface TuningPart {
  run?: Partial<Tuning["run"]>;
  method?: Partial<Tuning["method"]>;
  machine?: Partial<Tuning["machine"]>;
  probe?: Partial<Tuning["probe"]>;
  tried?: Tried[];
  skipped?: Tuning["skipped"];
  startingScore?: TuningScore | null;
  /** Null for none. */
  recommendation?: Partial<Recommendation> | null;
}

export function buildScore(batchesPerSecond: number, changes: Partial<TuningScore> = {}): TuningScore {
  return {
    batchesPerSecond,
    low: batchesPerSecond * 0.99,
    high: batchesPerSecond * 1.01,
    isSettled: true,
    ...changes,
  };
}

export function buildTrial(changes: Partial<TrialRecord> = {}): TrialRecord {
  return {
    arrivalsNs: evenly(10, 10e6, 123e6),
    droppedBatches: 4,
    aborted: false,
    failure: null,
    waitNsPerBatch: 5e6,
    copyNsPerBatch: 1e6,
    makeNsPerBatch: null,
    sharedMemoryBytes: 0,
    pinnedBytes: 0,
    workerPrivateBytes: 0,
    storageReadBytes: 0,
    ...changes,
  };
}

/** A setting that was tried once, with its rate; null for none. */
export function buildTried(
  setting: LoaderSetting,
  batchesPerSecond: number | null,
  trial: Partial<TrialRecord> = {},
): Tried {
  const score = batchesPerSecond === null ? null : buildScore(batchesPerSecond);
  return { setting, score, trials: [buildTrial(trial)] };
}

export function buildFailure(changes: Partial<Failure> = {}): Failure {
  return {
    fault: "worker-killed",
    message: "A worker was killed (SIGKILL) with 16 workers, not pinned.",
    hint: "Most likely memory ran out.",
    traceback: null,
    everywhere: false,
    ...changes,
  };
}

/** A search on 16 CPUs: 8 workers, not pinned, are 3.6 times as fast as none. */
export function buildTuning(part: TuningPart = {}): Tuning {
  const tried = part.tried ?? [
    buildTried(usualSetting(0, false), 20),
    buildTried(usualSetting(0, true), 21),
    buildTried(usualSetting(16, false), 72.5, { sharedMemoryBytes: 1.3e9 }),
    buildTried(usualSetting(16, true), 70, { sharedMemoryBytes: 1.3e9, pinnedBytes: 1.4e9 }),
    buildTried(usualSetting(8, false), 72, { sharedMemoryBytes: 6.6e8 }),
  ];
  return {
    schemaVersion: 1,
    kind: "tuning",
    tool: { name: "pinbench", version: "0.1.0" },
    run: {
      startedAt: "2026-11-20T10:00:00.000Z",
      wallNs: 12e9,
      searchNs: 9.4e9,
      argv: ["tune", "--torch", "train_data.py:make_dataset"],
      status: part.recommendation === null ? "failed" : "complete",
      error: null,
      ...part.run,
    },
    method: { tolerance: 0.02, maxWorkers: 16, budgetNs: 60e9, ...part.method },
    machine: {
      hostname: "node-1",
      cpuModel: "A CPU",
      usableCpus: 16,
      cpuQuota: null,
      ranks: 1,
      memoryAvailableBytes: 64e9,
      sharedMemoryBytes: 32e9,
      ...part.machine,
    },
    probe: {
      kind: "torch",
      source: "train_data.py:make_dataset",
      device: "NVIDIA H200",
      runtime: "torch 2.11.0, Python 3.12.3",
      batch: { samples: 64, bytes: 38_535_168, description: "float32 [64, 3, 224, 224] + int64 [64]" },
      epochBatches: 1000,
      startingPoint: null,
      pinningOff: null,
      workersOff: null,
      link: { pinnedBytesPerSecond: 55.3e9, pageableBytesPerSecond: 11.2e9 },
      stepNs: null,
      checks: [],
      notes: [],
      ...part.probe,
    },
    tried,
    skipped: part.skipped ?? [],
    startingScore: part.startingScore === undefined ? buildScore(20) : part.startingScore,
    recommendation:
      part.recommendation === null
        ? null
        : {
            setting: usualSetting(8, false),
            score: buildScore(72),
            limit: "workers",
            gain: { ratio: 3.6, low: 3.51, high: 3.69 },
            loaderGBps: 2.7745,
            dataShareOfStep: null,
            epochs: null,
            pinning: {
              numWorkers: 16,
              savedNsPerBatch: -492_610,
              savedNsLow: -800_000,
              savedNsHigh: -185_000,
            },
            ...part.recommendation,
          },
  };
}
