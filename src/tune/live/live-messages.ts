import { z } from "zod";
import { failureSchema, loaderSettingSchema } from "../../results/tuning.js";
import { count } from "../../settings/schema-parts.js";
import { processPlaceSchema } from "../process-binding.js";
import { readLine } from "../python-programs.js";

/*
 * Messages between the hook in a job's processes and pinbench: JSON objects, one a line. Times are CLOCK_MONOTONIC in
 * nanoseconds, which all processes of a host share. `loader` numbers the loaders of a process from 1 in the order of
 * their first iteration; `change` counts the settings that a loader was given, 0 is its own.
 */

const changeableSchema = loaderSettingSchema.omit({ nonBlocking: true });

/** The arguments of a DataLoader that can change while the job runs. */
export type ChangeableSetting = z.infer<typeof changeableSchema>;

const hookMessageSchema = z.discriminatedUnion("type", [
  /** The first message, when the process begins to iterate a loader. */
  z.object({
    type: z.literal("hello"),
    pid: count,
    python: z.string(),
    torch: z.string(),
    rank: count.nullable(),
    worldSize: count.nullable(),
    localRank: count.nullable(),
    localWorldSize: count.nullable(),
  }),
  /** A loader that is iterated for the first time, before its workers are started. */
  z.object({
    type: z.literal("loader"),
    loader: count,
    setting: changeableSchema,
    /** "ImageFolder, 10000 samples". */
    source: z.string(),
    batchSize: count.nullable(),
    epochBatches: count.nullable(),
    /** The framework whose loop iterates it; null for the script's own. */
    framework: z.enum(["lightning", "transformers", "timm"]).nullable(),
    /** Why its setting cannot change at all; null if it can. */
    untouchable: z.string().nullable(),
  }),
  /** Its first batch. */
  z.object({
    type: z.literal("batch"),
    loader: count,
    samples: count,
    bytes: count,
    tensors: count,
    description: z.string(),
    onDevice: z.boolean(),
    device: z.string().nullable(),
    pinningOff: z.string().nullable(),
    fileLimit: z.number().nullable(),
    filesInUse: z.number().nullable(),
    place: processPlaceSchema.optional(),
  }),
  z.object({
    type: z.literal("epoch"),
    loader: count,
    event: z.enum(["begin", "end"]),
    epoch: z.number(),
    ns: z.number(),
  }),
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
    collated: z.number().optional(),
    collateNs: z.number().optional(),
    handedOver: z.number().optional(),
    handOverNs: z.number().optional(),
    /** Process ids of the loader's workers under this change. */
    workers: z.array(count),
    /** Whether these batches were discarded while the loop was held. */
    discarded: z.boolean(),
  }),
  /** What pinbench may do with batches of the tuned loader: "handed" to the loop, "discarded", or "refused". */
  z.object({
    type: z.literal("safety"),
    loader: count,
    /** The same for other numbers of workers than the script's. */
    workers: z.string(),
    /** Why their batches are not handed to the loop. */
    reason: z.string().nullable(),
    withoutWorkers: z.boolean(),
  }),
  /** The hook met something unknown: the loader keeps the script's own setting from now on. */
  z.object({ type: z.literal("aside"), loader: count, message: z.string() }),
  /**
   * The workers of a change have started, `atBatch` batches after the loader's first; batches in flight come before.
   */
  z.object({ type: z.literal("changed"), loader: count, change: count, atBatch: count, ns: z.number() }),
  /** A change failed: the loader continues with its previous setting, or with the script's own. */
  z.object({
    type: z.literal("failed"),
    loader: count,
    change: count,
    ...failureSchema.omit({ everywhere: true }).shape,
  }),
]);

export type HookMessage = z.infer<typeof hookMessageSchema>;

export type HookMessageOf<Type extends HookMessage["type"]> = Extract<HookMessage, { type: Type }>;

/** Messages of pinbench. */
export type HookCommand =
  /** This loader is tuned: the others run unchanged, and report no more. */
  | { type: "target"; loader: number }
  /** Change the setting when `atBatch` batches have been delivered since the loader's first, or at the next one. */
  | { type: "change"; loader: number; change: number; setting: ChangeableSetting; atBatch: number }
  /**
   * End the process, by SystemExit from the loop's next(), when `atBatch` batches have been delivered or at the next
   * one.
   */
  | { type: "end"; loader: number; atBatch: number }
  /** The search is over: report no more; each loader keeps its current setting. */
  | { type: "rest" };

/** The message of the hook's line; null for other lines. */
export function readMessage(line: string): HookMessage | null {
  return readLine(line, hookMessageSchema);
}
