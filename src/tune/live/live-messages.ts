import { z } from "zod";
import { readLine } from "../../host/python/python-programs.js";
import { checkSchema, failureSchema, type LoaderSetting, loaderSettingSchema } from "../../results/tuning.js";
import { count } from "../../settings/schema-parts.js";
import { batchFactsSchema } from "../loader-probe.js";

/*
 * Messages between the hook in a job's processes and pinbench: JSON objects, one a line. Times are CLOCK_MONOTONIC in
 * nanoseconds, which all processes of a host share. `loader` numbers the loaders of a process from 1 in the order of
 * their first iteration; `change` counts the settings that a loader was given, 0 is its own.
 */

const hookMessageSchema = z.discriminatedUnion("type", [
  /** The first message, when the process begins to iterate a loader. */
  z.object({
    type: z.literal("hello"),
    pid: count,
    rank: count,
    worldSize: count,
    localWorldSize: count,
  }),
  /** A loader that is iterated for the first time, before its workers are started. */
  z.object({
    type: z.literal("loader"),
    loader: count,
    setting: loaderSettingSchema,
    /** "ImageFolder, 10000 samples". */
    source: z.string(),
    /** Its name in another run of the same script, see go.py; null if its construction was not observed. */
    kind: z.string().nullable(),
    order: count,
    /** How its workers start. */
    startMethod: z.enum(["fork", "spawn", "forkserver"]),
    epochBatches: count.nullable(),
    /** The framework whose loop iterates it; null for the script's own. */
    framework: z.enum(["lightning", "transformers", "timm"]).nullable(),
  }),
  /** The script has made it anew, for each epoch say. */
  z.object({ type: z.literal("renewed"), loader: count }),
  /** A loader with an __iter__ of its own was made, as "torchdata.stateful_dataloader.StatefulDataLoader". */
  z.object({ type: z.literal("ownIter"), name: z.string() }),
  /** Its first batch. */
  z.object({ type: z.literal("batch"), loader: count, facts: batchFactsSchema }),
  z.object({ type: z.literal("epoch"), loader: count, event: z.enum(["begin", "end"]), ns: z.number() }),
  z.object({
    type: z.literal("batches"),
    loader: count,
    change: count,
    /** When each next() returned, and its duration. */
    ns: z.array(z.number()),
    waitNs: z.array(z.number()),
    /** Whether gradients were on: training rather than validation. */
    grad: z.boolean(),
    /** Number of batches made under this change so far, and the total time in which they were made. */
    made: z.number(),
    makeNs: z.number(),
    /** The same for collating and handing over: 0 batches if not timed. */
    collated: z.number(),
    collateNs: z.number(),
    handedOver: z.number(),
    handOverNs: z.number(),
    /** Process ids of the loader's workers under this change. */
    workers: z.array(count),
  }),
  /** A check that speaks: why other numbers of workers are no advice, as a sentence with a remedy. */
  z.object({ type: z.literal("check"), loader: count, check: checkSchema, message: z.string() }),
  /** The workers of a change have started. */
  z.object({ type: z.literal("changed"), loader: count, change: count, ns: z.number() }),
  /** A change failed: the loader continues with the script's own setting. */
  z.object({ type: z.literal("failed"), loader: count, change: count, failure: failureSchema }),
]);

export type HookMessage = z.infer<typeof hookMessageSchema>;

export type HookMessageOf<Type extends HookMessage["type"]> = Extract<HookMessage, { type: Type }>;

/** Messages of pinbench. */
export type HookCommand =
  /** This loader is tuned: the others run unchanged, and report no more. */
  | { type: "target"; loader: number }
  /** Change the setting when `atBatch` batches have been delivered since the loader's first, or at the next one. */
  | { type: "change"; loader: number; change: number; setting: LoaderSetting; atBatch: number }
  /** The process has no loader that is tuned. */
  | { type: "rest" };

/** The message of the hook's line; null for other lines. */
export function readMessage(line: string): HookMessage | null {
  return readLine(line, hookMessageSchema);
}
