import { emulatedNote } from "../../../src/results/device-facts.js";
import { describeSetting, torchDefault, usualSetting } from "../../../src/results/loader-setting.js";
import {
  faults,
  type LoaderSetting,
  type Recommendation,
  type Tuning,
  type TuningScore,
} from "../../../src/results/tuning.js";
import { limitsOfProcesses, machineLimits, misfit, needOf } from "../../../src/tune/machine-limits.js";
import { bindingFaults } from "../../../src/tune/process-binding.js";
import { findingsOf } from "../../../src/tune/report/tuning-findings.js";
import { tuningKind } from "../../../src/tune/report/tuning-formats.js";
import { readsStorage, waitingShare } from "../../../src/tune/search/rate.js";
import { hasScore, tuningExitCode } from "../../../src/tune/tune-loader.js";
import { drawn, textFormats } from "../../helpers/drawn.js";
import { gpuNames, machineTree } from "../../helpers/machine-tree.js";
import { seeded } from "../../helpers/seeded.js";
import { simulatedFacts } from "../../helpers/simulated-loader.js";
import { evenly, limitsOf } from "../../helpers/tune.js";
import { buildFailure, buildTrial, buildTuning } from "../../helpers/tuning.js";
import { draws } from "../draws.js";

/** A document of trials at random, which no search need have made. */
export function randomTuning(seed: number): Tuning {
  const { uniform, pick } = seeded(seed);
  /** Such a value, or none of it. */
  const some = <T>(share: number, make: () => T): T[] => (uniform() < share ? [make()] : []);
  const kind = pick("torch", "native", "live");
  const isLive = kind === "live";
  const scoreOf = (rate: number): TuningScore => {
    const width = pick(0.0004, 0.01, 0.02, 0.3, 0.75, 2.5);
    const ends = pick<[number | null, number | null]>(
      [1 - width, 1 + width],
      [1 - width / 2, 1 + width],
      [1 - width, null],
      [null, null],
    );
    const [low, high] = ends.map((end) => end && Math.max(0.01, end * rate));
    return { batchesPerSecond: rate, low: low!, high: high!, isSettled: pick(true, true, false) };
  };
  const [isCounting, isTimed, turnsOver, isRepeating, isRanked] = [
    uniform() < 0.7,
    uniform() < 0.6,
    uniform() < 0.6,
    uniform() < 0.3,
    uniform() < 0.4,
  ];
  const failing = pick(0, 0.15, 0.4);
  const isStorage = uniform() < 0.4;
  const prefetches = pick([2], [2, 4], [1, 2, 4]);
  const counts = pick([0], [0, 1, 2, 3, 8, 16], [0, 1, 2, 3, 8, 16], [1, 8, 16]);
  const settingOf = (): LoaderSetting => ({
    ...usualSetting(pick(...counts), pick(true, false), pick(...prefetches)),
    ...(isLive ? { persistentWorkers: pick(true, false), nonBlocking: false } : {}),
  });
  const bytes = () => pick(null, 0, 1, 9e6, 1.3e9, 40e9);
  const turn = () => ({
    batches: pick(1, 80),
    betweenNs: pick(0, 3e8),
    firstBatchNs: pick(1e7, 2.5e9),
    ...pick({}, { start: { batches: 3, ns: 2.6e9 } }),
  });
  const failureOf = () =>
    buildFailure({
      ...pick(
        {},
        {
          fault: pick(...faults),
          message: pick("It failed.", `It failed with ${describeSetting(settingOf())}.`),
          hint: pick(null, "Try 2."),
          traceback: pick(null, "File 1"),
        },
      ),
    });
  const trialOf = (setting: LoaderSetting) => {
    const first = pick(2e6, 123e6, 4.56e9);
    const waits = () => [0, 1, 3].map((rank) => ({ rank, waitNs: pick(1e5, 9e5, 2e6, 3e7) }));
    return buildTrial({
      ...{
        arrivalsNs: pick([], [first], evenly(3, 1e7, first), evenly(10, 1e7, first), evenly(900, 1e7, first)),
        droppedBatches: pick(0, 4, 9),
      },
      ...{
        waitNsPerBatch: pick(null, 0, 1e5, 3e6, 1e7, 5e8),
        copyNsPerBatch: pick(null, 1e6),
        aborted: pick(false, false, true),
      },
      failure: uniform() < failing ? failureOf() : null,
      ...(isTimed
        ? {
            makeNsPerBatch: pick(null, 1e7, 4e7, 1.2e8),
            ...pick({}, { handOverNsPerBatch: pick(0, 5e6, 9e7) }),
            ...pick({}, { collateNsPerBatch: pick(1e6, 5e6, 9e6) }),
          }
        : {}),
      ...{
        sharedMemoryBytes: bytes(),
        pinnedBytes: bytes(),
        workerPrivateBytes: bytes(),
        storageReadBytes: isCounting ? pick(...(isStorage ? [3e8, 9e8] : [0, 1, 8 * 2 ** 20, 9e8])) : null,
      },
      ...pick({}, {}, { workerEpochBytes: bytes() }),
      ...(isRepeating && setting.numWorkers > 1
        ? { sampleCopies: pick(null, 1, 1.5, setting.numWorkers) }
        : {}),
      ...(isRanked ? { rankWaits: waits().slice(0, pick(1, 2, 3)) } : {}),
      ...(isLive && turnsOver ? { epochTurns: pick([], [turn()], [turn(), turn(), turn()]) } : {}),
    });
  };
  const all = [
    ...new Map(
      Array.from({ length: pick(0, 1, 4, 9, 14) }, settingOf).map((one) => [JSON.stringify(one), one]),
    ).values(),
  ];
  const scored = pick(0, 0.85, 0.85, 0.85, 1);
  const rate = pick(0.5, 7, 40, 72, 300);
  const tried = all.map((setting) => {
    const score =
      uniform() < scored ? scoreOf(rate * pick(0.2, 0.9, 0.97, 0.985, 0.99, 1, 1, 1.02, 1.3)) : null;
    return { setting, score, trials: Array.from({ length: pick(1, 1, 2, 3) }, () => trialOf(setting)) };
  });
  const startingPoint = pick(null, null, tried[0]?.setting ?? null, tried.at(-1)?.setting ?? null, {
    ...torchDefault,
    numWorkers: 2,
    prefetchFactor: 2,
  });
  const measured = tried.filter(({ score }) => score !== null);
  const chosen = measured.length === 0 ? null : pick(...measured);
  const low = pick(0.7, 0.98, 0.991, 1, 1.0004, 1.5);
  const gain = pick(
    null,
    { ratio: 1.31, low: null, high: null },
    { ratio: low * 1.01, low, high: low * pick(1.0001, 1.02, 1.0201, 1.1, 1.9, 9) },
  );
  const [savedNsLow, savedNsHigh] = pick(
    [-8e5, -185e3],
    [-8e5, 4e6],
    [2e5, 4.2e5],
    [0, 3e7],
    [-1e3, 0],
    [null, null],
  );
  const recommendation: Recommendation | null = chosen && {
    ...{
      setting: chosen.setting,
      score: chosen.score!,
      gain,
      loaderGBps: pick(0.012, 2.7745, 44),
      dataShareOfStep: pick(null, 0.04),
    },
    limit: pick("step", "link", "epochs", "workers", "workers", "process", "hand-over", "unknown"),
    epochs: pick(null, { ...turn(), isMeasured: pick(true, false), share: pick(0.004, 0.2, 0.201) }),
    pinning: pick(null, {
      numWorkers: pick(chosen.setting.numWorkers, 1, 16),
      savedNsPerBatch: 1e5,
      savedNsLow: savedNsLow!,
      savedNsHigh: savedNsHigh!,
    }),
  };
  const ranks = pick(1, 1, 2, 8);
  const maxWorkers = pick(1, 12, 13, 16, chosen?.setting.numWorkers ?? 8, chosen?.setting.numWorkers ?? 8);
  const usableCpus = pick(1, 8, 32, maxWorkers * ranks, maxWorkers * ranks + 1);
  const reasons = [
    "it needs 3.5 GiB of memory, and 2 GiB are available",
    "it needs 7 GiB of memory, and 2 GiB are available",
    "24 workers are more than 16, by the CPUs of each rank or --max-workers",
  ];
  const status = pick("complete", "complete", "budget", "ended", "aborted", "failed");
  return buildTuning({
    ...{
      tried,
      recommendation,
      skipped: Array.from({ length: pick(0, 0, 1, 4) }, () => ({
        setting: usualSetting(pick(4, 12, 24), pick(true, false)),
        reason: pick(...reasons),
      })),
    },
    run: {
      status,
      error: status === "failed" ? pick(null, "The device is lost.") : null,
      searchNs: pick(9.44e9, 61e9),
    },
    method: {
      tolerance: pick(0.01, 0.02),
      maxWorkers,
    },
    machine: {
      ranks,
      usableCpus,
      cpuQuota: pick(null, 3.5),
      memoryAvailableBytes: pick(64e9, 4e9),
    },
    probe: {
      ...{
        kind,
        startingPoint,
        device: pick(null, "NVIDIA H200", "NVIDIA H200"),
        runtime: pick(null, "torch 2.11.0"),
        epochBatches: pick(null, 10, 11, 18, 80, 1000),
      },
      ...{
        batch: { samples: pick(1, 64), bytes: pick(1, 38_535_168), description: "float32 [64, 3]" },
        stepNs: pick(null, null, 13.7e6, 0.4e6, 1e9 / rate),
      },
      ...{
        pinningOff: pick(null, null, null, "torch sees no GPU"),
        workersOff: pick(null, null, null, "batches are CUDA tensors"),
      },
      link: pick(null, { pinnedBytesPerSecond: 55.3e9, pageableBytesPerSecond: 0.92e9 }),
      notes: pick([], ["a note"], [emulatedNote, "a note", "another"]),
      ...Object.assign(
        {},
        ...some(0.4, () => ({ isCold: pick(true, false) })),
        ...some(0.5, () => ({ fileBytesPerBatch: pick(null, 7e6, 100) })),
      ),
      ...Object.assign(
        {},
        ...some(0.4, () => ({ framework: pick(null, "lightning", "transformers", "timm") })),
        ...some(0.2, () => ({ bindingFaults: ["rank 1 uses node 0", "another"] })),
      ),
    },
    startingScore: pick(null, scoreOf(rate * pick(0.3, 0.99, 1))),
    ...Object.assign(
      {},
      ...some(isStorage ? 1 : 0.1, () => ({
        storage: { bytesPerSecond: pick(1e6, 2.1e9, 9e9), threads: pick(1, 16) },
      })),
    ),
  });
}

