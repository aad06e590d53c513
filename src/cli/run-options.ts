import { type Command, Option } from "commander";
import type { NumaChoice } from "../measure/placement.js";
import type { Cell } from "../plan/cell.js";
import type { PlanRequest } from "../plan/request.js";
import type { ReportFormat } from "../report/result-formats.js";
import type { RepeatSettings } from "../results/repeat-settings.js";
import {
  type BackendChoice,
  backendChoices,
  type Cache,
  caches,
  type Direction,
  directions,
  type Memory,
  type Mode,
  memories,
  modes,
  type Timer,
  timers,
} from "../settings/choices.js";
import { type PresetName, presetNames } from "../settings/presets.js";
import { parseSizes } from "../settings/sizes.js";
import { parseCounts, parseDuration, parsePercent, parseSize } from "../settings/units.js";
import { cellParameters } from "./cells-option.js";
import { choicesOf, collect, parseDevices, parseNuma, parseWhole } from "./option-values.js";

/** What to measure and how: a flag each, and a key each of the configuration's `plan`. */
export interface PlanFlags {
  backend: BackendChoice;
  device: readonly number[] | "all";
  preset?: PresetName;
  sizes?: number[];
  workers?: number[];
  memory?: Memory[];
  direction?: Direction[];
  mode?: Mode[];
  timer?: Timer[];
  cache?: Cache[];
  precision?: number;
  budget?: number;
  samples?: number;
  stagingChunk?: number;
  stagingSlots?: number;
  verify: boolean;
  seed?: number;
  maxPinned?: number;
  llc?: number;
  numa: NumaChoice;
}

/** The flags of `pinbench run` as commander leaves them, parsed but not yet put together. */
export interface RunFlags extends PlanFlags {
  /** Ids with commas, or "-" where stdin has them; readCells() reads both. */
  cells?: string;
  /** A file, or false for none at all; absent where it is to be searched for. */
  config?: string | false;
  dryRun?: boolean;
  format?: ReportFormat;
  json?: boolean;
  output: string[];
  quiet?: boolean;
  color: boolean;
  debug?: boolean;
}

/** The flags of `pinbench run`. */
export function addRunOptions(command: Command): Command {
  return addMeasuringOptions(addCellOptions(command))
    .option("--config <file>", "read this configuration instead of the nearest pinbench.config.json")
    .option("--no-config", "read no configuration")
    .option("--dry-run", "show the plan, its memory and its estimated time, and stop")
    .addOption(new Option("--format <name>", "what to print").choices(["table", "json", "csv", "markdown"]))
    .option("--json", "short for --format json")
    .option("--output <file>", "also write a file; .json .csv .md .txt (repeatable)", collect, [])
    .option("--quiet", "no progress and no notes on stderr")
    .option("--no-color", "no colours")
    .option("--debug", "show where an error came from");
}

/** What to measure. */
export function addCellOptions(command: Command): Command {
  return command
    .addOption(backendOption())
    .option("--device <list>", "devices to measure: 0, 0,1 or all", parseDevices, [0])
    .addOption(new Option("--preset <name>", "what to measure where no flag says").choices(presetNames))
    .option("--sizes <list>", "copy sizes: 64KiB,1MiB or 1KiB..64MiB*2 or 1MiB..16MiB+1MiB", parseSizes)
    .option("--workers <list>", "threads that copy at once: 1,2,4", (text) => parseCounts(text, "workers"))
    .option("--memory <list>", `of ${memories.join(", ")}`, choicesOf("memory kind", memories))
    .option("--direction <list>", `of ${directions.join(", ")}`, choicesOf("direction", directions))
    .option("--mode <list>", `of ${modes.join(", ")}`, choicesOf("mode", modes))
    .option("--timer <list>", `of ${timers.join(", ")}`, choicesOf("timer", timers))
    .option("--cache <list>", `of ${caches.join(", ")}`, choicesOf("cache state", caches))
    .addOption(cellsOption());
}

