import { z } from "zod";
import { sharingSchema } from "../host/other-programs.js";
import { backendNames, verifyings } from "../settings/choices.js";
import { isLabelValue, labelKey } from "../settings/labels.js";
import { presetNames } from "../settings/presets.js";
import {
  count,
  errorSchema,
  linkSchema,
  nanoseconds,
  pinningCostSchema,
  ratio,
} from "../settings/schema-parts.js";
import { origins, type RunSettings, runSettings } from "../settings/table.js";
import { longestNs } from "../settings/units.js";
import { cellResultSchema } from "./cell-schema.js";
import { blockCutoffsSchema } from "./cutoffs/cutoff-schema.js";

/**
 * The result document, `schemaVersion: 1`. Times are in nanoseconds, sizes in bytes, rates in decimal GB/s; unknown
 * values are null, as are many if `importedFrom` is set. schema/result-v1.json is generated from here (`npm run
 * schema`).
 */

const share = z.number().min(0).max(1);

const loadSchema = z.object({
  /** CPU time that the hypervisor gave to others while this machine wanted it. */
  stealShare: share.nullable(),
  /** CPU time for anything but this process, in programs and the kernel. */
  otherCpuShare: share.nullable(),
  /** Time in which some task of the machine, including this process, waited for a CPU, for memory, for a disk. */
  cpuPressureShare: share.nullable(),
  memoryPressureShare: share.nullable(),
  ioPressureShare: share.nullable(),
});

const hostSchema = z.object({
  hostname: z.string(),
  kernel: z.string(),
  cpuModel: z.string(),
  cpusAllowed: z.array(count),
  /** The cgroup's quota in CPUs; null without one. */
  cpuQuota: ratio.positive().nullable(),
  numaNodes: count,
  memoryTotalBytes: count,
  /** MemAvailable, or what the cgroup's limit leaves if that is less. */
  memoryAvailableBytes: count,
  cgroupMemoryLimitBytes: count.nullable(),
  /** RLIMIT_MEMLOCK; null if unlimited. NVIDIA's driver does not charge pinned pages to it. */
  memlockLimitBytes: count.nullable(),
  transparentHugePages: z.string().nullable(),
  lastLevelCacheBytes: count,
  lastLevelCacheSource: z.string(),
  governor: z.string().nullable(),
  virtualization: z.string().nullable(),
  container: z.string().nullable(),
});

const numaNodeSchema = z.object({
  node: count,
  /** Its CPUs that the process may use. */
  cpus: z.array(count),
  hasMemory: z.boolean(),
  /** Whether the process may use its memory. */
  isAllowed: z.boolean(),
  /** Distance to each node, as in sysfs; empty if unknown. */
  distances: z.array(count),
});

const deviceSchema = z.object({
  ordinal: count,
  name: z.string(),
  uuid: z.string().nullable(),
  pciBusId: z.string().nullable(),
  totalMemoryBytes: count.nullable(),
  computeCapability: z.string().nullable(),
  multiprocessors: count.nullable(),
  l2CacheBytes: count.nullable(),
  copyEngines: count.nullable(),
  numaNode: count.nullable(),
  /**
   * The bridges between it and the CPU by their names in sysfs, from the host bridge down; null if sysfs hides them, as
   * in virtual machines.
   */
  upstreamPath: z.array(z.string()).nullable(),
  /** Read under load in the first cells; null if NVML does not report it. */
  link: linkSchema.nullable(),
  /** Generation x width x encoding, packet overhead not subtracted; null for an unknown link. */
  linkLimitGBps: ratio.positive().nullable(),
});

const payOffCopiesSchema = z.object({ h2d: count.nullable(), d2h: count.nullable() });

/**
 * Number of one-worker copies of a size after which a buffer pays off against a pageable one, including
 * allocating and freeing; 0 if it costs no more. Null unless all of it was measured, and copies from pinned
 * memory are clearly faster, by 5 % or more.
 */
const payOffSchema = z.object({ pinned: payOffCopiesSchema, registered: payOffCopiesSchema });

const coldStartSchema = z.object({
  device: count,
  /** cuInit. */
  initNs: nanoseconds,
  /** Creating the primary context. */
  contextNs: nanoseconds,
  firstCopyNs: nanoseconds,
  pinning: z.array(
    z.object({
      sizeBytes: count,
      /** Number of measurements per median. */
      repetitions: count,
      /** New pages of the system, each touched once by one thread. */
      pageable: pinningCostSchema.nullable(),
      pinned: pinningCostSchema.nullable(),
      registered: pinningCostSchema.nullable(),
      /** Absent while cells of the device are measured. */
      payOff: payOffSchema.optional(),
      /** Why a method's cost is null; absent if none was refused. */
      refusals: z.partialRecord(z.enum(["pageable", "pinned", "registered"]), z.string()).optional(),
    }),
  ),
});

const workerProcessesSchema = z.object({
  device: count,
  /** Number of processes that started. */
  processes: count,
  /** From the first start until the last context exists; all start at once. */
  startNs: nanoseconds,
  /** Time for creating the context: median of the processes. */
  contextNs: nanoseconds,
  /** Average device memory of a process' context. */
  contextDeviceBytes: count,
});

