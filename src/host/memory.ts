import { totalmem } from "node:os";
import { type Cgroup, cgroupsOf } from "./cpus.js";
import { countIn, fieldOf, readCount, readText } from "./files.js";

export function memoryTotalBytes(root = "/"): number {
  return memoryInfoBytes(root, "MemTotal") ?? totalmem();
}

/**
 * Bytes that can be allocated without swapping: MemAvailable, or what the limits of the cgroup and its parents leave,
 * if less. Reclaimable page cache (inactive files) does not count as used.
 */
export function memoryAvailableBytes(root = "/"): number {
  let availableBytes =
    memoryInfoBytes(root, "MemAvailable") ?? memoryInfoBytes(root, "MemFree") ?? memoryTotalBytes(root);
  for (const { limitBytes, usedBytes } of memoryLimits(root)) {
    availableBytes = Math.min(availableBytes, Math.max(0, limitBytes - usedBytes));
  }
  return availableBytes;
}

/** MemAvailable of the whole system, in bytes, regardless of the cgroup's limit; null if the kernel hides it. */
export function systemAvailableBytes(root = "/"): number | null {
  return memoryInfoBytes(root, "MemAvailable");
}

/** The smallest memory limit of this process' cgroup and its parents, in bytes; null without one. */
export function cgroupMemoryLimitBytes(root = "/"): number | null {
  const limits = memoryLimits(root).map(({ limitBytes }) => limitBytes);
  return limits.length === 0 ? null : Math.min(...limits);
}

/** The soft RLIMIT_MEMLOCK in bytes; null if it is unlimited or unknown. */
export function memlockLimitBytes(root = "/"): number | null {
  const softLimit = /^Max locked memory\s+(\S+)/m.exec(readText(root, "proc/self/limits") ?? "")?.[1];
  return countIn(softLimit);
}

/** A line of a text such as /proc/meminfo, in bytes; the kernel counts in kB of 1024 bytes. */
export function bytesIn(text: string | null, key: string): number | null {
  const match = /^(\d+) kB$/.exec(fieldOf(text, key) ?? "");
  const bytes = (countIn(match?.[1]) ?? Number.NaN) * 1024;
  return Number.isSafeInteger(bytes) ? bytes : null;
}

function memoryInfoBytes(root: string, key: string): number | null {
  return bytesIn(readText(root, "proc/meminfo"), key);
}

/** The files of the memory controller, by version of the cgroups. */
const files = {
  1: { limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes", reclaimable: "total_inactive_file" },
  2: { limit: "memory.max", usage: "memory.current", reclaimable: "inactive_file" },
} as const;

function memoryLimits(root: string): { limitBytes: number; usedBytes: number }[] {
  return cgroupsOf(root, "memory").flatMap((group) => {
    const limitBytes = readCount(root, `${group.directory}/${files[group.version].limit}`);
    if (limitBytes === null) return [];
    return [{ limitBytes, usedBytes: usedBytes(root, group) }];
  });
}

function usedBytes(root: string, { version, directory }: Cgroup): number {
  const usageBytes = readCount(root, `${directory}/${files[version].usage}`) ?? 0;
  const statistics = readText(root, `${directory}/memory.stat`) ?? "";
  const reclaimable = new RegExp(`^${files[version].reclaimable} (\\d+)$`, "m").exec(statistics)?.[1];
  return Math.max(0, usageBytes - (countIn(reclaimable) ?? 0));
}