/** A document, its charts and texts, and what else is said of it. */
async function shown(tuning: Tuning) {
  const code = (() => {
    try {
      return tuningExitCode(tuning);
    } catch (error) {
      const { message, hint, cause } = error as Error & { hint?: string };
      return [message, hint, String(cause)];
    }
  })();
  const texts = textFormats("tuning").filter((format) => format !== "json" && format !== "svg");
  const { charts } = await tuningKind.pictures!(tuning);
  return [
    ...[hasScore(tuning), code, findingsOf(tuning), charts, tuning.tried.map(waitingShare)],
    tuning.tried.flatMap(({ trials }) => trials.map((trial) => readsStorage(trial, tuning.probe))),
    ...texts.map((format) => drawn(tuningKind, tuning, format).split("\n")),
    ...[tuning],
  ];
}

/** Whether settings fit, each limit just kept and just not. */
function fits(seed: number) {
  const { pick } = seeded(seed);
  return Array.from({ length: 60 }, () => {
    const ranks = pick(1, 1, 2, 8);
    const setting = usualSetting(pick(0, 1, 8, 16, 17), pick(true, false), pick(1, 2, 4));
    const batch = { ...simulatedFacts.batch, bytes: pick(0, 1, 2 ** 20, 2 ** 20 + 1) };
    const workerBytes = pick(0, 0, 5e7, 3e9);
    const need = needOf(setting, { ...simulatedFacts, batch, filesPerBatch: 3 }, workerBytes);
    const near = (amount: number) => amount + pick(-1, 0, 1, 1e12);
    const limits = limitsOf({
      ranks,
      usableCpus: pick(1, 16, 17, 128),
      cpuQuota: pick(null, 2.5),
      memoryAvailableBytes: near(need.memoryBytes * ranks),
      sharedMemoryBytes: pick(null, near(need.sharedMemoryBytes * ranks)),
    });
    const facts = {
      ...simulatedFacts,
      batch,
      filesPerBatch: 3,
      fileLimit: pick(null, near(need.files), near(need.files + 30)),
      filesInUse: pick(null, 30),
    };
    return [need, misfit(setting, facts, { limits, maxWorkers: pick(1, 16, 128) }, workerBytes)];
  });
}

