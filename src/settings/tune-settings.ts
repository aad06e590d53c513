import * as kind from "./kinds.js";
import { setting, type Values } from "./setting.js";
import { cellSettings } from "./table.js";

/** Largest number of a loader's workers; more are a mistake. */
export const mostWorkers = 1024;

/** Default search time in ns: for a data set alone, and for a running job from its first batches on. */
export const usualBudgetNs = { alone: 60e9, live: 33e9 } as const;
/** The same while it is undecided whether another setting is better than the script's own. */
export const undecidedBudgetNs = 60e9;

export const tuneSettings = {
  torch: setting("--torch <file:name>", "a Dataset or DataLoader, or a function that returns one", kind.text),
  python: setting(
    "--python <path>",
    "Python interpreter of the training (python3, or that of the wheel's environment)",
    kind.text,
  ),
  sample: setting(
    "--sample <bytes[,time]>",
    "without Python: bytes of a sample, and CPU time to make it: 588KiB,500us",
    kind.sample,
  ),
  data: setting(
    "--data <folder>",
    "without Python: a folder of files, one per sample; with --cold: the files that the data set reads",
    kind.text,
  ),
  cold: kind.onDemand("--cold", "measure a first epoch: drop the files of --data from the page cache first"),
  batchSize: setting("--batch-size <count>", "samples per batch", kind.count("batch size", 1, 1e6)),
  step: setting(
    "--step <time|auto|file:name>",
    "simulate a training step: 70ms, or auto for about a ResNet-50's; with --torch: your own, a function of a batch",
    kind.step,
  ),
  ranks: setting(
    "--ranks <count>",
    "training processes on this node, which share its CPUs and memory (1)",
    kind.count("number of ranks", 1, 1e6),
    { default: 1 },
  ),
  maxWorkers: setting(
    "--max-workers <count>",
    "most workers (the CPUs of each rank)",
    kind.count("number of workers", 0, mostWorkers),
  ),
  budgetNs: setting(
    "--budget <time>",
    "time for the search (60s; in a running job 33s, 60s while undecided)",
    kind.time,
  ),
  go: setting(
    "--go [anyway]",
    "with a command: start it afresh with the best (anyway: despite a checkpoint)",
    kind.choice(["best", "anyway"]),
  ),
  loader: setting(
    "--loader <number>",
    "in a running job: tune this loader, numbered from 1 in order of first use",
    kind.count("number of a loader", 1, 1e6),
  ),
  timeoutNs: setting("--timeout <time>", "time without a batch that counts as a hang (30s)", kind.time, {
    default: 30e9,
  }),
  backend: cellSettings.backend,
  device: setting(
    "--device <list>",
    "without Python: number of the GPU to copy to; further ranks use the others (0)",
    kind.oneDevice,
  ),
} as const;

export type TuneSettings = Values<typeof tuneSettings>;
