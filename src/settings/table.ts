import {
  backendChoices,
  besides,
  caches,
  directions,
  memories,
  modes,
  verifyings,
  workerKinds,
} from "./choices.js";
import * as kind from "./kinds.js";
import { presetNames } from "./presets.js";
import { repeatable, setting, type Values } from "./setting.js";

/*
 * All settings of measuring, judging and storing. Flags, configuration keys, library options, settings in results and
 * help derive from these. Keys include their units; times are in nanoseconds. command-settings.ts lists each command's
 * settings, and flags that affect only output.
 */

const backend = setting(
  "--backend <name>",
  "auto takes the GPU, else the emulated device, except in doctor, fleet run, baseline, --value and --json (auto)",
  kind.choice(backendChoices),
  { default: "auto" },
);

/** Settings that cell ids contain, so `cells` excludes them. */
export const settingsInCellIds = [
  "devices",
  "preset",
  "sizesBytes",
  "workers",
  "memory",
  "directions",
  "modes",
  "caches",
  "workerKinds",
  "together",
  "besides",
  "pipelineChunks",
  "blockSizesBytes",
] as const;

/** What to measure; null takes the preset's or the plan's default. */
export const cellSettings = {
  backend,
  devices: setting(
    "--device <list>",
    "devices: 0, 0,1 or all (default: all with --together, --numa all, direction p2p or preset fleet, else 0)",
    kind.devices,
    { default: [0] },
  ),
  preset: setting(
    "--preset <name>",
    "a set of sizes and memory kinds; other flags override it (default)",
    kind.choice(presetNames),
  ),
  sizesBytes: setting(
    "--sizes <list>",
    "copy sizes: 64KiB,1MiB or 1KiB..64MiB*2 or 1MiB..16MiB+1MiB",
    kind.sizes,
  ),
  workers: setting("--workers <list>", "threads that copy at once, such as 1,2,4", kind.counts("workers")),
  memory: setting("--memory <list>", `of ${memories.join(", ")}`, kind.choicesOf("memory kind", memories)),
  directions: setting(
    "--direction <list>",
    `of ${directions.join(", ")}`,
    kind.choicesOf("direction", directions),
  ),
  modes: setting("--mode <list>", `of ${modes.join(", ")} (throughput)`, kind.choicesOf("mode", modes), {
    default: ["throughput"],
  }),
  caches: setting("--cache <list>", `of ${caches.join(", ")} (cold)`, kind.choicesOf("cache state", caches), {
    default: ["cold"],
  }),
  workerKinds: setting(
    "--worker-kind <list>",
    `of ${workerKinds.join(", ")}: each process has a context of its own on the device`,
    kind.choicesOf("worker kind", workerKinds),
    { default: ["thread"] },
  ),
  together: kind.onDemand("--together", "also measure the devices at the same time"),
  besides: setting(
    "--beside <list>",
    `of ${besides.join(", ")}: also copy during this load (none)`,
    kind.choicesOf("load", besides),
    { default: ["none"] },
  ),
  pipelineChunks: setting(
    "--pipeline <list>",
    "also copy h2d in this many chunks, each followed by a kernel, such as 1,2,4,8,16",
    kind.counts("chunks"),
  ),
  blockSizesBytes: setting(
    "--blocks <list>",
    "copy scattered blocks of these sizes by every method: 4KiB,64KiB,1MiB; or auto: find where the best method changes",
    kind.blockSizes,
  ),
  cells: setting(
    "--cells <ids>",
    "only these cells, with their host controls, by ids: d0/h2d/pinned/1048576/w1/throughput/cold,…",
    kind.cellIds,
    { excludes: settingsInCellIds },
  ),
} as const;

/** Largest number of samples of a cell. */
export const mostSamples = 1e6;

