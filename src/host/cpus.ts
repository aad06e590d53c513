import { availableParallelism } from "node:os";
import { type Cgroup, cgroupsOf } from "./cgroup.js";
import { fieldOf, readCount, readText } from "./files.js";

/** CPUs that the affinity mask of this process allows, ascending; never empty. */
export function allowedCpus(root = "/"): number[] {
  const lists = [
    fieldOf(readText(root, "proc/self/status"), "Cpus_allowed_list"),
    readText(root, "sys/devices/system/cpu/online"),
  ];
  for (const list of lists) {
    const cpus = list === null ? null : parseCpuList(list);
    if (cpus !== null && cpus.length > 0) return cpus;
  }
  return Array.from({ length: availableParallelism() }, (_, cpu) => cpu);
}

/** The smallest quota of this process' cgroup and its parents, in CPUs (1.5 is one and a half); null without one. */
export function cpuQuota(root = "/"): number | null {
  const quotas = cgroupsOf(root, "cpu")
    .map((group) => quotaOf(root, group))
    .filter((quota) => quota !== null);
  return quotas.length === 0 ? null : Math.min(...quotas);
}

function quotaOf(root: string, { version, directory }: Cgroup): number | null {
  // Microseconds of CPU time, and of the period in which they may be used. No quota is "max" or -1.
  const [quotaUs, periodUs] =
    version === 2
      ? (readText(root, `${directory}/cpu.max`)?.split(/\s+/).map(Number) ?? [])
      : [readCount(root, `${directory}/cpu.cfs_quota_us`), readCount(root, `${directory}/cpu.cfs_period_us`)];
  const quota = (quotaUs ?? 0) / (periodUs ?? 0);
  return Number.isFinite(quota) && quota > 0 ? quota : null;
}

/** CPUs that can be busy at once: the affinity mask within the quota, of which a part counts as a whole. */
export function usableCpuCount(root = "/"): number {
  const allowed = allowedCpus(root).length;
  const quota = cpuQuota(root);
  return quota === null ? allowed : Math.max(1, Math.min(allowed, Math.ceil(quota)));
}

/** No kernel numbers as many CPUs or nodes (NR_CPUS is 8192 at most). */
const mostCpus = 1 << 16;

/** The numbers of a kernel list such as "0-3,8,10-11", ascending; null for anything else (an empty list is empty). */
export function parseCpuList(text: string): number[] | null {
  const cpus = new Set<number>();
  for (const part of text.trim().split(",")) {
    if (part === "") continue;
    const match = /^(\d+)(?:-(\d+))?$/.exec(part.trim());
    if (match === null) return null;
    const first = Number(match[1]);
    const last = Number(match[2] ?? match[1]);
    if (last >= mostCpus) return null;
    for (let cpu = first; cpu <= last; ++cpu) cpus.add(cpu);
  }
  return [...cpus].sort((a, b) => a - b);
}
