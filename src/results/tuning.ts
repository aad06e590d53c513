import { z } from "zod";
import { count } from "./schema-parts.js";

/**
 * What `pinbench tune` found, `schemaVersion: 1`. Times are nanoseconds, sizes bytes, rates batches a second; what is
 * not known is null. schema/tuning-v1.json is generated from here (`npm run schema`).
 */

const nanoseconds = z.number().nonnegative();

/** What can go wrong with one setting. */
export const faults = [
  "dataset-raised",
  "worker-killed",
  "hang",
  "unsafe",
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

const settingSchema = z.object({
  numWorkers: count,
  pinMemory: z.boolean(),
  /** Batches that each worker makes ahead; null with 0 workers, where DataLoader takes none. */
  prefetchFactor: count.nullable(),
  persistentWorkers: z.boolean(),
  /**
   * `batch.to(device, non_blocking=True)`: of effect for pinned batches alone. False in a running job, whose copies are
   * not seen.
   */
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

const failureSchema = z.object({
  /** Any text in a document, as a later pinbench may name further faults. */
  fault: z.string<Fault>(),
  /** One sentence for the user: what happened, in which file and line where that is known. */
  message: z.string(),
  /** What to do about it. */
  hint: z.string().nullable(),
  /** The user's traceback, innermost frame last; null without one. */
  traceback: z.string().nullable(),
  /** Every other setting would fail in the same way. */
  everywhere: z.boolean(),
});

/** From one epoch of a running job to the next, as its loop met it. */
const epochTurnSchema = z.object({
  /** Of the epoch that ended. */
  batches: z.number().int().positive(),
  /** From its last batch until the next epoch began: that batch's step, and what the script does between two epochs. */
  betweenNs: nanoseconds,
  /** From then until the next epoch's first batch. */
  firstBatchNs: nanoseconds,
});

/** With several ranks a batch has arrived when the slowest has its own; all other figures are those of one rank, the mean. */
const trialSchema = z.object({
  /**
   * When each batch had arrived on the device (in host memory where there is none), ascending, from the loader's
   * start.
   */
  arrivalsNs: z.array(nanoseconds),
  /** Of these, the first ones that the rate leaves out. */
  droppedBatches: count,
  aborted: z.boolean(),
  /** When a trial that was aborted was, on the clock of the arrivals; absent where it was not, or that is not known. */
  endedNs: nanoseconds.optional(),
  /**
   * Null where the trial ended because enough had come, or was aborted: but "hang" where it was aborted while the loop
   * had waited for a batch for longer than what came before explains.
   */
  failure: failureSchema.nullable(),
  /** Means a batch over the whole trial: the loop's waiting for the loader, and for the copy that it issued. */
  waitNsPerBatch: nanoseconds.nullable(),
  copyNsPerBatch: nanoseconds.nullable(),
  /**
   * Mean time that making a batch took, timed where it was made: inside the workers, or in the training process where it
   * has none; null where it was not timed.
   */
  makeNsPerBatch: nanoseconds.nullable().default(null),
  /** The part of it that the collate function takes a worker; absent where it was not timed. */
  collateNsPerBatch: nanoseconds.optional(),
  /**
   * What handing a batch over takes a worker after it is made, in CPU time of the thread that does it: pickling, moving
   * tensors to shared memory, and writing to the pipe. Absent where it was not timed.
   */
  handOverNsPerBatch: nanoseconds.optional(),
  /**
   * How many workers delivered each sample, as an IterableDataset that does not share them out has it: the score counts
   * each once. 1 where they share them, null where it cannot be told; not there where it cannot happen.
   */
  sampleCopies: z.number().min(1).nullable().optional(),
  /** Highest use of /dev/shm over what it was before the trial, and of pinned memory; null where it cannot be told. */
  sharedMemoryBytes: count.nullable(),
  pinnedBytes: count.nullable(),
  /** Private memory of the workers together as last seen (their part of the parent's pages not counted). */
  workerPrivateBytes: count.nullable(),
  /**
   * The same when each worker has made an epoch's batches, extrapolated from the pages that workers got copies of during
   * the trial, as they wrote to what they have from their parent: Python does with each object that it reads. Null where
   * it cannot be told.
   */
  workerEpochBytes: count.nullable().optional(),
  /** Bytes that storage had to deliver during the trial: 0 where all came from the page cache. */
  storageReadBytes: count.nullable(),
  /** In a running job of several ranks, by rank: the mean time that its own loop waited for a batch. */
  rankWaits: z.array(z.object({ rank: count, waitNs: nanoseconds })).optional(),
  /** In a running job, in its slowest rank: each beginning of another epoch under this setting. */
  epochTurns: z.array(epochTurnSchema).optional(),
});

const recommendationSchema = z.object({
  setting: settingSchema,
  score: scoreSchema,
  /**
   * What keeps the loader from being faster: "step" the training step, behind which the data hide; "link" the copies;
   * "epochs" the time between two of them in which no batch comes; "workers" making samples in workers; "process" making them in the training process; "hand-over" of batches between
   * the two; "unknown" where it was not timed, where batches are made, what making one takes.
   */
  limit: z.enum(["step", "link", "epochs", "workers", "process", "hand-over", "unknown"]),
  /** Bytes that arrive, in GB/s. */
  loaderGBps: z.number().nonnegative(),
  /**
   * Its rate over the starting point's, with a 95 % interval that counts what differs from trial to trial; the interval is
   * null where one of the two was tried but once. Null where the starting point has no rate, or is the setting.
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
   * Of the time of a step with its batch, what the batch adds; in a running job, of the loop's time what it waits for
   * data. Null without a step.
   */
  dataShareOfStep: z.number().nonnegative().nullable(),
  /**
   * What an epoch of a running job takes besides its batches in their steady state, which is a part of its rate; null where
   * no epoch began while it was searched in. `isMeasured`: epochs have begun under this setting; else what they wait for
   * their first batch is reckoned from what it took under others. `share` is that of the job's whole time.
   */
  epochs: epochTurnSchema
    .extend({ isMeasured: z.boolean(), share: z.number().nonnegative() })
    .nullable()
    .default(null),
  /**
   * What pinning saves (below 0: costs) for each batch, with so many workers, and the ends of its 95 % interval (null
   * where those are open); null where both were not measured.
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

const probeSchema = z.object({
  /** What measures: the user's Dataset in their own Python, the engine's model of a loader, or their running job. */
  kind: z.enum(["torch", "native", "live"]),
  /** "train_data.py:make_dataset" or "samples of 602112 B, 500 µs each". */
  source: z.string(),
  /** Name of the device that batches are copied to; null where they stay in host memory. */
  device: z.string().nullable(),
  /** "torch 2.11.0, Python 3.12.3"; null for the model of a loader. */
  runtime: z.string().nullable(),
  /** The first batch: bytes of all its tensors together, and "float32 [64, 3, 224, 224] + int64 [64]". */
  batch: z.object({ samples: count, bytes: count, description: z.string() }),
  /** What makes the loader of a running job, where that is not the script itself; null or absent where it is. */
  framework: z.enum(["lightning", "transformers", "timm"]).nullable().optional(),
  /** Batches of an epoch; null where it is not known (iterable data sets, generated samples). */
  epochBatches: count.nullable(),
  /** Mean bytes of the files that a batch is read from; null or left out where that is not known. */
  fileBytesPerBatch: z.number().nonnegative().nullable().optional(),
  /** The files left the page cache before they were read: the rates are those of a first epoch. */
  isCold: z.boolean().optional(),
  /** The settings of the user's DataLoader, where that is what was given. */
  startingPoint: settingSchema.nullable(),
  /** Why pinned settings are of no use here ("torch sees no GPU"); null where they can be tried. */
  pinningOff: z.string().nullable(),
  /** Why settings with workers are of no use here ("batches are CUDA tensors"); null where they can be tried. */
  workersOff: z.string().nullable(),
  /** Copies of one batch from host to device and nothing beside them, bytes a second; null without a device. */
  link: z.object({ pinnedBytesPerSecond: z.number(), pageableBytesPerSecond: z.number() }).nullable(),
  /** The step that stands beside the loader, as it takes without one; null where there is none. */
  stepNs: nanoseconds.nullable(),
  /** What the user should know of the data, a sentence each. */
  notes: z.array(z.string()),
});

const storageRateSchema = z.object({
  /** Bytes that storage delivered, a second. */
  bytesPerSecond: z.number().positive(),
  /** With so many threads. */
  threads: z.number().int().positive(),
});

/** The zod schema of the document, with which it is read. */
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
    /**
     * "budget": the time was up before the search was done; "ended": the job in which it ran was; "failed": it could not
     * go on, or had nothing to show.
     */
    status: z.enum(["complete", "budget", "ended", "aborted", "failed"]),
    /** Why the search could not go on; what it had found by then is there. Null where it could. */
    error: z.string().nullable(),
  }),
  method: z.object({
    /** "adaptive": the search; "grid": the grid of `--exhaustive`. */
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
    /** CPUs of the affinity mask within the cgroup's quota, whatever the machine has. */
    usableCpus: count,
    cpuQuota: z.number().positive().nullable(),
    /** Training processes on this node, each with a loader like this one. */
    ranks: count,
    memoryAvailableBytes: count,
    /** Free in /dev/shm, where workers hand their batches over; null where there is none. */
    sharedMemoryBytes: count.nullable(),
  }),
  probe: probeSchema,
  /** In the order in which they were first tried. */
  tried: z.array(
    z.object({ setting: settingSchema, score: scoreSchema.nullable(), trials: z.array(trialSchema) }),
  ),
  skipped: z.array(z.object({ setting: settingSchema, reason: z.string() })),
  /** What to compare with: the user's own DataLoader, or one that is given no settings; null where it failed. */
  startingScore: scoreSchema.nullable(),
  recommendation: recommendationSchema.nullable(),
  /** The most that reading the data set's files cold and without decoding brings, measured after a search with --cold. */
  storage: storageRateSchema.optional(),
});

