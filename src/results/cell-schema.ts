import { z } from "zod";
import {
  besides,
  blockWays,
  caches,
  directions,
  directionsMoved,
  memories,
  modes,
  peerPaths,
  workerKinds,
} from "../settings/choices.js";
import { count, errorSchema, finite, linkSchema, nanoseconds, ratio } from "../settings/schema-parts.js";

const directionMoved = z.enum(directionsMoved);

/**
 * A column of samples. Accepts what z.array(z.number()) does, but does not copy the array, because a folder of runs has
 * millions of samples.
 */
function column(
  what: string,
  items: Record<string, unknown>,
  isValid: (value: number) => boolean,
): z.ZodType<number[]> {
  const schema = z.unknown().check((context) => {
    const { value } = context;
    const index = Array.isArray(value)
      ? value.findIndex((item) => !(typeof item === "number" && Number.isFinite(item) && isValid(item)))
      : null;
    if (index === -1) return;
    const path = index === null ? [] : [index];
    const message = index === null ? "it is not a list of numbers" : `it is not ${what}`;
    context.issues.push({ code: "custom", input: value, path, message });
  });
  return schema.meta({ type: "array", items }) as unknown as z.ZodType<number[]>;
}

const distributionSchema = z.object({
  median: finite,
  min: finite,
  max: finite,
  /**
   * Stopping interval of the median, about 95 % (order statistics); null below 6 samples. With `run --runs`,
   * the 95 % interval between the processes' medians; null below 3 of them.
   */
  low: finite.nullable(),
  high: finite.nullable(),
  /** With `run --runs`: the median of each process, in order; `median` is their median. */
  processMedians: z.array(finite).optional(),
});

const statsSchema = z.object({
  /** "sum": both directions of a bidir cell together; throughput cells only. */
  direction: z.enum([...directionsMoved, "sum"]),
  samples: count,
  /** With the 10th and 90th percentile of the samples' rates. */
  bandwidthGBps: distributionSchema.extend({ p10: finite, p90: finite }),
  /** All bytes over the sum of the samples' durations: a program's rate, slow copies included; null without samples. */
  overTimeGBps: ratio.nullable(),
  /** Half of the bandwidth's interval over its median; null without an interval. */
  relativeHalfWidth: ratio.nullable(),
  /** For latency cells only, in microseconds a copy. */
  latencyUs: distributionSchema.extend({ p90: finite, p99: finite }).nullable(),
  /** Median bandwidth over the link's limit; null if that is unknown, and for d2d, p2p, sums and latency. */
  linkShare: ratio.nullable(),
});

const samplesSchema = z.object({
  direction: directionMoved,
  /** With `run --runs`: the index of the process. Each process calibrates its samples by itself. */
  process: count.optional(),
  /** Bytes of one sample, each counted once. In d2d the rate counts each twice, because it is read and written. */
  bytesPerSample: count,
  /** From the start of the device's session. */
  startNs: column("a number from 0 up", { type: "number", minimum: 0 }, (value) => value >= 0),
  durationNs: column("a number above 0", { type: "number", exclusiveMinimum: 0 }, (value) => value > 0),
  /** The round in which it was measured, from 0. */
  round: column(
    "a whole number from 0 up",
    { type: "integer", minimum: 0 },
    (value) => Number.isSafeInteger(value) && value >= 0,
  ),
});

const mismatchSchema = z.object({
  direction: directionMoved,
  worker: count,
  /** Offset of the first wrong 8-byte word in the worker's arena. */
  offsetBytes: count,
  mismatchedBytes: count,
});

const outcomeSchema = z.enum(["converged", "budget", "skipped", "failed", "mismatch"]);

