import { type Command, Option } from "commander";
import { PinbenchError } from "../errors.js";
import type { NumaChoice } from "../measure/placement.js";
import type { BackendChoice } from "../native/backend.js";
import type { Cache, Direction, Memory, Mode, Timer } from "../native/contract.js";
import { caches, directions, memories, modes, parseChoices, timers } from "../plan/choices.js";
import { type PresetName, presetNames } from "../plan/presets.js";
import type { PlanRequest } from "../plan/request.js";
import { parseSizes } from "../plan/sizes.js";
import { parseCounts, parseDuration, parsePercent, parseSize } from "../plan/units.js";

/** The flags of `pinbench run` as commander leaves them, parsed but not yet put together. */
export interface RunFlags {
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
  dryRun?: boolean;
  format?: string;
  json?: boolean;
  output: string[];
  quiet?: boolean;
  color: boolean;
  debug?: boolean;
}

export function addRunOptions(command: Command): Command {
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
    .option("--precision <percent>", "how narrow the median's interval must be (1%)", parsePercent)
    .option("--budget <time>", "time for measuring the whole sweep (8s; quick 250ms)", parseDuration)
    .option("--samples <count>", "a fixed number of samples a cell instead", parseWhole("number of samples"))
    .option("--staging-chunk <size>", "slot size of the staged copies' rings (2MiB)", parseSize)
    .option("--staging-slots <count>", "slots of a ring (3)", parseWhole("number of staging slots"))
    .option("--no-verify", "do not compare what was copied")
    .option("--seed <number>", "seed of the test pattern (1)", parseWhole("seed"))
    .option("--max-pinned <size>", "most memory to pin (a quarter of what is available)", parseSize)
    .option("--llc <size>", "last-level cache, where the system misreports it (as VMs do)", parseSize)
    .option("--numa <node>", "local, or the node to run on and take memory from", parseNuma, "local")
    .option("--dry-run", "show the plan, its memory and its estimated time, and stop")
    .addOption(new Option("--format <name>", "what to print").choices(["table", "json", "csv", "markdown"]))
    .option("--json", "short for --format json")
    .option("--output <file>", "also write a file; .json .csv .md .txt (repeatable)", collect, [])
    .option("--quiet", "no progress and no notes on stderr")
    .option("--no-color", "no colours")
    .option("--debug", "show where an error came from");
}

export function backendOption(): Option {
  return new Option("--backend <name>", "auto takes the GPU, and the emulated device where there is none")
    .choices(["auto", "cuda", "emulated"])
    .default("auto");
}

export function toPlanRequest(flags: RunFlags): PlanRequest {
  return {
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

function choicesOf<Choice extends string>(what: string, choices: readonly Choice[]) {
  return (text: string) => parseChoices(text, what, choices);
}

function parseDevices(text: string): number[] | "all" {
  if (text === "all") return "all";
  const entries = text.split(",").map((entry) => entry.trim());
  const wrong = entries.find((entry) => !/^\d{1,4}$/.test(entry));
  if (wrong === undefined) return [...new Set(entries.map(Number))];
  throw new PinbenchError("usage", `"${wrong}" is not a device number.`, {
    hint: "Write --device 0, --device 0,1 or --device all; pinbench devices lists them.",
  });
}

function parseNuma(text: string): NumaChoice {
  if (text === "local") return "local";
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw new PinbenchError("usage", `"${text}" is not a NUMA node.`, {
    hint: "Write --numa local, or a node's number such as --numa 0.",
  });
}

function parseWhole(what: string) {
  return (text: string): number => {
    if (/^\d{1,16}$/.test(text)) return Number(text);
    throw new PinbenchError("usage", `"${text}" is not a ${what}: that is a whole number.`);
  };
}

function collect(path: string, previous: string[]): string[] {
  return [...previous, path];
}
