import { type DocumentName, formatNames } from "./document-formats.js";
import * as kind from "./kinds.js";
import { labels } from "./labels.js";
import { loadSettings } from "./load-settings.js";
import { pinSettings } from "./pin-settings.js";
import { type Kind, repeatable, type SettingTable, setting, type Values } from "./setting.js";
import {
  baselineSettings,
  cellSettings,
  checkSettings,
  fleetSettings,
  judgingSettings,
  measuringSettings,
  runSettings,
  runsOf,
} from "./table.js";
import { tuneSettings } from "./tune-settings.js";

const launchSettings = {
  nodes: setting(
    "--nodes <count|list>",
    "how many nodes, or which: 4, n01,n02 or, with Slurm, n[01-04]",
    kind.text,
  ),
  folder: setting("--output <folder>", "a new folder for the results, which all nodes share", kind.text),
  launcher: setting(
    "--launcher <command>",
    "command that starts one process per node, instead of srun; {nodes} becomes the value of --nodes",
    kind.text,
  ),
  pinbench: setting(
    "--pinbench <command>",
    "command of pinbench on the nodes (this one's path): 'npx pinbench', or a bundle's path",
    kind.text,
  ),
} as const;

/** What a command prints and writes. `pinbench help output` describes these flags for all commands. */
export const outputSettings = {
  format: setting("--format <name>", "what to print", kind.text),
  json: kind.onDemand("--json", "print JSON"),
  output: repeatable("--output <file>", "also write a file, in the format of its extension", kind.text),
  quiet: kind.onDemand("--quiet", "no progress and no notes on stderr"),
  showsAll: kind.onDemand("--all", "show all rows, notes and how it was measured"),
} as const;
const { json, output, quiet, showsAll } = outputSettings;

/** Null searches for the nearest file; false reads none. */
const config = setting(
  "--config <file>",
  "read this configuration instead of the nearest pinbench.config.json",
  kind.text as Kind<string | false, string>,
  { helpOfNo: "read no configuration" },
);

/** Counted from the start of the process. */
const deadlineNs = setting(
  "--deadline <time>",
  "stop after this time even if something hangs: keep what was measured, exit with 4",
  kind.time,
);

/** For commands that use all devices by default. */
const allDevices = setting("--device <list>", "devices to measure: 0, 0,1 or all (all)", kind.devices, {
  default: "all",
});

const turn = {
  waitNs: setting(
    "--wait [time]",
    "wait until no other program uses the devices, first come, first served; after this time, if given, exit with 4",
    kind.turnWait,
  ),
  deadlineNs,
} as const;

const written = <const Name extends DocumentName>(name: Name) =>
  ({
    format: { ...outputSettings.format, kind: kind.choice(formatNames(name)) },
    json,
    output,
  }) as const;

