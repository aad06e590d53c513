import { z } from "zod";
import { count } from "../settings/schema-parts.js";

/**
 * The result of `pinbench tune`, `schemaVersion: 1`. Times are in nanoseconds, sizes in bytes, rates in batches per
 * second; unknown values are null. schema/tuning-v1.json is generated from here (`npm run schema`).
 */

const nanoseconds = z.number().nonnegative();

export const faults = [
  "dataset-raised",
  "worker-killed",
  "hang",
  "device-tensors",
  "custom-batch",
  "shared-memory-full",
  "out-of-memory",
  "too-many-files",
  "not-picklable",
  "data-ended",
  "probe-died",
  "device-error",
  "step-raised",
] as const;
export type Fault = (typeof faults)[number];

export const loaderSettingSchema = z.object({
  numWorkers: count,
  pinMemory: z.boolean(),
  /** Batches that each worker makes ahead; null with 0 workers, where DataLoader takes none. */
  prefetchFactor: count.nullable(),
  persistentWorkers: z.boolean(),
  /**
   * `batch.to(device, non_blocking=True)`, which affects pinned batches only. False in a running job, whose copies are
   * not visible.
   */
  nonBlocking: z.boolean(),
});

const scoreSchema = z.object({
  batchesPerSecond: z.number().positive(),
  /** 95 % interval; an end is null if too few batches arrived for it. */
  low: z.number().nonnegative().nullable(),
  high: z.number().positive().nullable(),
  /** False for a rough figure: up to the trial's end, batches arrived that were made before its start. */
  isSettled: z.boolean(),
});

export const checkSchema = z.enum([
  "stream",
  "connection",
  "file",
  "different",
  "not-picklable",
  "keeps",
  "files",
  "memory",
]);

export const failureSchema = z.object({
  /** Any text, because a later pinbench may name further faults. */
  fault: z.string<Fault>(),
  /** One sentence for the user: what happened, with file and line if known. */
  message: z.string(),
  /** What to do about it. */
  hint: z.string().nullable(),
  /** The user's traceback, innermost frame last; null without one. */
  traceback: z.string().nullable(),
  /** Every other setting would fail in the same way. */
  everywhere: z.boolean(),
});

const epochTurnSchema = z.object({
  /** Batches of the epoch that ended. */
  batches: z.number().int().positive(),
  /** From its last batch until the next epoch begins: the step on that batch, and the script's work between epochs. */
  betweenNs: nanoseconds,
  /** From the start of the next epoch until its first batch. */
  firstBatchNs: nanoseconds,
  /** The next epoch's first batches, before the steady state, and the time until the last of these. */
  start: z.object({ batches: count.positive(), ns: nanoseconds }).optional(),
});

/**
 * With several ranks, a batch has arrived when the slowest rank has its own; all other figures are means over the
 * ranks.
 */
const trialSchema = z.object({
  /** When each batch had arrived on the device (or in host memory without one), ascending, from the loader's start. */
  arrivalsNs: z.array(nanoseconds),
  /** Number of first arrivals that the rate ignores. */
  droppedBatches: count,
  aborted: z.boolean(),
  /** Null if the trial ended because enough batches came, or was aborted. */
  failure: failureSchema.nullable(),
  /** Mean times for a batch over the whole trial: the loop's wait for the loader, and for the copy that it issued. */
  waitNsPerBatch: nanoseconds.nullable(),
  copyNsPerBatch: nanoseconds.nullable(),
  /** Mean time to make a batch, timed in the workers, or in the training process without workers; null if not timed. */
  makeNsPerBatch: nanoseconds.nullable().default(null),
  /** Part of `makeNsPerBatch` in the collate function, in a worker; absent if not timed. */
  collateNsPerBatch: nanoseconds.optional(),
  /**
   * CPU time of the thread in a worker that hands over a finished batch: pickling, moving tensors to shared memory, and
   * writing to the pipe. Absent if not timed.
   */
  handOverNsPerBatch: nanoseconds.optional(),
  /**
   * How many workers delivered each sample of an IterableDataset that does not shard; the score counts each sample
   * once. 1 if the workers share the samples, null if unknown, absent for other data sets.
   */
  sampleCopies: z.number().min(1).nullable().optional(),
  /** Highest use of /dev/shm above that before the trial, and of pinned memory; null if unknown. */
  sharedMemoryBytes: count.nullable(),
  pinnedBytes: count.nullable(),
  /** Private memory of all workers when last observed, without pages shared with the parent. */
  workerPrivateBytes: count.nullable(),
  /**
   * `workerPrivateBytes` after a whole epoch in each worker, extrapolated from the pages that workers copied during the
   * trial by writing to their parent's memory. Python writes to each object that it reads. Null if unknown.
   */
  workerEpochBytes: count.nullable().optional(),
  /** Bytes read from storage during the trial: 0 if all came from the page cache. */
  storageReadBytes: count.nullable(),
  /** In a running job of several ranks: how long each rank's loop waited for a batch, on average. */
  rankWaits: z.array(z.object({ rank: count, waitNs: nanoseconds })).optional(),
  /** In a running job: each start of an epoch with this setting, in the slowest rank. */
  epochTurns: z.array(epochTurnSchema).optional(),
});

