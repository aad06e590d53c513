import type { HostRecord } from "../results/schema.js";
import { allowedCpus, cpuQuota } from "./cpus.js";
import {
  cgroupMemoryLimitBytes,
  memlockLimitBytes,
  memoryAvailableBytes,
  memoryTotalBytes,
} from "./memory.js";
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

/** The host as the result document describes it. Never throws: what cannot be read is null or a stated fallback. */
export function hostRecord(root = "/"): HostRecord {
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
    // The governors of one machine's CPUs seldom differ; the first of those allowed speaks for all.
    governor: frequencyGovernor(cpus[0]!, root),
    virtualization: virtualization(root),
    container: container(root),
  };
}
