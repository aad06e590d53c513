import { z } from "zod";

/**
 * What `pinbench tune` found, `schemaVersion: 1`. Times are nanoseconds, sizes bytes, rates batches a second; what is
 * not known is null. schema/tuning-v1.json is generated from here (`npm run schema`).
 */

const count = z.number().int().nonnegative();
const nanoseconds = z.number().nonnegative();

const settingSchema = z.object({
  numWorkers: count,
  pinMemory: z.boolean(),
  /** Null with 0 workers. */
  prefetchFactor: count.nullable(),
  persistentWorkers: z.boolean(),
  nonBlocking: z.boolean(),
});

const scoreSchema = z.object({
  batchesPerSecond: z.number().positive(),
  /** 95 % interval; null where too few batches came for an end of it. */
  low: z.number().nonnegative().nullable(),
  high: z.number().positive().nullable(),
  /** False for a rough figure: the trial ended while batches arrived that were made before the clock started. */
  isSettled: z.boolean(),
});

const trialSchema = z.object({
  /** When each batch had arrived, from the loader's start. */
  arrivalsNs: z.array(nanoseconds),
  /** Of these, the first ones that the rate leaves out. */
  droppedBatches: count,
  aborted: z.boolean(),
  failure: z
    .object({
      fault: z.string(),
      message: z.string(),
      hint: z.string().nullable(),
      traceback: z.string().nullable(),
      /** Every other setting would fail in the same way. */
      everywhere: z.boolean(),
    })
    .nullable(),
  waitNsPerBatch: nanoseconds.nullable(),
  copyNsPerBatch: nanoseconds.nullable(),
  sharedMemoryBytes: count.nullable(),
  pinnedBytes: count.nullable(),
  workerPrivateBytes: count.nullable(),
  storageReadBytes: count.nullable(),
});

const recommendationSchema = z.object({
  setting: settingSchema,
  score: scoreSchema,
  /**
   * What keeps it from being faster: "step" the training step, behind which the data hide; "link" the copies; "workers"
   * making samples in workers; "process" making them in the training process; "hand-over" of batches between the two; "unknown"
   * where it was not measured what making a batch takes.
   */
  limit: z.enum(["step", "link", "workers", "process", "hand-over", "unknown"]),
  /** Bytes that arrive, in GB/s. */
  loaderGBps: z.number().nonnegative(),
  /** Of the time of a step with its batch, what the batch adds; null without a step. */
  dataShareOfStep: z.number().nonnegative().nullable(),
  /** What pinning saves (below 0: costs) for each batch, with so many workers; null where both were not measured. */
  pinning: z.object({ numWorkers: count, savedNsPerBatch: z.number() }).nullable(),
});

export const tuningSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("tuning"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  run: z.object({
    startedAt: z.iso.datetime(),
    /** All of it, and the trials alone: from when the probe was ready. */
    wallNs: nanoseconds,
    searchNs: nanoseconds,
    argv: z.array(z.string()),
    /** "budget": the time was up before the search was done; "failed": it could not go on, or had nothing to show. */
    status: z.enum(["complete", "budget", "aborted", "failed"]),
    /** Why the search could not go on; what it had found by then is there. Null where it could. */
    error: z.string().nullable(),
  }),
  method: z.object({
    search: z.enum(["adaptive", "grid"]),
    /** A whole epoch of so many batches counts, start-up included; null for the steady state. */
    epochBatches: count.nullable(),
    /** Relative difference in rate that is not worth a worker. */
    tolerance: z.number().positive(),
    maxWorkers: count,
  }),
  machine: z.object({
    hostname: z.string(),
    cpuModel: z.string(),
    usableCpus: count,
    cpuQuota: z.number().positive().nullable(),
    ranks: count,
    memoryAvailableBytes: count,
    sharedMemoryBytes: count.nullable(),
  }),
  probe: z.object({
    kind: z.enum(["torch", "native"]),
    source: z.string(),
    device: z.string().nullable(),
    runtime: z.string().nullable(),
    batch: z.object({ samples: count, bytes: count, description: z.string() }),
    epochBatches: count.nullable(),
    startingPoint: settingSchema.nullable(),
    pinningOff: z.string().nullable(),
    workersOff: z.string().nullable(),
    link: z.object({ pinnedBytesPerSecond: z.number(), pageableBytesPerSecond: z.number() }).nullable(),
    stepNs: nanoseconds.nullable(),
    notes: z.array(z.string()),
  }),
  /** In the order in which they were first tried. */
  tried: z.array(
    z.object({ setting: settingSchema, score: scoreSchema.nullable(), trials: z.array(trialSchema) }),
  ),
  skipped: z.array(z.object({ setting: settingSchema, reason: z.string() })),
  /** What to compare with: the user's own DataLoader, or one that is given no settings; null where it failed. */
  startingScore: scoreSchema.nullable(),
  recommendation: recommendationSchema.nullable(),
});

export type Tuning = z.infer<typeof tuningSchema>;
export type TuningScore = z.infer<typeof scoreSchema>;
export type Recommendation = z.infer<typeof recommendationSchema>;

/** The JSON Schema (draft 2020-12) of the document, as shipped in schema/tuning-v1.json. */
export function tuningJsonSchema(): Record<string, unknown> {
  const { $schema, ...body } = z.toJSONSchema(tuningSchema, { target: "draft-2020-12", io: "input" });
  return {
    $schema,
    $id: "urn:pinbench:schema:tuning-v1",
    title: "What pinbench tune found, version 1",
    description:
      "Settings of a training job's loader, what was tried and what is recommended. Names end in their unit: Ns " +
      "nanoseconds, Bytes bytes, GBps decimal gigabytes (1e9 bytes) a second. What is not known is null.",
    ...body,
  };
}
