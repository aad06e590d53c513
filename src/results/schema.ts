import { z } from "zod";
import { backendNames } from "../settings/choices.js";
import { isLabelValue, labelKey } from "../settings/labels.js";
import { presetNames } from "../settings/presets.js";
import { origins, type RunSettings, runSettings } from "../settings/table.js";
import { cellResultSchema } from "./cell-schema.js";
import { blockCutoffsSchema } from "./cutoffs/cutoff-schema.js";
import { sharingSchema } from "./other-programs.js";
import { count, errorSchema, linkSchema, nanoseconds, pinningCostSchema, ratio } from "./schema-parts.js";

/**
 * The result document, `schemaVersion: 1`. Times are nanoseconds, sizes bytes, rates decimal GB/s; what is not
 * known is null: much of it where `importedFrom` is set. schema/result-v1.json is generated from here
 * (`npm run schema`).
 */

const share = z.number().min(0).max(1);

const loadSchema = z.object({
  /** CPU time that the hypervisor gave to others while this machine wanted it. */
  stealShare: share.nullable(),
  /** CPU time that ran anything but this process, programs and the kernel together. */
  otherCpuShare: share.nullable(),
  /** Time in which some task of the machine, this process' own included, waited for a CPU, for memory, for a disk. */
  cpuPressureShare: share.nullable(),
  memoryPressureShare: share.nullable(),
  ioPressureShare: share.nullable(),
});

const hostSchema = z.object({
  hostname: z.string(),
  kernel: z.string(),
  cpuModel: z.string(),
  /** CPUs of the affinity mask. */
  cpusAllowed: z.array(count),
  /** The cgroup's quota in CPUs; null without one. */
  cpuQuota: ratio.positive().nullable(),
  numaNodes: count,
  memoryTotalBytes: count,
  /** MemAvailable, or what the cgroup's limit leaves where that is less. */
  memoryAvailableBytes: count,
  cgroupMemoryLimitBytes: count.nullable(),
  /** RLIMIT_MEMLOCK; null where unlimited. NVIDIA's driver does not charge pinned pages to it. */
  memlockLimitBytes: count.nullable(),
  transparentHugePages: z.string().nullable(),
  lastLevelCacheBytes: count,
  lastLevelCacheSource: z.string(),
  governor: z.string().nullable(),
  virtualization: z.string().nullable(),
  container: z.string().nullable(),
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
   * The bridges between it and the CPU as sysfs names them, from the host bridge down; null where sysfs does not tell, as
   * in virtual machines. Absent in older results.
   */
  upstreamPath: z.array(z.string()).nullish(),
  /** Read under load in the first cells; null where NVML does not tell. */
  link: linkSchema.nullable(),
  /** Generation x width x encoding, packet overhead not subtracted; null where the link is not known. */
  linkLimitGBps: ratio.positive().nullable(),
});

const payOffCopiesSchema = z.object({ h2d: count.nullable(), d2h: count.nullable() });

/**
 * Copies of a size by one worker after which a buffer has paid off against a pageable one, obtaining and giving back
 * included; 0 where it costs no more than that one. Null unless all of it was measured and copies from pinned
 * memory are the faster for certain, in other processes too.
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
      /** Number of measurements behind each median. Absent in older results: 1. */
      repetitions: count.nullish(),
      /** New pages of the system, each touched once by one thread. Absent in older results. */
      pageable: pinningCostSchema.nullish(),
      pinned: pinningCostSchema.nullable(),
      registered: pinningCostSchema.nullable(),
      payOff: payOffSchema.nullish(),
      /** Why the cost of a way is null; absent where none was refused, and in older results. */
      refusals: z.partialRecord(z.enum(["pageable", "pinned", "registered"]), z.string()).nullish(),
      /** Older results only: copies that have paid for allocate and free of `cheapest`, pageable memory for nothing. */
      reuses: z
        .object({
          cheapest: z.enum(["pinned", "registered"]),
          h2d: count.nullable(),
          d2h: count.nullable(),
        })
        .nullish(),
    }),
  ),
});

const workerProcessesSchema = z.object({
  device: count,
  /** Those that started. */
  processes: count,
  /** From the start of the first to the last one's context: all start at once. */
  startNs: nanoseconds,
  /** Creating the context, the median of the processes. */
  contextNs: nanoseconds,
  /** What the context of one takes of the device's memory, on average. */
  contextDeviceBytes: count,
});

/**
 * What was asked for: the values of the table of settings, null where one may be left open. A setting that a result does
 * not have is younger than the result, and has its default.
 */
export const settingsSchema = z.object({
  ...Object.fromEntries(Object.entries(runSettings).map(([key, setting]) => [key, settingSchema(setting)])),
  /** Where each value came from that is no default. */
  origins: z.record(z.string(), z.enum(origins)),
}) as unknown as z.ZodType<RunSettings>;