/** What `pinbench tune` found: the document that its --json prints. */
export type Tuning = z.infer<typeof tuningSchema>;
/** Batches a second with the 95 % interval, as the document has them. */
export type TuningScore = z.infer<typeof scoreSchema>;
/** The setting to take, what it brings, and what keeps it from bringing more. */
export type Recommendation = z.infer<typeof recommendationSchema>;
/** The keyword arguments of a DataLoader that pinbench chooses, and how its batches are copied. */
export type LoaderSetting = z.infer<typeof settingSchema>;
/** What storage gives to so many threads that only read. */
export type StorageRate = z.infer<typeof storageRateSchema>;
/** From one epoch of a running job to the next. */
export type EpochTurn = z.infer<typeof epochTurnSchema>;
/** One run of a loader under one setting. */
export type TrialRecord = z.infer<typeof trialSchema>;
/** Why a trial ended before it should have. */
export type TrialFailure = z.infer<typeof failureSchema>;
/** What a probe knows of the data and the device as soon as it is ready. */
export type ProbeRecord = z.infer<typeof probeSchema>;

tuningSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:tuning-v1",
  title: "What pinbench tune found, version 1",
  description:
    "Settings of a training job's loader, what was tried and what is recommended. Names end in their unit: Ns " +
    "nanoseconds, Bytes bytes, GBps decimal gigabytes (1e9 bytes) a second. What is not known is null.",
});
