import { realpathSync } from "node:fs";
import { join } from "node:path";
import { PinbenchError } from "../errors.js";
import type { NumaChoice } from "../settings/choices.js";
import { MiB } from "../settings/units.js";
import { allowedCpus, parseCpuList, usableCpuCount } from "./cpus.js";
import { listNames, readCount, readText } from "./files.js";

/** The online NUMA nodes, ascending; [0] if the kernel has no NUMA. */
export function numaNodes(root = "/"): number[] {
  const online = parseCpuList(readText(root, "sys/devices/system/node/online") ?? "") ?? [];
  if (online.length > 0) return online;
  const nodes = listNames(root, "sys/devices/system/node").flatMap((name) => {
    const match = /^node(\d+)$/.exec(name);
    return match === null ? [] : [Number(match[1])];
  });
  return nodes.length > 0 ? nodes.sort((a, b) => a - b) : [0];
}

/** The CPUs of a node (empty for a node with memory only); null for a missing node. */
export function cpusOfNode(node: number, root = "/"): number[] | null {
  const list = readText(root, `sys/devices/system/node/node${node}/cpulist`);
  return list === null ? null : parseCpuList(list);
}

/**
 * A PCI device's name in sysfs; null for an invalid id. The id may be the driver's or NVML's: "0000:06:00.0",
 * "00000000:06:00.0", in upper or lower case.
 */
export function sysfsPciName(pciBusId: string): string | null {
  const match = /^([0-9a-f]{4,8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$/i.exec(pciBusId);
  if (match === null) return null;
  // sysfs writes a domain with at least four digits.
  const domain = Number.parseInt(match[1]!, 16).toString(16).padStart(4, "0");
  return `${domain}:${match[2]!.toLowerCase()}`;
}

/**
 * The node that a PCI device is attached to; null if the kernel does not know it (it reports -1, as in most virtual
 * machines), or the device is missing.
 */
export function numaNodeOfPciDevice(pciBusId: string, root = "/"): number | null {
  const name = sysfsPciName(pciBusId);
  if (name === null) return null;
  return readCount(root, `sys/bus/pci/devices/${name}/numa_node`);
}

/** Assumed cache size if the kernel reports none: large, so that a cold pool is surely cold. */
const assumedBytes = 64 * MiB;

interface LastLevelCache {
  /** Combined size of all instances that the CPUs can use. */
  bytes: number;
  /** Source of the figure: "sysfs index3 x2" is two caches described as index3, "assumed" is a guess. */
  source: string;
}

interface CacheInstance {
  level: number;
  bytes: number;
  /** The directory with its description: "index3". */
  index: string;
  cpus: readonly number[];
}

/** The highest-level caches that `cpus` use, each counted once. Virtual machines may misreport them. */
export function lastLevelCache(cpus: readonly number[], root = "/"): LastLevelCache {
  const largestOfEach: CacheInstance[] = [];
  const covered = new Set<number>();
  for (const cpu of cpus) {
    // A CPU that shares this cache was read already; skipping saves thousands of files on large machines.
    if (covered.has(cpu)) continue;
    const [largest] = dataCachesOf(cpu, root).sort((a, b) => b.level - a.level);
    if (largest === undefined) continue;
    largestOfEach.push(largest);
    for (const sharer of largest.cpus) covered.add(sharer);
  }
  const level = Math.max(0, ...largestOfEach.map((cache) => cache.level));
  // If only level 1 is listed, the kernel does not know the larger caches.
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

/** 1 TiB, above any cache, so that sums stay exact. */
const mostCacheBytes = 2 ** 40;

/** Parses sizes like "36608K", in units of 1024 bytes. */
function parseCacheSize(text: string): number | null {
  const match = /^(\d+)([KMG]?)$/.exec(text);
  const bytes = Number(match?.[1] ?? 0) * 1024 ** ["", "K", "M", "G"].indexOf(match?.[2] ?? "");
  return bytes > 0 && bytes <= mostCacheBytes ? bytes : null;
}

/**
 * The path from the host bridge to a PCI device, by names in sysfs: ["pci0000:00", "0000:00:01.0", "0000:01:00.0",
 * "0000:02:00.0"] is a host bridge, a root port, and a switch's upstream and downstream port. Null if sysfs hides it:
 * the device is missing, or it is directly below the host bridge, as in virtual machines whatever the hardware is.
 */
export function upstreamPath(pciBusId: string, root = "/"): string[] | null {
  const name = sysfsPciName(pciBusId);
  if (name === null) return null;
  try {
    const parts = realpathSync(join(root, "sys/bus/pci/devices", name)).split("/");
    const bridges = parts.slice(
      parts.findIndex((part) => /^pci[0-9a-f]{4,}:[0-9a-f]{2}$/.test(part)),
      -1,
    );
    return bridges.length > 1 && bridges[0]!.startsWith("pci") ? bridges : null;
  } catch {
    return null;
  }
}

export interface Placement {
  /** Null if the system chooses: with a single node, or if the device's node is unknown. */
  numaNode: number | null;
  cpus: number[];
  /** Number of its CPUs that the cgroup's quota allows to run at once. */
  threads: number;
}

/**
 * The placement for a device. `local`, and `all` for copies without a node, means the device's own node if it is known
 * and this process may use its CPUs; otherwise no restriction. Throws a usage error for a missing node, or one whose
 * CPUs this process may not use.
 */
export function choosePlacement(pciBusId: string, choice: NumaChoice, root = "/"): Placement {
  const allowed = allowedCpus(root);
  const threads = usableCpuCount(root);
  const nodes = numaNodes(root);
  const isOpen = choice === "local" || choice === "all";
  const ofDevice = isOpen && nodes.length > 1 ? numaNodeOfPciDevice(pciBusId, root) : null;
  const numaNode = isOpen ? ofDevice : choice;
  const own = new Set(numaNode === null ? [] : cpusOfNode(numaNode, root));
  const cpus = allowed.filter((cpu) => own.has(cpu));
  if (cpus.length > 0) return { numaNode, cpus, threads: Math.min(threads, cpus.length) };
  if (isOpen) return { numaNode: null, cpus: allowed, threads };
  throw new PinbenchError(
    "usage",
    nodes.includes(choice)
      ? `NUMA node ${choice} has no CPU that this process may use.`
      : `This machine has no NUMA node ${choice}.`,
    { hint: `The nodes are ${nodes.join(", ")}; --numa local takes the GPU's own.` },
  );
}