/** Parameters that a plain cell lacks, in the order of results. `variantParts` in cell-id.ts has their form in ids. */
export const variantSchema = z.object({
  /** Absent for threads. */
  workerKind: z.enum(workerKinds).optional(),
  /** The devices that copy at the same time, including this one, ascending; absent if it copies alone. */
  together: z.array(count).optional(),
  /** The destination of a copy between two devices, and the path; only with direction p2p. */
  peer: count.optional(),
  path: z.enum(peerPaths).optional(),
  /** The load during the copies; absent without one. */
  beside: z.enum(besides).exclude(["none"]).optional(),
  /** Number of chunks per copy; a kernel on another stream follows each chunk. Absent for plain copies. */
  chunks: count.optional(),
  /** Size of the blocks, which are shuffled on both sides, and the method. Absent for copies in one piece. */
  blockBytes: count.optional(),
  blockWay: z.enum(blockWays).optional(),
  /** NUMA nodes of the threads and of host memory; absent for the device's own, or the node of --numa. */
  cpuNode: count.optional(),
  memoryNode: count.optional(),
});

const cellSchema = z.object({
  /** The source device of a copy between two devices. */
  device: count,
  direction: z.enum(directions),
  memory: z.enum(memories),
  /** Bytes of one copy; each worker copies buffers of this size. */
  sizeBytes: count,
  /** Threads or processes, each with its own stream and buffers; for bidir the number per direction. */
  workers: count,
  mode: z.enum(modes),
  cache: z.enum(caches),
  ...variantSchema.shape,
});

export const cellResultSchema = z.object({
  id: z.string(),
  ...cellSchema.shape,
  workerKind: z.enum(workerKinds),
  placement: z.object({ numaNode: count.nullable(), cpus: z.array(count) }).nullable(),
  pages: z
    .object({
      /** "base": 4 KiB pages from malloc or the driver; "huge": huge pages were requested. */
      kind: z.enum(["base", "huge", "device"]),
      arenaBytes: count,
      hugePageBytes: count.nullable(),
      /** Pages on each NUMA node, from a sample of pages, for a requested node or a file; empty if unknown. */
      ofNodes: z.array(z.object({ node: count, pages: count })).optional(),
    })
    .nullable(),
  cachePool: z
    .object({
      buffersPerWorker: count,
      totalBytes: count,
      lastLevelCacheBytes: count,
      lastLevelCacheSource: z.string(),
    })
    .nullable(),
  /** 0 before the cell is calibrated; with `run --runs`, that of the first process. */
  copiesPerSample: count,
  samples: z.array(samplesSchema),
  stats: z.array(statsSchema),
  link: linkSchema.nullable(),
  verification: z
    .object({
      checkedBytes: count,
      mismatches: z.array(mismatchSchema),
      /** Number of timed copies in compared visits, over all workers and directions; absent if not counted. */
      copies: count.optional(),
      /**
       * Number of these copies that were proven right: they were compared completely before a later copy overwrote
       * them. Faults in the others may stay unnoticed. Absent with `copies`.
       */
      provenCopies: count.optional(),
    })
    .nullable(),
  /** The load's rates, alone and during the copies; absent without a load, or before they were measured. */
  load: z
    .object({
      unit: z.enum(["GFLOP/s", "GB/s"]),
      /** Right before and after a visit's copies, while the load runs on: one figure per visit. */
      alone: distributionSchema,
      during: distributionSchema,
      /** Ratio of during to alone, visit by visit. */
      keptShare: distributionSchema,
    })
    .optional(),
  /** For a pipeline: total time of one copy's kernels. */
  computeNs: nanoseconds.optional(),
  /** For scattered blocks: a worker's CPU time per block, until its last call to start a copy returns. */
  hostNsPerBlock: distributionSchema.optional(),
  /** Null for an unfinished cell: the run continues, was aborted or failed. */
  outcome: outcomeSchema.nullable(),
  /** Why it was skipped; null otherwise. */
  skipReason: z.string().nullable(),
  error: errorSchema.nullable(),
  warnings: z.array(z.string()),
});

export type Cell = z.infer<typeof cellSchema>;
export type VariantFields = z.infer<typeof variantSchema>;
export type CellResult = z.infer<typeof cellResultSchema>;
export type CellStats = z.infer<typeof statsSchema>;
export type Distribution = z.infer<typeof distributionSchema>;
export type CellSamples = z.infer<typeof samplesSchema>;
export type Outcome = z.infer<typeof outcomeSchema>;