/** How to measure it: what a repetition of a run shares with it. */
export function addMeasuringOptions(command: Command): Command {
  return command
    .option("--precision <percent>", "how narrow the median's interval must be (1%)", parsePercent)
    .option("--budget <time>", "time for measuring the whole sweep (8s; quick 250ms)", parseDuration)
    .option("--samples <count>", "a fixed number of samples a cell instead", parseWhole("number of samples"))
    .option("--staging-chunk <size>", "slot size of the staged copies' rings (2MiB)", parseSize)
    .option("--staging-slots <count>", "slots of a ring (3)", parseWhole("number of staging slots"))
    .option("--verify", "compare what was copied", true)
    .option("--no-verify", "do not compare what was copied")
    .option("--seed <number>", "seed of the test pattern (1)", parseWhole("seed"))
    .option("--max-pinned <size>", "most memory to pin (a quarter of what is available)", parseSize)
    .option("--llc <size>", "last-level cache, where the system misreports it (as VMs do)", parseSize)
    .option("--numa <node>", "local, or the node to run on and take memory from", parseNuma, "local");
}

/** The measuring flags that were given on the command line, over the settings of an earlier run. */
export function withGivenSettings(command: Command, settings: RepeatSettings): RepeatSettings {
  const flags = command.opts<PlanFlags>();
  const given = <Key extends keyof PlanFlags>(name: Key) =>
    command.getOptionValueSource(name) === "cli" ? flags[name] : undefined;
  // Both say when a cell has been measured enough, which a fixed count of samples would leave without effect.
  const until = given("precision") ?? given("budget");
  return {
    ...settings,
    precision: given("precision") ?? settings.precision,
    budgetNs: given("budget") ?? settings.budgetNs,
    samplesPerCell: given("samples") ?? (until === undefined ? settings.samplesPerCell : null),
    staging: {
      chunkBytes: given("stagingChunk") ?? settings.staging.chunkBytes,
      slots: given("stagingSlots") ?? settings.staging.slots,
    },
    verify: given("verify") ?? settings.verify,
    seed: given("seed") ?? settings.seed,
    maxPinnedBytes: given("maxPinned") ?? settings.maxPinnedBytes,
    lastLevelCacheBytes: given("llc") ?? settings.lastLevelCacheBytes,
    numa: given("numa") ?? settings.numa,
  };
}

export function backendOption(): Option {
  return new Option("--backend <name>", "auto takes the GPU, and the emulated device where there is none")
    .choices(backendChoices)
    .default("auto");
}

function cellsOption(): Option {
  return new Option(
    "--cells <ids>",
    "exactly these cells, by their ids (d0/h2d/pinned/1048576/w1/throughput/wall/cold,…), or - for stdin",
  ).conflicts([...cellParameters]);
}

/**
 * The flags of a command with the configuration's plan put between: what was given on the command line wins over it,
 * and it wins over what commander has as default. `--cells` wins over all that it says itself.
 */
export function withConfigured(command: Command, configured: Partial<PlanFlags>): RunFlags {
  const flags = command.opts<RunFlags>();
  const given = Object.entries(flags).filter(([name]) => command.getOptionValueSource(name) === "cli");
  const merged = { ...flags, ...configured, ...Object.fromEntries(given) };
  if (flags.cells === undefined) return merged;
  for (const name of cellParameters) if (name !== "device") delete merged[name];
  return merged;
}

export function toPlanRequest(flags: RunFlags, cells: readonly Cell[] | null): PlanRequest {
  return {
    cells,
    preset: flags.preset,
    sizesBytes: flags.sizes,
    workers: flags.workers,
    memory: flags.memory,
    directions: flags.direction,
    modes: flags.mode,
    timers: flags.timer,
    caches: flags.cache,
    precision: flags.precision,
    budgetNs: flags.budget,
    samplesPerCell: flags.samples,
    staging: { chunkBytes: flags.stagingChunk, slots: flags.stagingSlots },
    verify: flags.verify,
    seed: flags.seed,
    maxPinnedBytes: flags.maxPinned,
  };
}
