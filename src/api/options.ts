import type { z } from "zod";
import { cellParameters } from "../cli/cells-option.js";
import { noConfig, overrides, refuse } from "../cli/config.js";
import { knownKeys, planSchema, thresholdsSchema } from "../cli/config-schema.js";
import type { RunFlags } from "../cli/run-options.js";
import { PinbenchError } from "../errors.js";
import type { BackendChoice, Cache, Direction, Memory, Mode, Timer } from "../settings/choices.js";
import type { PresetName } from "../settings/presets.js";
import { mergeThresholds, type Thresholds } from "../settings/thresholds.js";

/** A size or a share: a number, or text with a unit such as "64KiB" or "5%". */
export type Quantity = string | number;

/** Text with commas, or an array. */
export type List<Entry> = string | Entry | readonly Entry[];

/** What to measure and how: the keys, values and defaults that `plan` in pinbench.config.json has. */
export interface PlanOptions {
  backend?: BackendChoice;
  device?: List<string | number>;
  preset?: PresetName;
  sizes?: List<Quantity>;
  workers?: List<Quantity>;
  memory?: List<Memory>;
  direction?: List<Direction>;
  mode?: List<Mode>;
  timer?: List<Timer>;
  cache?: List<Cache>;
  precision?: Quantity;
  /** A duration such as "8s". */
  budget?: string;
  samples?: Quantity;
  stagingChunk?: Quantity;
  stagingSlots?: Quantity;
  verify?: boolean;
  seed?: Quantity;
  maxPinned?: Quantity;
  llc?: Quantity;
  numa?: Quantity;
}

/** The drops that count, with the keys that `thresholds` in pinbench.config.json has. */
export interface ThresholdOptions {
  default?: Quantity;
  memory?: Partial<Record<Memory, Quantity>>;
  direction?: Partial<Record<Direction, Quantity>>;
  /** By patterns of cell ids; the first that matches wins. */
  cells?: Record<string, Quantity>;
  floorGBps?: number;
  floorUs?: number;
}

const defaults: RunFlags = {
  backend: "auto",
  device: [0],
  verify: true,
  numa: "local",
  output: [],
  color: false,
};

/** Throws a usage error that names what is wrong. */
export function toFlags(plan: PlanOptions, cells: readonly string[] | undefined): RunFlags {
  const flags = { ...defaults, ...read(planSchema, "plan", plan) };
  if (cells === undefined) return flags;
  const both = cellParameters.find((name) => plan[name] !== undefined);
  if (both !== undefined) {
    throw new PinbenchError("usage", `cells and ${both} exclude each other: an id says all of a cell.`);
  }
  return { ...flags, cells: cells.join(",") };
}

export function toThresholds(thresholds: ThresholdOptions | undefined): Thresholds {
  return mergeThresholds(
    noConfig.thresholds,
    overrides(read(thresholdsSchema, "thresholds", thresholds ?? {})),
  );
}

/** As the configuration's section of that name is read. */
function read<Value>(schema: z.ZodType<Value>, section: string, value: object): Value {
  // A key without a value is as good as none.
  const given = Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const keys = { "": knownKeys[section] ?? [] };
  throw refuse("Among the options, ", [], parsed.error.issues[0]!, keys);
}
