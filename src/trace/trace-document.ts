import { z } from "zod";
import { count, nanoseconds, ratio } from "../settings/schema-parts.js";

/**
 * The document of `pinbench trace`, `schemaVersion: 1`. Times are nanoseconds, sizes bytes, rates decimal GB/s; unknown
 * values are null. schema/trace-v1.json is generated from here (`npm run schema`).
 */

/** Copies of one size by one function, as written by the library in the program. */
const observedCopySchema = z.object({
  direction: z.enum(["h2d", "d2h"]),
  /** Kind of host memory. */
  memory: z.enum(["pageable", "pinned", "managed", "unknown"]),
  /** CUDA function that was called; empty if unknown, and for copies of a CUDA graph. */
  call: z.string(),
  /** Innermost NVTX range around the calls; empty without one. */
  range: z.string(),
  /** Size of each copy; 0 for a sum over many other sizes. */
  sizeBytes: count,
  count: count.positive(),
  totalBytes: count,
  /** Time on the copy engine. */
  engineNs: nanoseconds,
  /** Time for which the calls blocked their threads. */
  blockedNs: nanoseconds,
  /** Time in a synchronization right after the call. */
  waitNs: nanoseconds,
  /** The part of `engineNs` of copies whose stream also runs kernels. */
  behindKernelsNs: nanoseconds,
});

const tracedCopySchema = observedCopySchema.extend({
  /** For large pageable copies: rate of pinned copies of this size; null if unknown. */
  pinnedGBps: ratio.positive().nullable(),
  /** Time that pinned memory would save; null if unknown. */
  savedNs: nanoseconds.nullable(),
});

const processFields = {
  pid: count,
  /** The environment variable RANK; empty without one. */
  rank: z.string(),
  /** CUPTI library that recorded, with its version. */
  cupti: z.string(),
  /** Why records are missing; null if they are complete. */
  error: z.string().nullable(),
  /** Time from the process' first use of CUDA to its last records, within --skip and --for. */
  observedNs: nanoseconds,
  /** False if the process was killed or still ran; then its last second may be missing. */
  isComplete: z.boolean(),
  /** Whether CUPTI stopped reporting before the end, for example because another profiler took over. */
  isSilent: z.boolean(),
  /** Number of records that CUPTI had no room for. */
  droppedRecords: count,
  /** Number of copies whose call was not recorded. */
  copiesWithoutCall: count,
  /** Calls that pin or free memory. */
  pinningCalls: z.array(z.object({ name: z.string(), count, timeNs: nanoseconds })),
};

/** The file that the library in a process writes (cuda/trace/injection.cpp). */
export const processFileSchema = z.object({ ...processFields, copies: z.array(observedCopySchema) });

const programFields = {
  createdAt: z.iso.datetime(),
  command: z.string(),
  /** Processes that used CUDA. */
  processes: z.array(z.object({ ...processFields, copies: z.array(tracedCopySchema) })),
};

export const traceSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("trace"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  host: z.string(),
  ...programFields,
  /** File or device from which pinned rates come; null if unknown. */
  pinnedRates: z.string().nullable(),
  /** The earlier trace, if two are compared; otherwise null. */
  earlier: z.object(programFields).nullable(),
});

export type Trace = z.infer<typeof traceSchema>;
export type TracedProcess = Trace["processes"][number];
export type TracedCopy = z.infer<typeof tracedCopySchema>;
export type ObservedCopy = z.infer<typeof observedCopySchema>;

traceSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:trace-v1",
  title: "pinbench trace, version 1",
  description:
    "The copies of a program between host and device, what they cost, and what pinned memory would save.",
});
