import { z } from "zod";
import { readLine } from "../../host/python/python-programs.js";
import { checkSchema, failureSchema, type LoaderSetting, loaderSettingSchema } from "../../results/tuning.js";
import { count } from "../../settings/schema-parts.js";
import { batchFactsSchema } from "../loader-probe.js";

/*
 * Messages between the hook in a job's processes and pinbench: one JSON object per line. Times are CLOCK_MONOTONIC
 * nanoseconds, which all processes of a host share. `loader` numbers the loaders of a process from 1, in the order of
 * first iteration. `change` numbers the settings of a loader; 0 is its own setting.
 */

const hookMessageSchema = z.discriminatedUnion("type", [
  /** The first message of a process. */
  z.object({
    type: z.literal("hello"),
    pid: count,
    rank: count,
    worldSize: count,
    localWorldSize: count,
  }),
  /** A loader before its first iteration starts workers. */
  z.object({
    type: z.literal("loader"),
    loader: count,
    setting: loaderSettingSchema,
    /** "ImageFolder, 10000 samples". */
    source: z.string(),
    /** Its identity across runs of the same script, see go.py; null if its construction was not observed. */
    name: z.string().nullable(),
    startMethod: z.enum(["fork", "spawn", "forkserver"]),
    epochBatches: count.nullable(),
    /** The framework whose loop iterates the loader; null if it is the script's own loop. */
    framework: z.enum(["lightning", "transformers", "timm"]).nullable(),
  }),
  /** The script constructed the loader again, for example for a new epoch. */
  z.object({ type: z.literal("renewed"), loader: count }),
  /** A loader whose class has its own __iter__ was constructed: "torchdata.stateful_dataloader.StatefulDataLoader". */
  z.object({ type: z.literal("ownIter"), name: z.string() }),
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
    /** Number of batches made so far with this setting, and the total time to make them. */
    made: z.number(),
    makeNs: z.number(),
    /** Number and total time of collated, and of handed-over, batches; 0 if not timed. */
    collated: z.number(),
    collateNs: z.number(),
    handedOver: z.number(),
    handOverNs: z.number(),
    workers: z.array(count),
  }),
  /** A check found a reason not to change the number of workers: a sentence with a remedy. */
  z.object({ type: z.literal("check"), loader: count, check: checkSchema, message: z.string() }),
  /** The workers of a changed loader have started. */
  z.object({ type: z.literal("changed"), loader: count, change: count, ns: z.number() }),
  /** A change failed; the loader continues with the script's own setting. */
  z.object({ type: z.literal("failed"), loader: count, change: count, failure: failureSchema }),
]);

export type HookMessage = z.infer<typeof hookMessageSchema>;

export type HookMessageOf<Type extends HookMessage["type"]> = Extract<HookMessage, { type: Type }>;

export type HookCommand =
  /** Tune this loader; all others run unchanged and stop reporting. */
  | { type: "target"; loader: number }
  /** Change the setting after `atBatch` batches of the loader, or at the next batch if those have passed. */
  | { type: "change"; loader: number; change: number; setting: LoaderSetting; atBatch: number }
  /** No loader of the process is tuned. */
  | { type: "rest" };

/** The message in a line from the hook; null for other lines. */
export function readMessage(line: string): HookMessage | null {
  return readLine(line, hookMessageSchema);
}
