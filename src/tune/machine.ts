import { statfsSync } from "node:fs";
import { join } from "node:path";
import { cpuQuota, usableCpuCount } from "../host/cpus.js";
import { memoryAvailableBytes } from "../host/memory.js";

/** What the loaders of this node's training processes have to share. */
export interface MachineLimits {
  /** CPUs of the affinity mask within the cgroup's quota, whatever the machine has. */
  usableCpus: number;
  cpuQuota: number | null;
  memoryAvailableBytes: number;
  /** Free in /dev/shm, where workers hand their batches over; null where there is none. */
  sharedMemoryBytes: number | null;
  /** Training processes on this node, each with a loader like this one. */
  ranks: number;
}

export function machineLimits(ranks: number, root = "/"): MachineLimits {
  return {
    usableCpus: usableCpuCount(root),
    cpuQuota: cpuQuota(root),
    memoryAvailableBytes: memoryAvailableBytes(root),
    sharedMemoryBytes: freeSharedMemoryBytes(root),
    ranks,
  };
}

function freeSharedMemoryBytes(root: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(join(root, "dev/shm"));
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** CPUs that each of the node's processes may keep busy; at least 1. */
export function cpusPerRank({ usableCpus, ranks }: MachineLimits): number {
  return Math.max(1, Math.floor(usableCpus / ranks));
}
