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
  timers,
  workerKinds,
} from "../settings/choices.js";
import { count, errorSchema, finite, linkSchema, nanoseconds, ratio } from "./schema-parts.js";

/*
 * What a result holds of each cell.
 */

const directionMoved = z.enum(directionsMoved);

/**
 * A column of samples: what z.array(z.number()) would accept, without its copy of every array. A folder of runs has
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

/** Median, extremes and interval of a set of samples, in their unit. */
const distributionSchema = z.object({
  median: finite,
  min: finite,
  max: finite,
  /**
   * Stopping interval of the median, about 95 % (order statistics); null below 6 samples. Where several processes
   * measured, the 95 % interval between their medians; null below 3 processes.
   */
  low: finite.nullable(),
  high: finite.nullable(),
  /** Where several processes measured: the median of each, in their order; `median` is the median of these. */
  processMedians: z.array(finite).nullish(),
});

/** The figures of one direction of a cell, or of the sum of both. */
const statsSchema = z.object({
  /** "sum": both directions of a bidir cell together; throughput cells only. */
  direction: z.enum([...directionsMoved, "sum"]),
  samples: count,
  /** With the rates below which a tenth and nine tenths of the samples lie; absent in older results. */
  bandwidthGBps: distributionSchema.extend({ p10: finite.nullish(), p90: finite.nullish() }),
  /**
   * All bytes over the sum of the samples' durations: what a program gets, slow copies included. Absent in older results,
   * whose samples tell.
   */
  overTimeGBps: ratio.nullish(),
  /** Half the interval's width over the median of the bandwidth; null without an interval. */
  relativeHalfWidth: ratio.nullable(),
  /** Latency cells only, microseconds a copy. */
  latencyUs: distributionSchema.extend({ p90: finite, p99: finite }).nullable(),
  /** Median bandwidth over the link's limit; null where that is not known, for d2d, the sum and latency cells. */
  linkShare: ratio.nullable(),
});

/** The raw samples of one direction of a cell. */
const samplesSchema = z.object({
  direction: directionMoved,
  /** Where several processes measured: which of them, from 0. Each calibrates its samples by itself. */
  process: count.nullish(),
  /** Bytes of one sample, each counted once; for d2d the rate counts each twice, as it is read and written. */
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

/** What became of a cell. */
const outcomeSchema = z.enum(["converged", "budget", "skipped", "failed", "mismatch"]);

/** The parameters that a plain cell lacks, in the order of results; `variantParts` of cell-id.ts has what ids say of each. */
export const variantSchema = z.object({
  /** Absent: thread. */
  workerKind: z.enum(workerKinds).optional(),
  /** The devices that copy at the same time, this one among them, ascending; absent: this one alone. */
  together: z.array(count).optional(),
  /** The device that a copy between two devices goes to, and how it is made; with direction p2p alone. */
  peer: count.optional(),
  path: z.enum(peerPaths).optional(),
  /** What keeps the machine busy meanwhile; absent: none. */
  beside: z.enum(besides).exclude(["none"]).optional(),
  /** Number of chunks of each copy; a kernel over each follows it in another stream. Absent: a plain copy. */
  chunks: count.optional(),
  /** Bytes of the blocks of each copy, at shuffled places of both sides, and the way. Absent: in one piece. */
  blockBytes: count.optional(),
  blockWay: z.enum(blockWays).optional(),
  /** Multiprocessors that way `kernel` keeps to; absent: as many as help. */
  blockSms: count.optional(),
});

/** The parameters of a cell: those that its id names. */
const cellSchema = z.object({
  /** Of a copy between two devices the one that it comes from. */
  device: count,
  direction: z.enum(directions),
  memory: z.enum(memories),
  /** Bytes of one copy; each worker copies buffers of this size. */
  sizeBytes: count,
  /** Threads or processes, each with a stream and buffers of its own; for bidir the number in each direction. */
  workers: count,
  mode: z.enum(modes),
  timer: z.enum(timers),
  cache: z.enum(caches),
  ...variantSchema.shape,
});

/** What a run measured of a cell. */
export const cellResultSchema = z.object({
  id: z.string(),
  ...cellSchema.shape,
  workerKind: z.enum(workerKinds),
  placement: z.object({ numaNode: count.nullable(), cpus: z.array(count) }).nullable(),
  pages: z
    .object({
      /** "base" 4 KiB pages as malloc or the driver gives them, "huge" where huge pages were asked for. */
      kind: z.enum(["base", "huge", "device"]),
      arenaBytes: count,
      hugePageBytes: count.nullable(),
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
  syncMode: z.literal("spin").nullable(),
  /** 0 until the cell has been calibrated; of several processes, the first one's. */
  copiesPerSample: count,
  samples: z.array(samplesSchema),
  stats: z.array(statsSchema),
  link: linkSchema.nullable(),
  verification: z
    .object({
      checkedBytes: count,
      mismatches: z.array(mismatchSchema),
      /** Timed copies of the visits that were compared, all workers and directions together. Absent in older results. */
      copies: count.nullish(),
      /**
       * Those of them that comparing proves to have been made and right: they were compared whole, and no other one went to
       * the same place before that. What went wrong in the others may not show. Absent in older results.
       */
      provenCopies: count.nullish(),
    })
    .nullable(),
  /** What the load beside the copies did, by itself and during them; absent without one. */
  load: z
    .object({
      unit: z.enum(["GFLOP/s", "GB/s"]),
      /** Right before and after the copies of a visit, with the load running on: a figure a visit. */
      alone: distributionSchema,
      during: distributionSchema,
      /** During over alone, visit by visit. */
      keptShare: distributionSchema,
    })
    .nullish(),
  /** Of a pipeline: what the kernels of one copy take together. */
  computeNs: nanoseconds.nullish(),
  /** Of scattered blocks: what a block costs the CPU of a worker, until the last call that starts its copy returns. */
  hostNsPerBlock: distributionSchema.nullish(),
  /** Null for a cell that is not finished: the run goes on, or it was aborted or failed. */
  outcome: outcomeSchema.nullable(),
  /** Why it was skipped; null otherwise. */
  skipReason: z.string().nullable(),
  error: errorSchema.nullable(),
  warnings: z.array(z.string()),
});

/** What is measured in one cell: the parameters that its id names, and that a baseline joins on. */
export type Cell = z.infer<typeof cellSchema>;
/** The parameters that a plain cell lacks. */
export type VariantFields = z.infer<typeof variantSchema>;
/** What a run measured of one cell, or why it did not. */
export type CellResult = z.infer<typeof cellResultSchema>;
/** The figures of one direction of a cell, or of the sum of both. */
export type CellStats = z.infer<typeof statsSchema>;
/** Median, extremes and interval of a set of samples, in their unit. */
export type Distribution = z.infer<typeof distributionSchema>;
/** The raw samples of one direction of a cell. */
export type CellSamples = z.infer<typeof samplesSchema>;
/** What became of a cell. */
export type Outcome = z.infer<typeof outcomeSchema>;
