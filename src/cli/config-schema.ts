import { z } from "zod";
import { backendChoices, caches, directions, memories, modes, timers } from "../settings/choices.js";
import { presetNames } from "../settings/presets.js";
import { parseSizes } from "../settings/sizes.js";
import { parseThreshold } from "../settings/thresholds.js";
import { parseCounts, parseDuration, parsePercent, parseSize } from "../settings/units.js";
import { oneOf, readAs, readListAs, readTextAs, section, trueOrFalse } from "./config-values.js";
import { choicesOf, parseDevices, parseNuma, parseWhole } from "./option-values.js";

/**
 * pinbench.config.json. Values are written as on the command line and read by the flags' own parsers; what comes out
 * has the types and units of the flags. schema/config-v1.json is generated from here (`npm run schema`).
 */

const size = readAs("a size such as 64MiB", parseSize);
const wholeNumber = (what: string) => readAs(`a ${what}`, parseWhole(what));
const choices = <Choice extends string>(what: string, values: readonly Choice[]) =>
  readListAs(`of ${values.join(", ")}`, choicesOf(what, values), z.enum(values));

export const planSchema = section({
  preset: oneOf(presetNames).exactOptional(),
  device: readListAs("devices such as 0, or all", parseDevices).exactOptional(),
  backend: oneOf(backendChoices).exactOptional(),
  sizes: readListAs("sizes such as 64KiB or 1KiB..64MiB*2", parseSizes).exactOptional(),
  workers: readListAs("numbers of workers", (text) => parseCounts(text, "workers")).exactOptional(),
  memory: choices("memory kind", memories).exactOptional(),
  direction: choices("direction", directions).exactOptional(),
  mode: choices("mode", modes).exactOptional(),
  timer: choices("timer", timers).exactOptional(),
  cache: choices("cache state", caches).exactOptional(),
  precision: readAs("a share such as 1% or 0.01", parsePercent).exactOptional(),
  budget: readTextAs("a duration such as 8s or 500ms", parseDuration).exactOptional(),
  samples: wholeNumber("number of samples").exactOptional(),
  stagingChunk: size.exactOptional(),
  stagingSlots: wholeNumber("number of staging slots").exactOptional(),
  verify: trueOrFalse("Whether to compare what was copied.").exactOptional(),
  seed: wholeNumber("seed").exactOptional(),
  maxPinned: size.exactOptional(),
  llc: size.exactOptional(),
  numa: readAs("local or a node's number", parseNuma).exactOptional(),
}).describe("What to measure where no flag of the same name says.");

const share = readAs("a share such as 5% or 0.05", parseThreshold);
const sharesOf = (names: readonly string[]) =>
  section(Object.fromEntries(names.map((name) => [name, share.exactOptional()])));
const floor = (unit: string) => {
  const error = `must be a number of ${unit} from 0 up`;
  return z.number({ error }).nonnegative({ error }).describe(`Smaller changes never count; ${unit}.`);
};

export const thresholdsSchema = section({
  default: share.exactOptional(),
  memory: sharesOf(memories).exactOptional(),
  direction: sharesOf(directions).exactOptional(),
  cells: z
    .record(z.string(), share, { error: "must be an object of patterns and shares" })
    .describe("By a pattern of cell ids, in which * stands for any characters. The first that matches wins.")
    .exactOptional(),
  floorGBps: floor("decimal GB/s").exactOptional(),
  floorUs: floor("microseconds a copy").exactOptional(),
}).describe(
  "The drop that counts as one, relative to the baseline: cells' before memory's before direction's before default.",
);

const path = { error: "must be a path" };
const count = { error: "must be a whole number from 1 up" };
const chance = { error: "must be a number above 0 and up to 0.5" };

export const configSchema = section({
  $schema: z.string({ error: "must be text" }).describe("For editors; pinbench ignores it.").exactOptional(),
  plan: planSchema.exactOptional(),
  baseline: z
    .string(path)
    .min(1, path)
    .describe("Path of the baseline, from the folder of this file.")
    .exactOptional(),
  runs: z
    .int(count)
    .min(1, count)
    .describe("Fresh processes that pinbench check measures with, and as many to confirm.")
    .exactOptional(),
  thresholds: thresholdsSchema.exactOptional(),
  significance: z
    .number(chance)
    .gt(0, chance)
    .max(0.5, chance)
    .describe("The chance, over all cells, that a drop is called one where there is none.")
    .exactOptional(),
  strict: trueOrFalse("Whether what cannot be decided fails.").exactOptional(),
});

export type Config = z.infer<typeof configSchema>;

/** The keys of each section, by its path in the file. */
export const knownKeys: Readonly<Record<string, readonly string[]>> = {
  "": Object.keys(configSchema.shape),
  plan: Object.keys(planSchema.shape),
  thresholds: Object.keys(thresholdsSchema.shape),
  "thresholds.memory": memories,
  "thresholds.direction": directions,
};