export const commandSettings = {
  run: {
    ...runSettings,
    runs: runsOf("fresh processes, each with the whole budget (1)", 1),
    labels,
    ...turn,
    config,
    value: setting(
      "--value <cell>",
      'measure one cell and print its median alone: "h2d pinned 64MiB" prints 55.1',
      kind.text,
    ),
    dryRun: kind.onDemand("--dry-run", "show the plan and its memory, and stop"),
    ...written("result"),
    quiet,
    showsAll,
  },
  /** Gets its settings as JSON. */
  measure: {},
  /** Gets calls over its IPC channel. */
  worker: {},
  baseline: {
    ...baselineSettings,
    ...runSettings,
    labels,
    ...turn,
    config,
    quiet,
  },
  check: {
    ...checkSettings,
    budgetNs: {
      ...measuringSettings.budgetNs,
      help: "time for measuring all cells in each run (as in the baseline)",
    },
    maxPinnedBytes: {
      ...measuringSettings.maxPinnedBytes,
      help: "most memory to pin (as in the baseline)",
    },
    ...judgingSettings,
    ...written("comparison"),
    ...turn,
    config,
    quiet,
    showsAll,
  },
  compare: {
    ...judgingSettings,
    ...written("comparison"),
    config,
    quiet,
    showsAll,
  },
  history: {
    cells: setting(
      "--cells <patterns>",
      'show these cells one by one: ids or patterns, such as "*/pinned/*"',
      kind.cellPatterns,
    ),
    ...written("history"),
    showsAll,
  },
  fleet: {
    ...fleetSettings,
    ...written("fleet"),
    quiet,
    showsAll,
    since: setting(
      "--since <time>",
      "leave out results from before this time, such as a repair",
      kind.moment,
    ),
  },
  "fleet run": {
    ...launchSettings,
    deadlineNs: {
      ...deadlineNs,
      help: "stop after this time even if something hangs, and judge the nodes that have measured (5m)",
    },
    preset: { ...cellSettings.preset, help: "sizes and memory kinds to measure (fleet)" },
    budgetNs: measuringSettings.budgetNs,
    backend: cellSettings.backend,
    devices: cellSettings.devices,
    maxPinnedBytes: measuringSettings.maxPinnedBytes,
    verify: measuringSettings.verify,
    labels,
    config,
    ...fleetSettings,
    format: written("fleet").format,
    json,
    quiet,
    showsAll,
  },
  /** Gets its settings from a file. */
  "fleet-node": {},
  tune: {
    ...tuneSettings,
    ...turn,
    ...written("tuning"),
    quiet,
    showsAll,
  },
  show: {
    format: outputSettings.format,
    json,
    output: {
      ...repeatable(
        "--output <file>",
        "write a file instead: .html for a page of all documents, .svg for a chart; one document also as .txt .json .md and more (repeatable)",
        kind.text,
      ),
      excludes: ["format", "json"],
    },
    chart: setting(
      "--chart <name>",
      "chart for an .svg file, such as h2d-by-size (the first one)",
      kind.text,
    ),
    showsAll,
  },
  doctor: {
    backend: cellSettings.backend,
    devices: allDevices,
    preset: setting(
      "--preset <name>",
      "quick: only pinned copies and NVML's facts, in a few seconds (everything)",
      kind.choice(["quick"]),
    ),
    reference: setting(
      "--reference <file>",
      "compare with this reference of your own machines (format: docs/doctor.md)",
      kind.text,
    ),
    labels,
    ...turn,
    ...written("diagnosis"),
    quiet,
    showsAll,
  },
  pin: {
    ...pinSettings,
    labels,
    ...turn,
    ...written("pinning"),
    quiet,
    showsAll,
  },
  load: {
    ...loadSettings,
    ...turn,
    ...written("load"),
    quiet,
    showsAll,
  },
  explain: {
    all: kind.onDemand("--all", "answer all questions, in about a minute"),
    backend: cellSettings.backend,
    devices: allDevices,
    python: tuneSettings.python,
    deadlineNs,
    ...written("explanation"),
    quiet,
  },
  trace: {
    forNs: setting("--for <time>", "report after this time; the command runs on (its whole run)", kind.time),
    skipNs: setting("--skip <time>", "leave out this time at the start, such as a warm-up (0s)", kind.wait, {
      default: 0,
    }),
    reference: setting(
      "--reference <file>",
      "take this machine's pinned rates from a result of pinbench run (a quick run before the start)",
      kind.text,
    ),
    cupti: setting("--cupti <file>", "the libcupti.so to use (the program's own, else CUDA's)", kind.text),
    nvtx: kind.onDemand("--nvtx", "tell copies in different NVTX ranges apart"),
    ...written("trace"),
    quiet,
    showsAll,
  },
  devices: {
    backend: cellSettings.backend,
    json,
    output,
  },
  "import nvbandwidth": {
    output: setting("--output <file.json>", "write a file instead of printing", kind.text),
    bufferSizeBytes: setting(
      "--buffer-size <size>",
      "value of nvbandwidth's -b, which its file lacks (nvbandwidth's default)",
      kind.size,
    ),
    quiet,
  },
  completion: {},
  help: {},
} as const satisfies Record<string, SettingTable>;

export type CommandName = keyof typeof commandSettings;

export type CommandSettings<Name extends CommandName> = Values<(typeof commandSettings)[Name]>;
