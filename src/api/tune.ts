import {
  parseCount,
  parseStep,
  parseTime,
  parseWorkers,
  type TuneFlags,
  tuneDefaults,
} from "../cli/tune-options.js";
import { openProbe } from "../cli/tune-probe.js";
import { tuneRequest } from "../cli/tune-request.js";
import { PinbenchError } from "../errors.js";
import { packageVersion } from "../package-facts.js";
import { listed } from "../report/wording.js";
import type { Tuning } from "../results/tuning.js";
import type { BackendChoice } from "../settings/choices.js";
import { parseDuration, parseSize } from "../settings/units.js";
import { tune as tuneWith } from "../tune/tune-loader.js";
import type { Quantity } from "./options.js";

/** The flags of `pinbench tune`, with their defaults. Give one of `torch`, `sampleBytes` and `data`. */
export interface TuneOptions {
  /** "train_data.py:make_dataset": a Dataset or DataLoader, or a function that returns one. */
  torch?: string;
  python?: string;
  collate?: string;
  kwargs?: Record<string, unknown>;
  shuffle?: boolean;
  sampleBytes?: Quantity;
  /** A duration such as "500us", as are the other times. */
  sampleCost?: string;
  data?: string;
  batchSize?: number;
  epochBatches?: number;
  /** A duration, or "auto". */
  stepTime?: string;
  ranks?: number;
  maxWorkers?: number;
  budget?: string;
  timeout?: string;
  exhaustive?: boolean;
  backend?: BackendChoice;
  device?: number;
  seed?: number;
  /** Ends the search with what it has found: the status of its document is then "aborted". */
  signal?: AbortSignal;
}

/**
 * Tunes as `pinbench tune` does, and returns the document that its --json prints. It prints nothing. Where no setting
 * could be measured, its `recommendation` is null. Rejects with a PinbenchError where there is nothing to measure with:
 * wrong options, no Python, a data set that cannot make a batch, an abort before the first trial.
 */
export async function tune({
  signal = new AbortController().signal,
  ...options
}: TuneOptions): Promise<Tuning> {
  const identity = {
    version: packageVersion(),
    argv: [],
    startedAt: new Date(),
    startedMs: performance.now(),
  };
  const flags = toFlags(options);
  const probe = await openProbe(flags, signal);
  try {
    return await tuneWith(probe, tuneRequest(flags, identity), signal);
  } finally {
    await probe.close();
  }
}

type Given = Omit<TuneOptions, "signal">;

/** What each option is as a flag. All throw usage errors. */
const readers: {
  readonly [Name in keyof Required<Given>]: (value: NonNullable<Given[Name]>) => TuneFlags[Name];
} = {
  torch: String,
  python: String,
  collate: String,
  kwargs: (value) => value,
  shuffle: Boolean,
  sampleBytes: (value) => parseSize(String(value)),
  sampleCost: parseDuration,
  data: String,
  batchSize: (value) => parseCount("batch size", 1)(String(value)),
  epochBatches: (value) => parseCount("number of batches", 1)(String(value)),
  stepTime: parseStep,
  ranks: (value) => parseCount("number of ranks", 1)(String(value)),
  maxWorkers: (value) => parseWorkers(String(value)),
  budget: parseTime,
  timeout: parseTime,
  exhaustive: Boolean,
  backend: (value) => value,
  device: (value) => parseCount("device number", 0)(String(value)),
  seed: (value) => parseCount("seed", 0)(String(value)),
};

function toFlags(options: Given): TuneFlags {
  const flags: Record<string, unknown> = { ...tuneDefaults };
  for (const [name, value] of Object.entries(options)) {
    const read = (readers as Readonly<Record<string, (value: unknown) => unknown>>)[name];
    if (read === undefined) {
      throw new PinbenchError("usage", `There is no option ${name}.`, {
        hint: `The options are ${listed(Object.keys(readers))}.`,
      });
    }
    // A key without a value is as good as none.
    if (value !== undefined) flags[name] = read(value);
  }
  return flags as unknown as TuneFlags;
}