const recommendationSchema = z.object({
  setting: loaderSettingSchema,
  score: scoreSchema,
  /**
   * What limits the loader: "step" the training step, which hides the loading; "link" the copies; "epochs" the time
   * without batches between two epochs; "workers" making samples in workers; "process" making them in the training
   * process; "hand-over" of batches from workers; "unknown" if making a batch was not timed.
   */
  limit: z.enum(["step", "link", "epochs", "workers", "process", "hand-over", "unknown"]),
  /** Rate of arriving bytes in GB/s. */
  loaderGBps: z.number().nonnegative(),
  /**
   * Ratio of its rate to the starting point's, with a 95 % interval that includes noise between trials. The interval is
   * null if one of the two was tried only once. Null if the starting point has no rate or is this setting.
   */
  gain: z
    .object({
      ratio: z.number().positive(),
      low: z.number().positive().nullable(),
      high: z.number().positive().nullable(),
    })
    .nullable()
    .default(null),
  /**
   * The batch's share of the time for one step and its batch; in a running job, the share of the loop's time spent
   * waiting for data. Null without a step.
   */
  dataShareOfStep: z.number().nonnegative().nullable(),
  /**
   * Time that an epoch of a running job takes beyond its batches at the steady rate; the rate includes it. Null if no
   * epoch began during the search. `isMeasured`: epochs began with this setting; if false, the wait for the first batch
   * is computed from other settings. `share` is its share of the whole time.
   */
  epochs: epochTurnSchema
    .extend({ isMeasured: z.boolean(), share: z.number().nonnegative() })
    .nullable()
    .default(null),
  /** A setting of a running job that may be better than the recommended one, which is the script's own. */
  undecided: z.object({ setting: loaderSettingSchema, score: scoreSchema }).optional(),
  /** The setting to recommend if no check of the job objected, and its rate over the recommended one's. */
  heldBack: z.object({ setting: loaderSettingSchema, ratio: z.number().positive() }).optional(),
  /**
   * Time that pinning saves (below 0: costs) for each batch with this number of workers, and its 95 % interval (an open
   * end is null). Null if pinned and pageable were not both measured.
   */
  pinning: z
    .object({
      numWorkers: count,
      savedNsPerBatch: z.number(),
      savedNsLow: z.number().nullable().default(null),
      savedNsHigh: z.number().nullable().default(null),
    })
    .nullable(),
});

