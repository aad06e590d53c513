import { availableParallelism } from "node:os";
import { posix } from "node:path";
import { fieldOf, readCount, readText } from "./files.js";

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

/** The smallest quota of this process' cgroup and its parents, in CPUs (such as 1.5); null without one. */
export function cpuQuota(root = "/"): number | null {
  const quotas = cgroupsOf(root, "cpu")
    .map((group) => quotaOf(root, group))
    .filter((quota) => quota !== null);
  return quotas.length === 0 ? null : Math.min(...quotas);
}

function quotaOf(root: string, { version, directory }: Cgroup): number | null {
  // Microseconds of CPU time, and of the period for it. "max" or -1 means no quota.
  const [quotaUs, periodUs] =
    version === 2
      ? (readText(root, `${directory}/cpu.max`)?.split(/\s+/).map(Number) ?? [])
      : [readCount(root, `${directory}/cpu.cfs_quota_us`), readCount(root, `${directory}/cpu.cfs_period_us`)];
  const quota = (quotaUs ?? 0) / (periodUs ?? 0);
  return Number.isFinite(quota) && quota > 0 ? quota : null;
}

/** Number of CPUs that can be busy at once: those in the affinity mask, limited by the quota (rounded up). */
export function usableCpuCount(root = "/"): number {
  const allowed = allowedCpus(root).length;
  const quota = cpuQuota(root);
  return quota === null ? allowed : Math.max(1, Math.min(allowed, Math.ceil(quota)));
}

/** Exceeds every kernel's number of CPUs or nodes (NR_CPUS is at most 8192). */
const mostCpus = 1 << 16;

/** The numbers in a kernel list such as "0-3,8,10-11", ascending; null for invalid text (an empty list is empty). */
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

export interface Cgroup {
  version: 1 | 2;
  /** The folder of a controller's files, relative to the root. */
  directory: string;
}

/**
 * The cgroups (versions 2 and 1) that may limit this process. In a container, /proc/self/cgroup often has the host's
 * path, which does not exist there. So all parents up to the mount point, the container's own group, are listed too;
 * reading those that exist finds the limits.
 */
export function cgroupsOf(root: string, controller: "cpu" | "memory"): Cgroup[] {
  const groups: Cgroup[] = [];
  for (const line of readText(root, "proc/self/cgroup")?.split("\n") ?? []) {
    const match = /^\d+:([^:]*):(\/.*)$/.exec(line);
    if (match === null) continue;
    const [, controllers = "", group = "/"] = match;
    if (controllers === "") {
      // A hybrid layout mounts version 2 next to the controllers of version 1.
      for (const mount of ["sys/fs/cgroup", "sys/fs/cgroup/unified"]) {
        groups.push(...upwards(2, mount, group));
      }
    } else if (controllers.split(",").includes(controller)) {
      // "cpu,cpuacct" is mounted under that name, with a link for each controller.
      for (const mount of new Set([`sys/fs/cgroup/${controllers}`, `sys/fs/cgroup/${controller}`])) {
        groups.push(...upwards(1, mount, group));
      }
    }
  }
  return groups;
}

/** `group` and all its parents up to the mount point, the innermost first. */
function upwards(version: Cgroup["version"], mount: string, group: string): Cgroup[] {
  // A group outside this cgroup namespace is "/../…", and has no files here.
  const names = group.split("/").filter((name) => name !== "");
  if (names.includes("..")) return [{ version, directory: mount }];
  return [...names.keys(), names.length]
    .reverse()
    .map((depth) => ({ version, directory: posix.join(mount, ...names.slice(0, depth)) }));
}
