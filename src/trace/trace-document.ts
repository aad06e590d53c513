import { z } from "zod";
import { count, nanoseconds, ratio } from "../settings/schema-parts.js";

/**
 * What `pinbench trace` saw, `schemaVersion: 1`. Times are nanoseconds, sizes bytes, rates decimal GB/s; unknown values
 * are null. schema/trace-v1.json is generated from here (`npm run schema`).
 */

/** Copies of one size by one function, as the library in the program writes them. */
const observedCopySchema = z.object({
  direction: z.enum(["h2d", "d2h"]),
  /** The host memory. */
  memory: z.enum(["pageable", "pinned", "managed", "unknown"]),
  /** The function of CUDA that was called; empty if unknown, and for copies of a CUDA graph. */
  call: z.string(),
  /** The innermost NVTX range around the calls; empty without one. */
  range: z.string(),
  /** Of each copy; 0 for copies of many further sizes. */
  sizeBytes: count,
  count: count.positive(),
  totalBytes: count,
  /** Time on the copy engine. */
  engineNs: nanoseconds,
  /** Time that the calls took their threads. */
  blockedNs: nanoseconds,
  /** Time in a synchronization right after the call. */
  waitNs: nanoseconds,
  /** Part of the time on the engine, for copies on streams that also run kernels. */
  behindKernelsNs: nanoseconds,
});

const tracedCopySchema = observedCopySchema.extend({
  /** Of large pageable copies: the rate of pinned ones of this size; null if unknown. */
  pinnedGBps: ratio.positive().nullable(),
  /** Time that pinned memory would save; null if unknown. */
  savedNs: nanoseconds.nullable(),
});

const processFields = {
  pid: count,
  /** The environment's RANK; empty without. */
  rank: z.string(),
  /** The CUPTI that recorded, and its version. */
  cupti: z.string(),
  /** Why nothing, or not everything, was recorded; null if all was. */
  error: z.string().nullable(),
  /** From the process' first use of CUDA to its last records, within --skip and --for. */
  observedNs: nanoseconds,
  /** False if the process was killed, or still ran: its last second may be missing. */
  isComplete: z.boolean(),
  /** Whether CUPTI stopped reporting before the end, as it does if another profiler takes it over. */
  isSilent: z.boolean(),
  /** Records for which CUPTI had no room. */
  droppedRecords: count,
  /** Copies whose call was not recorded. */
  copiesWithoutCall: count,
  /** Functions that pin memory or free it. */
  pinningCalls: z.array(z.object({ name: z.string(), count, timeNs: nanoseconds })),
};

/** The file that the library in a process writes (cuda/trace/injection.cpp). */
export const processFileSchema = z.object({ ...processFields, copies: z.array(observedCopySchema) });

const programFields = {
  createdAt: z.iso.datetime(),
  command: z.string(),
  /** Those that used CUDA. */
  processes: z.array(z.object({ ...processFields, copies: z.array(tracedCopySchema) })),
};

export const traceSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("trace"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  host: z.string(),
  ...programFields,
  /** The file, or the device, of the pinned rates; null if they are unknown. */
  pinnedRates: z.string().nullable(),
  /** Of `compare`: the earlier trace; null otherwise. */
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