export const probeSchema = z.object({
  /**
   * The kind of probe: the user's Dataset in their own Python, the engine's model of a loader, or their running job.
   */
  kind: z.enum(["torch", "native", "live"]),
  /** "train_data.py:make_dataset" or "samples of 602112 B, 500 µs each". */
  source: z.string(),
  /** Name of the device that batches are copied to; null if they stay in host memory. */
  device: z.string().nullable(),
  /** "torch 2.11.0, Python 3.12.3"; null for the model of a loader. */
  runtime: z.string().nullable(),
  /** The first batch: bytes of all its tensors together, and "float32 [64, 3, 224, 224] + int64 [64]". */
  batch: z.object({ samples: count, bytes: count, description: z.string() }),
  /** The framework that makes the loader of a running job; null or absent if the script makes it. */
  framework: z.enum(["lightning", "transformers", "timm"]).nullable().optional(),
  /** Batches of an epoch; null if unknown (iterable data sets, generated samples). */
  epochBatches: count.nullable(),
  /** Mean bytes of the files that a batch is read from; null or absent if unknown. */
  fileBytesPerBatch: z.number().nonnegative().nullable().optional(),
  /** Whether files left the page cache before each trial, so that rates are those of a first epoch. */
  isCold: z.boolean().optional(),
  /** The settings of the user's DataLoader, if one was given. */
  startingPoint: loaderSettingSchema.nullable(),
  /** Why pinned settings cannot be tried ("torch sees no GPU"); null if they can. */
  pinningOff: z.string().nullable(),
  /** Why settings with workers cannot be tried ("batches are CUDA tensors"); null if they can. */
  workersOff: z.string().nullable(),
  /**
   * Rate of copies of one batch from host to device with nothing else running, bytes a second; null without a device.
   */
  link: z.object({ pinnedBytesPerSecond: z.number(), pageableBytesPerSecond: z.number() }).nullable(),
  /** Time of the training step without a loader; null without a step. */
  stepNs: nanoseconds.nullable(),
  /** Processes that are not bound to their GPU's NUMA node, one sentence each; absent if all are, or if unknown. */
  bindingFaults: z.array(z.string()).optional(),
  /**
   * Checks of a running job that object: the recommendation then keeps the script's number of workers. Each message
   * says what to fix first.
   */
  checks: z.array(z.object({ check: checkSchema, message: z.string() })).default([]),
  /** Remarks for the user on how batches are made and measured. */
  notes: z.array(z.string()),
});

export const tuningSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("tuning"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  run: z.object({
    startedAt: z.iso.datetime(),
    /** Durations of the whole command, and of the search from the moment that the probe was ready. */
    wallNs: nanoseconds,
    searchNs: nanoseconds,
    argv: z.array(z.string()),
    /**
     * "budget": the time was up before the search was done. "ended": the running job ended. "failed": the search could
     * not continue, or had no result.
     */
    status: z.enum(["complete", "budget", "ended", "aborted", "failed"]),
    /** Why the search could not continue (the document has its results until then); null if it could. */
    error: z.string().nullable(),
  }),
  method: z.object({
    /** Relative difference in rate that does not justify another worker. */
    tolerance: z.number().positive(),
    maxWorkers: count,
    /** Time for the search. */
    budgetNs: nanoseconds,
  }),
  machine: z.object({
    hostname: z.string(),
    cpuModel: z.string(),
    /** CPUs of the affinity mask, limited by the cgroup's quota. */
    usableCpus: count,
    cpuQuota: z.number().positive().nullable(),
    /** Training processes on this node, each with its own loader. */
    ranks: count,
    memoryAvailableBytes: count,
    /** Free bytes in /dev/shm, through which workers hand over batches; null without it. */
    sharedMemoryBytes: count.nullable(),
  }),
  probe: probeSchema,
  /** In the order in which they were first tried. */
  tried: z.array(
    z.object({ setting: loaderSettingSchema, score: scoreSchema.nullable(), trials: z.array(trialSchema) }),
  ),
  skipped: z.array(z.object({ setting: loaderSettingSchema, reason: z.string() })),
  /** Score of the user's own DataLoader, or of DataLoader's defaults; null if it failed. */
  startingScore: scoreSchema.nullable(),
  recommendation: recommendationSchema.nullable(),
});

export type Tuning = z.infer<typeof tuningSchema>;
export type Tried = Tuning["tried"][number];
export type TuningScore = z.infer<typeof scoreSchema>;
export type Recommendation = z.infer<typeof recommendationSchema>;
export type LoaderSetting = z.infer<typeof loaderSettingSchema>;
export type EpochTurn = z.infer<typeof epochTurnSchema>;
export type TrialRecord = z.infer<typeof trialSchema>;
export type TrialFailure = z.infer<typeof failureSchema>;
export type ProbeRecord = z.infer<typeof probeSchema>;

tuningSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:tuning-v1",
  title: "What pinbench tune found, version 1",
  description:
    "Settings of a training job's loader, what was tried and what is recommended. Names end in their unit: Ns " +
    "nanoseconds, Bytes bytes, GBps decimal gigabytes (1e9 bytes) a second. What is not known is null.",
});