export const measuringSettings = {
  /** Relative half-width of the median's interval at which a cell has converged. */
  precision: setting("--precision <percent>", "target half-width of a median's interval (1%)", kind.share, {
    default: 0.01,
  }),
  /** Null takes the preset's budget. */
  budgetNs: setting("--budget <time>", "time to measure all cells (8s; quick 250ms, fleet 10s)", kind.wait),
  samplesPerCell: setting(
    "--samples <count>",
    "fixed number of samples per cell, in latency mode per worker",
    kind.count("number of samples", 1, mostSamples),
  ),
  verify: setting(
    "--verify <which>",
    "check the data of the last copy to each buffer, or of every copy, which is slow (last)",
    kind.choice(verifyings),
    { default: "last" },
  ),
  /** Null means a quarter of the available memory. */
  maxPinnedBytes: setting(
    "--max-pinned <size>",
    "most memory to pin (a quarter of the available memory)",
    kind.size,
  ),
  /** Null means the temporary folder. */
  fileFolder: setting(
    "--file-folder <folder>",
    "where --memory file makes its files (the temporary folder, unless it is in memory)",
    kind.text,
  ),
  numa: setting(
    "--numa <node>",
    "NUMA node to run on and take memory from: local (the GPU's), a number, or all to compare them (local)",
    kind.numaNode,
    { default: "local" },
  ),
} as const;

export const runSettings = { ...cellSettings, ...measuringSettings } as const;

export const origins = ["flag", "configuration", "caller"] as const;
export type Origin = (typeof origins)[number];

/**
 * The request for a run, from flags, configuration or a caller. The plan and the result contain it, and other processes
 * get it as JSON.
 */
export type RunSettings = Values<typeof runSettings> & {
  origins: Partial<Record<keyof typeof runSettings, Origin>>;
};

export const defaultCheckRuns = 5;

/**
 * How `compare` and `check` judge, and which cells they show. Null takes the configuration's value, or else the
 * default.
 */
export const judgingSettings = {
  /** Later ones override earlier ones. */
  thresholds: repeatable(
    "--threshold <share>",
    "smallest drop that counts, such as 5%, or pageable=10% for one kind of memory (repeatable)",
    kind.threshold,
  ),
  strict: kind.onDemand(
    "--strict",
    "also fail if the candidate lacks a figure that the baseline has (exit code 6)",
  ),
  allowMismatch: kind.onDemand(
    "--allow-mismatch",
    "compare even if GPU model, number of GPUs, link width or --verify differ",
  ),
} as const;

export const fleetSettings = {
  threshold: setting(
    "--threshold <share>",
    "report GPUs and nodes slower than their group by this much (pinned 4%, others 10%)",
    kind.share,
  ),
  reference: setting(
    "--reference <file>",
    "compare GPUs first with this reference of your own machines (made by --format reference)",
    kind.text,
  ),
} as const;

/** Limit for the number of fresh processes of a command. */
export const mostRuns = 1000;

/** Number of fresh processes, one after the other; each command has its own default. */
export const runsOf = <const Default extends number | null>(help: string, usual: Default) =>
  setting("--runs <count>", help, kind.count("number of runs", 1, mostRuns), { default: usual });

export const checkSettings = {
  baseline: setting(
    "--baseline <path>",
    "a folder of `pinbench baseline`, or a result of `pinbench run --output`",
    kind.text,
  ),
  runs: runsOf(
    "fresh processes; slow cells are measured again in as many more, in doubt in up to 24 more (5)",
    null,
  ),
  confirmAfterNs: setting(
    "--confirm-after <time>",
    "wait this long before slow cells are measured again (0s)",
    kind.wait,
    { default: 0 },
  ),
  update: kind.onDemand("--update", "replace the baseline with this check, if it passes beyond doubt"),
  history: setting(
    "--history <folder>",
    "append this check's medians to a history, which pinbench history shows",
    kind.text,
  ),
} as const;

export const baselineSettings = {
  runs: runsOf("fresh processes (10)", 10),
  append: kind.onDemand(
    "--append",
    "add runs to an existing baseline, with its cells and settings",
    Object.keys(cellSettings),
  ),
  sessions: setting(
    "--sessions <count>",
    "measure --runs in each of N sessions, --every apart (1)",
    kind.count("number of sessions", 1, 1000),
    { default: 1 },
  ),
  everyNs: setting("--every <time>", "time from the start of one session to the next (10m)", kind.time, {
    default: 600e9,
  }),
} as const;
