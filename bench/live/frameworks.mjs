// The trainings: their commands, and the grid of settings that tune's choice is compared with.
import { execFileSync } from "node:child_process";
import { join } from "node:path";

const scripts = import.meta.dirname;

/** Batches of an epoch: enough for a run of 20 s, too few for a search and a run. */
const epochBatches = 1000;

// Workers as a share of a rank's CPUs, and whether pinned. In a mixed order, so that a drift of the machine does not
// look like an effect of a setting.
const imageGrid = [
  [0.75, true],
  [0.25, false],
  [1, true],
  [0.5, true],
  [1, false],
  [0.375, true],
  [0.875, true],
  [0.625, true],
];
const textGrid = [
  [0.25, true],
  [0.75, true],
  [0, false],
  [0.5, true],
  [0.125, true],
  [1, true],
  [0.25, false],
  [0.375, true],
];

// For short epochs, also whether workers persist; otherwise they restart in each epoch.
const shortGrid = [
  [0.25, true, false],
  [0.5, true, true],
  [0.25, true, true],
  [0.5, true, false],
  [0.125, true, true],
  [0.125, true, false],
];

/**
 * `batchSize`: the script's default (64); --tiny uses 4. `ranks`: training processes on the machine. `epoch`: batches
 * of a short epoch; the rate then covers whole epochs.
 */
const trainings = [
  { name: "plain", script: "plain.py", data: "images", grid: imageGrid },
  { name: "lightning", script: "lightning_trainer.py", data: "images", grid: imageGrid },
  { name: "timm", script: "timm_train.py", data: "images", grid: imageGrid },
  { name: "transformers", script: "hf_trainer.py", data: "texts", grid: textGrid },
  { name: "lm", script: "lm.py", data: "tokens", grid: textGrid, batchSize: 16 },
  { name: "short-texts", script: "hf_trainer.py", data: "texts", grid: shortGrid, epoch: 64 },
  { name: "short-lm", script: "lm.py", data: "tokens", grid: shortGrid, batchSize: 16, epoch: 32 },
  { name: "ddp", script: "ddp.py", data: "images", grid: imageGrid, ranks: 2 },
];

export const frameworkNames = trainings.map(({ name }) => name);

/** `folder` holds the data; `tiny` is for machines without a GPU; `cpus` are those of a training. */
export function makeFramework(name, { python, folder, tiny }, cpus) {
  const {
    script,
    data,
    grid,
    ranks = 1,
    batchSize: usual = 64,
    epoch: shortEpoch = null,
  } = trainings.find((one) => one.name === name);
  const batchSize = tiny ? 4 : usual;
  const epoch = shortEpoch ?? (tiny ? 200 : epochBatches);
  const dataFolder = join(folder, data);
  const launcher =
    ranks === 1 ? [] : ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", String(ranks)];
  const size = [
    ...(data === "images" ? [] : ["--epoch-batches", String(epoch)]),
    ...(shortEpoch === null ? [] : ["--whole-epochs"]),
    ...(tiny ? ["--tiny", "--batch-size", String(batchSize)] : []),
    ...(tiny && name === "lm" ? ["--sequence", "64"] : []),
  ];
  return {
    name,
    ranks,
    isAlike:
      shortEpoch === null
        ? isAlike
        : (one, other) => isAlike(one, other) && persists(one) === persists(other),
    settings: gridSettings(grid, Math.floor(cpus / ranks)),
    command: (flags) => [
      python,
      ...launcher,
      join(scripts, script),
      ...(data === "texts" ? [] : ["--data", dataFolder]),
      ...size,
      ...flags,
    ],
    prepare() {
      if (data !== "images") return;
      const names = tiny ? 4 : 16;
      const flags = ["--files", String((epoch * batchSize) / names), "--names", String(names)];
      execFileSync(python, [join(scripts, "make_images.py"), dataFolder, ...flags], { stdio: "inherit" });
    },
  };
}

function gridSettings(grid, cpus) {
  const settings = grid.map(([share, pinMemory, persistentWorkers = false]) => {
    const numWorkers = Math.round(share * cpus);
    return {
      numWorkers,
      pinMemory,
      prefetchFactor: numWorkers === 0 ? null : 2,
      persistentWorkers,
    };
  });
  const isSame = (one, other) => isAlike(one, other) && persists(one) === persists(other);
  return settings.filter((one, index) => settings.findIndex((other) => isSame(one, other)) === index);
}

const persists = ({ numWorkers, persistentWorkers }) => numWorkers > 0 && persistentWorkers;

/** Whether two settings are equal within an epoch, where no worker restarts. */
export const isAlike = (one, other) =>
  one.numWorkers === other.numWorkers &&
  one.pinMemory === other.pinMemory &&
  one.prefetchFactor === other.prefetchFactor;

export function settingFlags({ numWorkers, pinMemory, prefetchFactor, persistentWorkers }) {
  return [
    "--num-workers",
    String(numWorkers),
    pinMemory ? "--pin-memory" : "--no-pin-memory",
    ...(prefetchFactor === null ? [] : ["--prefetch-factor", String(prefetchFactor)]),
    persistentWorkers ? "--persistent-workers" : "--no-persistent-workers",
  ];
}