/** The requested settings: the values of table.ts, null if left open. */
export const settingsSchema = z.object({
  ...Object.fromEntries(Object.entries(runSettings).map(([key, setting]) => [key, settingSchema(setting)])),
  /** The source of each value that is not a default. */
  origins: z.record(z.string(), z.enum(origins)),
}) as unknown as z.ZodType<RunSettings>;

function settingSchema(setting: (typeof runSettings)[keyof typeof runSettings]): z.ZodType {
  const { json, choices } = setting.kind;
  const { type, least = 0, most = Number.MAX_SAFE_INTEGER, isList, orWords } = json;
  const types = {
    integer: count.min(least).max(most),
    number: z.number().min(least).max(most),
    boolean: z.boolean(),
    string: choices === undefined ? z.string() : z.enum(choices),
    object: z.record(z.string(), z.unknown()),
  };
  const one = isList ? z.array(types[type]) : types[type];
  const value: z.ZodType = orWords === undefined ? one : z.union([z.literal(orWords), one]);
  return setting.default === null ? value.nullable() : value;
}

export const labelsSchema = z.record(
  z.string().regex(labelKey),
  z.string().refine(isLabelValue, "a label's value is one printable line"),
);

export const resultSchema = z.object({
  schemaVersion: z.literal(1),
  tool: z.object({
    name: z.literal("pinbench"),
    version: z.string(),
    compiler: z.string().nullable(),
    kernels: z.boolean().nullable(),
  }),
  /** Set if another tool measured: its name, its version, and the name of the imported file. */
  importedFrom: z.object({ tool: z.string(), version: z.string().nullable(), file: z.string() }).optional(),
  run: z.object({
    id: z.string(),
    startedAt: z.iso.datetime(),
    finishedAt: z.iso.datetime().nullable(),
    wallNs: nanoseconds.nullable(),
    argv: z.array(z.string()),
    status: z.enum(["running", "complete", "aborted", "failed"]),
    error: errorSchema.nullable(),
    /**
     * Load on the machine during measuring, as shares from 0 to 1: of all CPUs' time, or of elapsed time. Null before
     * the first device's rounds end.
     */
    load: loadSchema.nullable(),
    /** Other users of the devices; absent for emulated devices that nobody else can use. */
    sharing: z.array(sharingSchema).optional(),
    /** Labels from the user (`--label`), such as the machine's rack; absent without any. */
    labels: labelsSchema.optional(),
    /** The finished processes, if several measured all cells, one after the other (`run --runs`). */
    runs: z
      .array(z.object({ id: z.string(), startedAt: z.iso.datetime(), wallNs: nanoseconds.nullable() }))
      .optional(),
  }),
  backend: z.enum(backendNames),
  /** Set for the emulated device: its figures do not describe a GPU. */
  notice: z.string().nullable(),
  driverVersion: z.string().nullable(),
  cudaVersion: z.string().nullable(),
  host: hostSchema.nullable(),
  devices: z.array(deviceSchema),
  /** The facts in which comparisons look for differences, one string each. */
  fingerprint: z.record(z.string(), z.string().nullable()),
  plan: z
    .object({
      preset: z.enum(presetNames).nullable(),
      precision: z.number().positive().max(1),
      budgetNs: nanoseconds.max(longestNs),
      /** A fixed number of samples per cell; null if precision and budget decide. */
      samplesPerCell: count.nullable(),
      /** Which copies are compared: those that no later copy of a visit overwrote, or every one. */
      verify: z.enum(verifyings),
      /** Where workers ran: "local" to each device, "all" nodes, or the node of --numa. */
      numa: z.union([z.enum(["local", "all"]), count]),
      cells: count,
      rounds: count,
      estimatedHostBytes: count,
      estimatedPinnedBytes: count,
      estimatedDeviceBytes: count,
      /** What the preset dropped on this machine and why, and warnings about requests. */
      notes: z.array(z.string()),
      settings: settingsSchema,
    })
    .nullable(),
  numaNodes: z.array(numaNodeSchema).optional(),
  coldStart: z.array(coldStartSchema),
  /** Costs of starting the worker processes of a device; absent without any. */
  workerProcesses: z.array(workerProcessesSchema).optional(),
  cells: z.array(cellResultSchema),
  /** The result of `--blocks auto`, from the cells above; absent without it. */
  blockCutoffs: z.array(blockCutoffsSchema).optional(),
});

export type ResultDocument = z.infer<typeof resultSchema>;
export type ColdStart = z.infer<typeof coldStartSchema>;
export type PinningRecord = ColdStart["pinning"][number];
export type WorkerProcessCosts = z.infer<typeof workerProcessesSchema>;
export type DeviceRecord = z.infer<typeof deviceSchema>;
export type HostRecord = z.infer<typeof hostSchema>;
export type LoadRecord = z.infer<typeof loadSchema>;
export type PayOff = z.infer<typeof payOffSchema>;

resultSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:result-v1",
  title: "pinbench result, version 1",
  description:
    "One run of pinbench. Names end in their unit: Ns nanoseconds, Us microseconds, Bytes bytes, GBps decimal " +
    "gigabytes (1e9 bytes) a second. What is not known is null.",
});