/** Ranks bound rightly and wrongly on a machine of two nodes, whose GPUs are on the first one. */
function bound(seed: number, root: string) {
  const { pick } = seeded(seed);
  return Array.from({ length: 20 }, () => {
    const places = Array.from({ length: pick(1, 2, 5) }, (_, rank) => ({
      ...{
        cpus: pick([0, 1], [4, 12], [0, 15], [8]),
        memoryPolicy: pick(
          null,
          "default",
          "bind:0",
          "bind:1",
          "prefer:1",
          "interleave:0-1",
          "bind=static:0",
        ),
      },
      ...{ rank, pciBusId: pick(null, gpuNames[rank % 2]!, gpuNames[0], gpuNames[1], "0000:77:00.0") },
    }));
    const ranked = places.map(({ rank, ...place }) => ({ rank, place }));
    const limits = machineLimits(pick(1, 2, 5), root);
    return [
      limitsOfProcesses({ ...limits, usableCpus: pick(1, 3, 16) }, ranked),
      bindingFaults(ranked, root),
    ];
  });
}

draws(import.meta.url, async () => {
  const outputs: [string, unknown][] = [];
  const root = machineTree({ "sys/fs/cgroup/user.slice/cpu.max": "350000 100000\n" });
  for (let seed = 1; seed <= 3; ++seed) {
    outputs.push(
      [`settings that fit or not, ${seed}`, fits(seed)],
      [`bound processes ${seed}`, bound(seed, root)],
    );
  }
  for (let seed = 1; seed <= 140; ++seed)
    outputs.push([`a tuning at random ${seed}`, await shown(randomTuning(seed))]);
  return outputs;
});
