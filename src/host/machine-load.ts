import { allowedCpus, cpuQuota } from "./cpus.js";
import { countIn, readText } from "./files.js";
import {
  cgroupMemoryLimitBytes,
  memlockLimitBytes,
  memoryAvailableBytes,
  memoryTotalBytes,
} from "./memory.js";
import { readProcessStat } from "./processes.js";
import {
  container,
  cpuModel,
  frequencyGovernor,
  hostname,
  kernelRelease,
  transparentHugePages,
  virtualization,
} from "./system.js";
import { lastLevelCache, numaNodes } from "./topology.js";

/** The host's facts for the result document. Never throws: unreadable facts are null or have a default. */
export function hostRecord(root = "/") {
  const cpus = allowedCpus(root);
  const cache = lastLevelCache(cpus, root);
  return {
    hostname: hostname(root),
    kernel: kernelRelease(root),
    cpuModel: cpuModel(root),
    cpusAllowed: cpus,
    cpuQuota: cpuQuota(root),
    numaNodes: numaNodes(root).length,
    memoryTotalBytes: memoryTotalBytes(root),
    memoryAvailableBytes: memoryAvailableBytes(root),
    cgroupMemoryLimitBytes: cgroupMemoryLimitBytes(root),
    memlockLimitBytes: memlockLimitBytes(root),
    transparentHugePages: transparentHugePages(root),
    lastLevelCacheBytes: cache.bytes,
    lastLevelCacheSource: cache.source,
    // The CPUs of one machine rarely have different governors, so the first allowed CPU is enough.
    governor: frequencyGovernor(cpus[0]!, root),
    virtualization: virtualization(root),
    container: container(root),
  };
}

const pressures = ["cpu", "memory", "io"] as const;

/** The kernel's counters for the whole machine (in a container, for the host); unknown ones are null. */
export interface LoadReading {
  /** On a monotonic clock. */
  atNs: number;
  /** CPU time used by all threads of this process and its worker processes. */
  ownCpuNs: number;
  /**
   * Sums over all CPUs since boot, in ticks of USER_HZ (proc(5), /proc/stat): all states, time stolen by the
   * hypervisor, and busy time.
   */
  cpus: { count: number; totalTicks: number; stolenTicks: number; busyTicks: number } | null;
  /**
   * Time in which at least one task of the machine waited for the resource ("some" in /proc/pressure, the kernel's
   * Documentation/accounting/psi.rst).
   */
  stalledNs: Record<(typeof pressures)[number], number | null>;
}

/** Reads all counters at once; `workerPids` are the processes that measure for this one. Never throws. */
export function readLoad(root = "/", workerPids: readonly number[] = []): LoadReading {
  const { user, system } = process.cpuUsage();
  const ofWorkers = workerPids.reduce((sum, pid) => sum + (readProcessStat(pid, root)?.cpuNs ?? 0), 0);
  return {
    atNs: performance.now() * 1e6,
    ownCpuNs: (user + system) * 1e3 + ofWorkers,
    cpus: readCpuTicks(root),
    stalledNs: {
      cpu: readStalledNs(root, "cpu"),
      memory: readStalledNs(root, "memory"),
      io: readStalledNs(root, "io"),
    },
  };
}

function readCpuTicks(root: string): LoadReading["cpus"] {
  const lines = readText(root, "proc/stat")?.split("\n") ?? [];
  const count = lines.filter((line) => /^cpu\d/.test(line)).length;
  const all = lines
    .find((line) => line.startsWith("cpu "))
    ?.split(/\s+/)
    .slice(1)
    .map(Number);
  // Guests' time is part of user and nice, so the fields after "steal" are left out.
  const [user, nice, system, idle, iowait, irq, softirq, stolenTicks] = all ?? [];
  if (count === 0 || stolenTicks === undefined || !all!.every(Number.isFinite)) return null;
  const busyTicks = user! + nice! + system! + irq! + softirq!;
  return { count, totalTicks: busyTicks + idle! + iowait! + stolenTicks, stolenTicks, busyTicks };
}

/** Parses "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", whose total is in microseconds. */
function readStalledNs(root: string, resource: string): number | null {
  const text = /^some .*\btotal=(\d+)/m.exec(readText(root, `proc/pressure/${resource}`) ?? "")?.[1];
  const totalUs = countIn(text);
  return totalUs === null ? null : totalUs * 1e3;
}

/** The machine's load over one or more periods, each between two readings. */
export function loadBetween(stretches: readonly (readonly [LoadReading, LoadReading])[]) {
  /** Growth of a counter over all periods; null if a reading lacks it. */
  const grown = (read: (reading: LoadReading) => number | null): number | null => {
    let sum = 0;
    for (const [before, after] of stretches) {
      const [from, to] = [read(before), read(after)];
      if (from === null || to === null) return null;
      // When a kernel removes CPUs, the sums lose their time.
      sum += Math.max(0, to - from);
    }
    return sum;
  };
  const shareOf = (part: number | null, whole: number | null): number | null =>
    part === null || whole === null || whole <= 0 ? null : Math.min(1, Math.max(0, part / whole));

  const elapsedNs = grown(({ atNs }) => atNs);
  const cpuCount = stretches[0]![0].cpus?.count ?? 0;
  const ownNs = grown(({ ownCpuNs }) => ownCpuNs);
  const ownShare = shareOf(ownNs, elapsedNs === null ? null : cpuCount * elapsedNs);
  const ofTicks = (ticks: "busyTicks" | "stolenTicks") => {
    const part = grown(({ cpus }) => cpus?.[ticks] ?? null);
    return shareOf(
      part,
      grown(({ cpus }) => cpus?.totalTicks ?? null),
    );
  };
  const busyShare = ofTicks("busyTicks");
  const pressure = (resource: (typeof pressures)[number]) => {
    const stalledNs = grown((reading) => reading.stalledNs[resource]);
    return shareOf(stalledNs, elapsedNs);
  };
  return {
    stealShare: ofTicks("stolenTicks"),
    otherCpuShare: busyShare === null || ownShare === null ? null : Math.max(0, busyShare - ownShare),
    cpuPressureShare: pressure("cpu"),
    memoryPressureShare: pressure("memory"),
    ioPressureShare: pressure("io"),
  };
}
