import type { Command } from "commander";
import { PinbenchError } from "../errors.js";
import type { TuningFormat } from "../report/tuning/tuning-format-names.js";
import type { BackendChoice } from "../settings/choices.js";
import { parseDuration, parseSize } from "../settings/units.js";
import { parseWait, parseWhole } from "./option-values.js";
import { backendOption } from "./run-options.js";

/** The flags of `pinbench tune`, parsed, over `tuneDefaults`. Times in nanoseconds, sizes in bytes. */
export interface TuneFlags {
  torch?: string;
  python: string;
  collate?: string;
  kwargs?: Record<string, unknown>;
  shuffle: boolean;
  sampleBytes?: number;
  sampleCost?: number;
  data?: string;
  batchSize?: number;
  epochBatches?: number;
  stepTime?: number | "auto";
  ranks: number;
  maxWorkers?: number;
  budget: number;
  timeout: number;
  exhaustive?: boolean;
  backend: BackendChoice;
  device?: number;
  seed: number;
  format?: TuningFormat;
  json?: boolean;
  save?: string;
  quiet?: boolean;
  color: boolean;
  debug?: boolean;
}

/** What a flag is that was not given. */
export const tuneDefaults = {
  python: "python3",
  shuffle: true,
  ranks: 1,
  budget: 60e9,
  timeout: 30e9,
  backend: "auto",
  seed: 1,
  color: true,
} as const satisfies Partial<TuneFlags>;

export function addTuneOptions(command: Command): Command {
  return command
    .option("--torch <file:name>", "a Dataset or DataLoader, or a function that returns one")
    .option("--python <path>", "the Python that trains (python3)")
    .option("--collate <file:name>", "collate_fn of the loader")
    .option("--kwargs <json>", "what the function is called with, a JSON object", parseKeywords)
    .option("--no-shuffle", "take samples in order")
    .option("--sample-bytes <size>", "without Python: bytes of a sample", parseSize)
    .option("--sample-cost <time>", "without Python: CPU time that a sample takes to make", parseDuration)
    .option("--data <folder>", "without Python: read the files of a folder, one a sample")
    .option("--batch-size <count>", "samples of a batch", parseCount("batch size", 1))
    .option(
      "--epoch-batches <count>",
      "tune for whole epochs of so many batches",
      parseCount("number of batches", 1),
    )
    .option(
      "--step-time <time>",
      "put a training step beside the loader: 70ms, or auto for about a ResNet-50's",
      parseStep,
    )
    .option(
      "--ranks <count>",
      "training processes on this node, which share its CPUs and memory (1)",
      parseCount("number of ranks", 1),
    )
    .option("--max-workers <count>", "most workers (the CPUs of each rank)", parseWorkers)
    .option("--budget <time>", "time for the search (60s)", parseTime)
    .option("--timeout <time>", "so long without a batch is a hang (30s)", parseTime)
    .option("--exhaustive", "measure a grid instead of searching")
    .addOption(backendOption())
    .option("--device <number>", "the device to copy to, without Python", parseWhole("device number"))
    .option("--seed <number>", "seed of the samples' order (1)", parseWhole("seed"))
    .option("--json", "short for --format json")
    .option("--save <file>", "also write all of it to a JSON file")
    .option("--quiet", "no progress and no notes on stderr")
    .option("--no-color", "no colours")
    .option("--debug", "show where an error came from");
}

/** Counts beyond these are slips of the keyboard. */
const mostOfAnything = 1_000_000;
const mostWorkers = 1024;

export function parseCount(what: string, least: number, most = mostOfAnything) {
  return (text: string): number => {
    const count = /^\d{1,7}$/.test(text) ? Number(text) : -1;
    if (count >= least && count <= most) return count;
    throw new PinbenchError(
      "usage",
      `"${text}" is not a ${what}: that is a whole number from ${least} to ${most}.`,
    );
  };
}

export const parseWorkers = parseCount("number of workers", 0, mostWorkers);

/** Nanoseconds, more than none and a day at most. */
export function parseTime(text: string): number {
  const timeNs = parseWait(text);
  if (timeNs > 0) return timeNs;
  throw new PinbenchError("usage", `"${text}" is no time at all.`);
}

export function parseStep(text: string): number | "auto" {
  return text === "auto" ? text : parseTime(text);
}

function parseKeywords(text: string): Record<string, unknown> {
  const wrong = (cause?: unknown) =>
    new PinbenchError("usage", `--kwargs takes a JSON object, and ${text} is none.`, {
      hint: `Write for example '{"root": "data", "train": true}'.`,
      cause,
    });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw wrong(cause);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong();
  return value as Record<string, unknown>;
}
