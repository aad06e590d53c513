import { z } from "zod";
import { deviceSchema, headSchema } from "../results/document-head.js";
import { poolWays, watchedCalls } from "../settings/choices.js";
import { count, nanoseconds, ratio } from "../settings/schema-parts.js";

/**
 * The document of `pinbench pin`, `schemaVersion: 1`: printed with `--format json`, and the source of all its other
 * outputs. schema/pinning-v1.json is generated from here (`npm run schema`). Times are in nanoseconds, sizes in bytes,
 * rates in decimal GB/s; unknown values are null.
 */

const spreadSchema = z.object({ median: nanoseconds, least: nanoseconds, most: nanoseconds });

const rateSchema = z.object({ median: ratio, least: ratio, most: ratio });

/** How a pool is allocated. */
const shapeSchema = z.object({
  way: z.enum(poolWays),
  /** Number of threads that touch its pages. */
  threads: count,
});

/** This process' resident, pinned and locked memory, as the kernel counts it. */
const processMemorySchema = z.object({
  residentBytes: count.nullable(),
  pinnedBytes: count.nullable(),
  lockedBytes: count.nullable(),
});

/** Longest delay of an answer, and share of time in which answers were at least 1 ms late. */
const callStallsSchema = z.object({
  call: z.enum(watchedCalls),
  answers: count,
  longestNs: nanoseconds,
  stalledShare: ratio,
});

/** Waits of this process' own calls, made once per millisecond for each kind. */
const stallsSchema = z.object({
  /** During a second without pinning. */
  quiet: z.array(callStallsSchema),
  /** While one thread pinned `bytes` in consecutive pieces. */
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
  /** `refused`: allocating it failed; `omitted`: not tried, or not completely. */
  outcome: z.enum(["measured", "refused", "omitted"]),
  /** Why it was refused or omitted, in a sentence; null if measured. */
  reason: z.string().nullable(),
  error: errorSchema.nullable(),
  /**
   * One entry per allocation. `touchNs` is the time of the slowest thread. Touching and registering are null if the
   * driver does both in one call.
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
  /** Rates of copies over the whole pool, in sequence; null if they failed. */
  h2dGigabytesPerSecond: rateSchema.nullable(),
  d2hGigabytesPerSecond: rateSchema.nullable(),
  /** For the last allocation. */
  memory: z
    .object({ before: processMemorySchema, held: processMemorySchema, after: processMemorySchema })
    .nullable(),
  hugePageShare: ratio.nullable(),
  /** Pages of the last allocation, all or a sample, by NUMA node; empty if the system does not report it. */
  pagesOfNode: z.array(z.object({ node: count, pages: count })),
});

/** The largest granted amount after a refusal. */
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
  /** Time of cuMemHostAlloc, and its ratio to this time; null if not measured. */
  hostAllocNs: nanoseconds.nullable(),
  timesAsFast: ratio.nullable(),
  /** The reason for this choice, in a sentence. */
  reason: z.string(),
});

export const pinningSchema = z.object({
  ...headSchema("pinning"),
  /** `aborted`: it was interrupted; `failed`: the device failed, and `error` has the reason. */
  status: z.enum(["complete", "aborted", "failed"]),
  error: errorSchema.nullable(),
  labels: z.record(z.string(), z.string()),
  device: deviceSchema,
  machine: z.object({
    cpusUsable: count,
    /** NUMA node of CPUs and memory in use; null if the system chose. */
    numaNode: count.nullable(),
    memoryAvailableBytes: count,
    cgroupMemoryLimitBytes: count.nullable(),
    memlockLimitBytes: count.nullable(),
    virtualization: z.string().nullable(),
    transparentHugePages: z.string().nullable(),
    hugetlbFreeBytes: count.nullable(),
    /** Size of a transparent huge page. */
    hugePageBytes: count,
    /** Maximum memory pinned at one time. */
    maxPinnedBytes: count,
  }),
  budgetNs: nanoseconds,
  pools: z.array(poolSchema),
  limits: z.array(limitSchema),
  recommendation: recommendationSchema.nullable(),
  /** With `--stalls`; null without. */
  stalls: stallsSchema.nullable(),
  /** Size that `torch.empty(sizeBytes, pin_memory=True)` pins after rounding up; null if not rounded. */
  torchRounding: z
    .object({
      sizeBytes: count,
      pinnedBytes: count,
      /** Time of cuMemHostAlloc for the extra memory, in proportion; null if not measured. */
      extraNs: nanoseconds.nullable(),
    })
    .nullable()
    .optional(),
  /** Other programs on the device, in sentences. */
  others: z.array(z.string()),
  omitted: z.array(z.string()),
});

export type Pinning = z.infer<typeof pinningSchema>;
/** A pool: a size and an allocation method. */
export type PinnedPool = z.infer<typeof poolSchema>;
export type PoolShape = z.infer<typeof shapeSchema>;
export type CallStalls = z.infer<typeof callStallsSchema>;
export type PinningStalls = z.infer<typeof stallsSchema>;
export type PinningLimit = z.infer<typeof limitSchema>;
export type PinningRecommendation = z.infer<typeof recommendationSchema>;
export type ProcessMemory = z.infer<typeof processMemorySchema>;

pinningSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:pinning-v1",
  title: "pinbench pinning, version 1",
  description:
    "The result of pinbench pin: the cost of obtaining pinned memory in each way, and the recommended way.",
});
