import { MiB } from "../settings/units.js";
import { parseCpuList } from "./cpus.js";
import { listNames, readCount, readText } from "./files.js";

/** The NUMA nodes that are online, ascending; node 0 alone where the kernel knows of none. */
export function numaNodes(root = "/"): number[] {
  const online = parseCpuList(readText(root, "sys/devices/system/node/online") ?? "") ?? [];
  if (online.length > 0) return online;
  const nodes = listNames(root, "sys/devices/system/node").flatMap((name) => {
    const match = /^node(\d+)$/.exec(name);
    return match === null ? [] : [Number(match[1])];
  });
  return nodes.length > 0 ? nodes.sort((a, b) => a - b) : [0];
}

/** The CPUs of a node (none for a node of memory alone); null for a node that is not there. */
export function cpusOfNode(node: number, root = "/"): number[] | null {
  const list = readText(root, `sys/devices/system/node/node${node}/cpulist`);
  return list === null ? null : parseCpuList(list);
}

/**
 * A PCI device's name in sysfs; null for what is no id. The id may be the driver's or NVML's: "0000:06:00.0",
 * "00000000:06:00.0", in either case.
 */
export function sysfsPciName(pciBusId: string): string | null {
  const match = /^([0-9a-f]{4,8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$/i.exec(pciBusId);
  if (match === null) return null;
  // sysfs writes a domain with four digits, or as many more as it takes.
  const domain = Number.parseInt(match[1]!, 16).toString(16).padStart(4, "0");
  return `${domain}:${match[2]!.toLowerCase()}`;
}

/**
 * The node that a PCI device is attached to; null where the kernel does not know (it says -1, as in most virtual
 * machines) or there is no such device.
 */
export function numaNodeOfPciDevice(pciBusId: string, root = "/"): number | null {
  const name = sysfsPciName(pciBusId);
  if (name === null) return null;
  return readCount(root, `sys/bus/pci/devices/${name}/numa_node`);
}

/** Taken where the kernel does not tell: larger than most, so that a cold pool is cold rather than small. */
const assumedBytes = 64 * MiB;

/** The last-level caches that some CPUs use. */
export interface LastLevelCache {
  /** Of all instances together that the CPUs can put data into. */
  bytes: number;
  /** Where the figure comes from: "sysfs index3 x2" is two caches described as index3, "assumed" is a guess. */
  source: string;
}

interface CacheInstance {
  level: number;
  bytes: number;
  /** The directory that describes it, "index3". */
  index: string;
  /** The CPUs that share it. */
  cpus: readonly number[];
}

/** The caches of the highest level that `cpus` use, each counted once. Virtual machines are known to misreport them. */
export function lastLevelCache(cpus: readonly number[], root = "/"): LastLevelCache {
  const largestOfEach: CacheInstance[] = [];
  const covered = new Set<number>();
  for (const cpu of cpus) {
    // Its cache is known from a CPU that shares it: on a large machine that saves thousands of files.
    if (covered.has(cpu)) continue;
    const [largest] = dataCachesOf(cpu, root).sort((a, b) => b.level - a.level);
    if (largest === undefined) continue;
    largestOfEach.push(largest);
    for (const sharer of largest.cpus) covered.add(sharer);
  }
  const level = Math.max(0, ...largestOfEach.map((cache) => cache.level));
  // A level 1 cache alone says that the kernel was told nothing of the larger ones.
  if (level < 2) return { bytes: assumedBytes, source: "assumed" };
  const lastLevel = largestOfEach.filter((cache) => cache.level === level);
  const indexes = [...new Set(lastLevel.map((cache) => cache.index))].join(", ");
  return {
    bytes: lastLevel.reduce((sum, cache) => sum + cache.bytes, 0),
    source: `sysfs ${indexes} x${lastLevel.length}`,
  };
}

function dataCachesOf(cpu: number, root: string): CacheInstance[] {
  const directory = `sys/devices/system/cpu/cpu${cpu}/cache`;
  return listNames(root, directory).flatMap((index) => {
    const path = `${directory}/${index}`;
    const level = readCount(root, `${path}/level`);
    const bytes = parseCacheSize(readText(root, `${path}/size`) ?? "");
    if (level === null || bytes === null || readText(root, `${path}/type`) === "Instruction") return [];
    const sharedBy = parseCpuList(readText(root, `${path}/shared_cpu_list`) ?? "") ?? [];
    return [{ level, bytes, index, cpus: sharedBy }];
  });
}

/** A tebibyte: far more than any cache has, so that the sum over all of them is exact. */
const mostCacheBytes = 2 ** 40;

/** The kernel writes "36608K"; the letter counts in 1024s. */
function parseCacheSize(text: string): number | null {
  const match = /^(\d+)([KMG]?)$/.exec(text);
  const bytes = Number(match?.[1] ?? 0) * 1024 ** ["", "K", "M", "G"].indexOf(match?.[2] ?? "");
  return bytes > 0 && bytes <= mostCacheBytes ? bytes : null;
}
