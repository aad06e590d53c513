import { z } from "zod";
import { count, linkSchema, nanoseconds, ratio } from "../results/schema-parts.js";
import { backendNames, poolWays, watchedCalls } from "../settings/choices.js";

/**
 * The document of `pinbench pin`, `schemaVersion: 1`: what it prints with `--format json`, and what all its other outputs
 * are made from. schema/pinning-v1.json is generated from here (`npm run schema`). Times are nanoseconds, sizes bytes,
 * rates decimal GB/s; what is not known is null.
 */

/** The middle, least and largest of the times, which are few. */
const spreadSchema = z.object({ median: nanoseconds, least: nanoseconds, most: nanoseconds });

/** The same of the rates of single copies. */
const rateSchema = z.object({ median: ratio, least: ratio, most: ratio });

/** How a pool is obtained: the ways are those of poolWays. */
const shapeSchema = z.object({
  way: z.enum(poolWays),
  /** Allocations that it is made of. */
  pieces: count,
  /** That touch its pages, or of several pieces: that obtain them. */
  threads: count,
});

/** What the kernel tells of this process: resident, pinned and locked. */
const processMemorySchema = z.object({
  residentBytes: count.nullable(),
  pinnedBytes: count.nullable(),
  lockedBytes: count.nullable(),
});

/** What the whole system came to while the pool was obtained, by /proc/vmstat. */
const pageEventsSchema = z.object({
  /** Waits for the kernel while it moved pages to make room for huge ones. */
  compactionStalls: count.nullable(),
  /** Transparent huge pages that first touches were given, and those that they were refused. */
  hugePages: count.nullable(),
  hugePagesRefused: count.nullable(),
});

/**
 * Of another process, which made each call once a millisecond: the longest time that an answer was late, and the share of
 * the time in which one was late by a millisecond or more.
 */
const stallsSchema = z.array(
  z.object({ call: z.enum(watchedCalls), answers: count, longestNs: nanoseconds, stalledShare: ratio }),
);

const errorSchema = z.object({ code: z.string(), message: z.string() });

const poolSchema = shapeSchema.extend({
  sizeBytes: count,
  /** `refused`: obtaining it failed; `omitted`: it was not tried, or not to the end. */
  outcome: z.enum(["measured", "refused", "omitted"]),
  /** Why it was refused or left out, in a sentence; null where it was measured. */
  reason: z.string().nullable(),
  error: errorSchema.nullable(),
  /**
   * Each time that it was obtained. Touching is the slowest thread's, registering that of all pieces, one after the other;
   * they overlap where there are several, and are null where the driver does both in one call.
   */
  samples: z.array(
    z.object({
      obtainNs: nanoseconds,
      touchNs: nanoseconds.nullable(),
      registerNs: nanoseconds.nullable(),
      releaseNs: nanoseconds,
      pageEvents: pageEventsSchema.optional(),
    }),
  ),
  obtain: spreadSchema.nullable(),
  release: spreadSchema.nullable(),
  /** Of copies all over the pool, one after the other; null where they failed, too. */
  h2dGigabytesPerSecond: rateSchema.nullable(),
  d2hGigabytesPerSecond: rateSchema.nullable(),
  /** Of the pool that was obtained last. */
  memory: z
    .object({ before: processMemorySchema, held: processMemorySchema, after: processMemorySchema })
    .nullable(),
  hugePageShare: ratio.nullable(),
  /** While it was obtained once more; null where no process was watched. */
  stalls: stallsSchema.nullable().optional(),
});

/** The largest amount that could be had where more was refused. */
const limitSchema = shapeSchema.extend({
  /** 0 where none can be had. */
  largestBytes: count,
  /** The least that was refused. */
  refusedBytes: count,
  error: errorSchema,
  /** The likely reason, in a sentence. */
  reason: z.string(),
});

const recommendationSchema = shapeSchema.extend({
  sizeBytes: count,
  obtainNs: nanoseconds,
  /** What cuMemHostAlloc takes in one piece, and how many times as long that is; null where it was not measured. */
  hostAllocNs: nanoseconds.nullable(),
  timesAsFast: ratio.nullable(),
  /** Why this one, in a sentence. */
  reason: z.string(),
  /** A program in C for the CUDA runtime, and a Python module for torch, that obtain memory so. */
  code: z.object({ c: z.string(), python: z.string() }),
});

/** The zod schema of the whole document. */
export const pinningSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("pinning"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  createdAt: z.iso.datetime(),
  wallNs: nanoseconds,
  /** `aborted`: it was interrupted; `failed`: the device could not be used to the end, and `error` says why. */
  status: z.enum(["complete", "aborted", "failed"]),
  error: errorSchema.nullable(),
  backend: z.enum(backendNames),
  /** Set for the emulated device: its figures are no GPU's. */
  notice: z.string().nullable(),
  host: z.string(),
  labels: z.record(z.string(), z.string()),
  device: z.object({
    ordinal: count,
    name: z.string(),
    uuid: z.string().nullable(),
    pciBusId: z.string().nullable(),
    link: linkSchema.nullable(),
  }),
  machine: z.object({
    cpusUsable: count,
    /** Of the CPUs and the memory that were used; null where the system decided. */
    numaNode: count.nullable(),
    memoryAvailableBytes: count,
    cgroupMemoryLimitBytes: count.nullable(),
    memlockLimitBytes: count.nullable(),
    virtualization: z.string().nullable(),
    transparentHugePages: z.string().nullable(),
    hugetlbFreeBytes: count.nullable(),
    /** Most that was pinned at a time. */
    maxPinnedBytes: count,
  }),
  budgetNs: nanoseconds,
  pools: z.array(poolSchema),
  limits: z.array(limitSchema),
  recommendation: recommendationSchema.nullable(),
  /** The stalls of the other process in a second in which nothing was obtained; null where none was watched. */
  quietStalls: stallsSchema.nullable().optional(),
  /** What `torch.empty(sizeBytes, pin_memory=True)` pins, rounded up; null where that is no more than asked for. */
  torchRounding: z
    .object({
      sizeBytes: count,
      pinnedBytes: count,
      /** What more of cuMemHostAlloc takes, in proportion; null where that was not measured. */
      extraNs: nanoseconds.nullable(),
    })
    .nullable()
    .optional(),
  /** Other programs on the device, in sentences. */
  others: z.array(z.string()),
  /** What was left out, and why. */
  omitted: z.array(z.string()),
});

/** What `pin` finds. */
export type Pinning = z.infer<typeof pinningSchema>;
/** One pool: a size, and a way of obtaining it. */
export type PinnedPool = z.infer<typeof poolSchema>;
/** How a pool is obtained. */
export type PoolShape = z.infer<typeof shapeSchema>;
/** How late a watched process had its answers. */
export type WatchedStalls = z.infer<typeof stallsSchema>;
/** A limit that was met. */
export type PinningLimit = z.infer<typeof limitSchema>;
/** The way that is worth its trouble. */
export type PinningRecommendation = z.infer<typeof recommendationSchema>;
/** What a process has of the machine's memory. */
export type ProcessMemory = z.infer<typeof processMemorySchema>;

pinningSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:pinning-v1",
  title: "pinbench pinning, version 1",
  description: "What pinbench pin found: what pinned memory costs to obtain, by way, and the one to use.",
});
