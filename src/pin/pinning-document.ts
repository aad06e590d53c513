import { z } from "zod";
import { deviceSchema, headSchema } from "../results/document-head.js";
import { poolWays, watchedCalls } from "../settings/choices.js";
import { count, nanoseconds, ratio } from "../settings/schema-parts.js";

/**
 * The document of `pinbench pin`, `schemaVersion: 1`: printed with `--format json`, and the source of all its other
 * outputs. schema/pinning-v1.json is generated from here (`npm run schema`). Times are in nanoseconds, sizes in bytes,
 * rates in decimal GB/s; unknown values are null.
 */

/** Median, smallest and largest of a few times. */
const spreadSchema = z.object({ median: nanoseconds, least: nanoseconds, most: nanoseconds });

/** The same for the rates of single copies. */
const rateSchema = z.object({ median: ratio, least: ratio, most: ratio });

/** How a pool is obtained; the ways are those of poolWays. */
const shapeSchema = z.object({
  way: z.enum(poolWays),
  /** Number of threads that touch its pages. */
  threads: count,
});

/** The kernel's counts for this process: resident, pinned and locked memory. */
const processMemorySchema = z.object({
  residentBytes: count.nullable(),
  pinnedBytes: count.nullable(),
  lockedBytes: count.nullable(),
});

/** The longest delay of an answer, and the share of time in which an answer was a millisecond late or more. */
const callStallsSchema = z.object({
  call: z.enum(watchedCalls),
  answers: count,
  longestNs: nanoseconds,
  stalledShare: ratio,
});

/** What this process's own calls, one of each kind a millisecond, waited for. */
const stallsSchema = z.object({
  /** For a second in which nothing was pinned. */
  quiet: z.array(callStallsSchema),
  /** While one thread pinned `bytes` in pieces, one after the other. */
  pieces: z.array(
    z.object({
      way: z.enum(poolWays),
      pieceBytes: count,
      bytes: count,
      obtainNs: nanoseconds,
      calls: z.array(callStallsSchema),
    }),
  ),
});

const errorSchema = z.object({ code: z.string(), message: z.string() });

const poolSchema = shapeSchema.extend({
  sizeBytes: count,
  /** `refused`: obtaining it failed; `omitted`: it was not tried, or not completely. */
  outcome: z.enum(["measured", "refused", "omitted"]),
  /** Why it was refused or left out, in a sentence; null if it was measured. */
  reason: z.string().nullable(),
  error: errorSchema.nullable(),
  /**
   * One entry each time that it was obtained. Touching is the time of the slowest thread. Touching and registering are
   * null if the driver does them in one call.
   */
  samples: z.array(
    z.object({
      obtainNs: nanoseconds,
      touchNs: nanoseconds.nullable(),
      registerNs: nanoseconds.nullable(),
      releaseNs: nanoseconds,
    }),
  ),
  obtain: spreadSchema.nullable(),
  release: spreadSchema.nullable(),
  /** Rates of copies all over the pool, in sequence; null if they failed. */
  h2dGigabytesPerSecond: rateSchema.nullable(),
  d2hGigabytesPerSecond: rateSchema.nullable(),
  /** For the pool that was obtained last. */
  memory: z
    .object({ before: processMemorySchema, held: processMemorySchema, after: processMemorySchema })
    .nullable(),
  hugePageShare: ratio.nullable(),
  /** Pages of the pool that was obtained last, all or a sample, by NUMA node; empty if the system does not tell. */
  pagesOfNode: z.array(z.object({ node: count, pages: count })),
});

/** The largest amount that was granted when more was refused. */
const limitSchema = shapeSchema.extend({
  /** 0 if none was granted. */
  largestBytes: count,
  /** The smallest refused amount. */
  refusedBytes: count,
  error: errorSchema,
  /** The likely reason, in a sentence. */
  reason: z.string(),
});

const recommendationSchema = shapeSchema.extend({
  sizeBytes: count,
  obtainNs: nanoseconds,
  /** Time of cuMemHostAlloc, and how many times as long that is; null if not measured. */
  hostAllocNs: nanoseconds.nullable(),
  timesAsFast: ratio.nullable(),
  /** The reason for this choice, in a sentence. */
  reason: z.string(),
});

/** The zod schema of the whole document. */
export const pinningSchema = z.object({
  ...headSchema("pinning"),
  /** `aborted`: it was interrupted; `failed`: the device failed, and `error` has the reason. */
  status: z.enum(["complete", "aborted", "failed"]),
  error: errorSchema.nullable(),
  labels: z.record(z.string(), z.string()),
  device: deviceSchema,
  machine: z.object({
    cpusUsable: count,
    /** NUMA node of the CPUs and the memory in use; null if the system decided. */
    numaNode: count.nullable(),
    memoryAvailableBytes: count,
    cgroupMemoryLimitBytes: count.nullable(),
    memlockLimitBytes: count.nullable(),
    virtualization: z.string().nullable(),
    transparentHugePages: z.string().nullable(),
    hugetlbFreeBytes: count.nullable(),
    /** Size of a transparent huge page. */
    hugePageBytes: count,
    /** Most memory pinned at one time. */
    maxPinnedBytes: count,
  }),
  budgetNs: nanoseconds,
  pools: z.array(poolSchema),
  limits: z.array(limitSchema),
  recommendation: recommendationSchema.nullable(),
  /** With `--stalls`; null without. */
  stalls: stallsSchema.nullable(),
  /** How much `torch.empty(sizeBytes, pin_memory=True)` pins after rounding up; null if that is the requested size. */
  torchRounding: z
    .object({
      sizeBytes: count,
      pinnedBytes: count,
      /** Proportional time of cuMemHostAlloc for the additional memory; null if that was not measured. */
      extraNs: nanoseconds.nullable(),
    })
    .nullable()
    .optional(),
  /** Other programs on the device, in sentences. */
  others: z.array(z.string()),
  /** What was left out, and why. */
  omitted: z.array(z.string()),
});

/** The document of `pin`. */
export type Pinning = z.infer<typeof pinningSchema>;
/** One pool: a size, and a way to obtain it. */
export type PinnedPool = z.infer<typeof poolSchema>;
/** How a pool is obtained. */
export type PoolShape = z.infer<typeof shapeSchema>;
/** The late answers of one kind of call. */
export type CallStalls = z.infer<typeof callStallsSchema>;
/** The late answers of all calls, by size of piece. */
export type PinningStalls = z.infer<typeof stallsSchema>;
/** A limit that was found. */
export type PinningLimit = z.infer<typeof limitSchema>;
/** The recommended way. */
export type PinningRecommendation = z.infer<typeof recommendationSchema>;
/** A process' use of the machine's memory. */
export type ProcessMemory = z.infer<typeof processMemorySchema>;

pinningSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:pinning-v1",
  title: "pinbench pinning, version 1",
  description:
    "The result of pinbench pin: the cost of obtaining pinned memory in each way, and the recommended way.",
});