function settingSchema(setting: (typeof runSettings)[keyof typeof runSettings]): z.ZodType {
  const { json, choices } = setting.kind;
  const { type, isList, orWord } = json;
  const types = {
    integer: count,
    number: nanoseconds,
    boolean: z.boolean(),
    string: choices === undefined ? z.string() : z.enum(choices),
    object: z.record(z.string(), z.unknown()),
  };
  const one = isList ? z.array(types[type]) : types[type];
  const value: z.ZodType = orWord === undefined ? one : z.union([z.literal(orWord), one]);
  return setting.default === null ? value.nullable().default(null) : value.default(setting.default);
}

/** Labels by their keys. */
export const labelsSchema = z.record(
  z.string().regex(labelKey),
  z.string().refine(isLabelValue, "a label's value is one printable line"),
);

/** The zod schema of the document, with which it is read. */
export const resultSchema = z.object({
  schemaVersion: z.literal(1),
  tool: z.object({
    name: z.literal("pinbench"),
    version: z.string(),
    compiler: z.string().nullable(),
    kernels: z.boolean().nullable(),
  }),
  /** Set where another tool measured: it, its version, and the name of the file that pinbench read. */
  importedFrom: z.object({ tool: z.string(), version: z.string().nullable(), file: z.string() }).nullish(),
  run: z.object({
    id: z.string(),
    startedAt: z.iso.datetime(),
    finishedAt: z.iso.datetime().nullable(),
    wallNs: nanoseconds.nullable(),
    argv: z.array(z.string()),
    status: z.enum(["running", "complete", "aborted", "failed"]),
    error: errorSchema.nullable(),
    /**
     * What else kept the machine busy while cells were measured: shares, from 0 to 1, of the CPU time of all its CPUs or
     * of the time. Absent in older results, null before the first device's rounds are over.
     */
    load: loadSchema.nullish(),
    /** Who else used the devices; absent in older results, and of emulated devices that nobody else can use. */
    sharing: z.array(sharingSchema).nullish(),
    /** What whoever measured says of it (`--label`), such as its rack; absent where nothing was said, and in older results. */
    labels: labelsSchema.nullish(),
    /** Where several processes measured all cells, one after the other (`run --processes`): those that are whole. */
    processes: z
      .array(z.object({ id: z.string(), startedAt: z.iso.datetime(), wallNs: nanoseconds.nullable() }))
      .nullish(),
  }),
  backend: z.enum(backendNames),
  /** Set for the emulated device: its figures are no GPU's. */
  notice: z.string().nullable(),
  driverVersion: z.string().nullable(),
  cudaVersion: z.string().nullable(),
  host: hostSchema.nullable(),
  devices: z.array(deviceSchema),
  /** What two results must share to be compared, one string a fact. */
  fingerprint: z.record(z.string(), z.string().nullable()),
  /** What pinbench was to measure. */
  plan: z
    .object({
      preset: z.enum(presetNames).nullable(),
      precision: z.number().positive().max(1),
      budgetNs: nanoseconds,
      /** A fixed count of samples a cell; null where precision and budget decide. */
      samplesPerCell: count.nullable(),
      /** Which copies were compared: none, those that no later one of a visit wrote over, or every one. */
      verify: z.union([z.literal("every"), z.boolean()]),
      seed: count,
      staging: z.object({ chunkBytes: count, slots: count }),
      /** Where workers ran: "local" to each device, or the node that --numa named. Absent in older results. */
      numa: z.union([z.literal("local"), count]).nullish(),
      cells: count,
      rounds: count,
      estimatedHostBytes: count,
      estimatedPinnedBytes: count,
      estimatedDeviceBytes: count,
      /** What the preset left out on this machine, and why. */
      notes: z.array(z.string()),
      /** All that was asked for. Absent in results of pinbench 0.1.0. */
      settings: settingsSchema.nullish(),
    })
    .nullable(),
  coldStart: z.array(coldStartSchema),
  /** What starting the worker processes of a device took; absent where there were none. */
  workerProcesses: z.array(workerProcessesSchema).nullish(),
  cells: z.array(cellResultSchema),
  /** What `--blocks auto` found, from the cells above; absent without it. */
  blockCutoffs: z.array(blockCutoffsSchema).nullish(),
});

/** The result document: one run. */
export type ResultDocument = z.infer<typeof resultSchema>;
/** What a device's first use took, and what pinning memory takes. */
export type ColdStart = z.infer<typeof coldStartSchema>;
/** What pinning buffers of one size costs. */
export type PinningRecord = ColdStart["pinning"][number];
/** What starting the worker processes of a device took. */
export type WorkerProcessCosts = z.infer<typeof workerProcessesSchema>;
/** A device as a result describes it. */
export type DeviceRecord = z.infer<typeof deviceSchema>;
/** A machine as a result describes it. */
export type HostRecord = z.infer<typeof hostSchema>;
/** What else a machine did during a run: shares from 0 to 1, each null where the kernel does not tell. */
export type LoadRecord = z.infer<typeof loadSchema>;
/** After how many copies each way of pinning has paid off, in each direction. */
export type PayOff = z.infer<typeof payOffSchema>;

resultSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:result-v1",
  title: "pinbench result, version 1",
  description:
    "One run of pinbench. Names end in their unit: Ns nanoseconds, Us microseconds, Bytes bytes, GBps decimal " +
    "gigabytes (1e9 bytes) a second. What is not known is null.",
});
