import { parseCpuList } from "./cpu-list.js";
import { listNames, readText } from "./files.js";

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
 * The node that a PCI device is attached to; null where the kernel does not know (it says -1, as in most virtual
 * machines) or there is no such device. The id may be the driver's or NVML's: "0000:06:00.0", "00000000:06:00.0",
 * in either case.
 */
export function numaNodeOfPciDevice(pciBusId: string, root = "/"): number | null {
  const match = /^([0-9a-f]{4,8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$/i.exec(pciBusId);
  if (match === null) return null;
  // sysfs writes a domain with four digits, or as many more as it takes.
  const domain = Number.parseInt(match[1]!, 16).toString(16).padStart(4, "0");
  const name = `${domain}:${match[2]!.toLowerCase()}`;
  const text = readText(root, `sys/bus/pci/devices/${name}/numa_node`);
  return text !== null && /^\d+$/.test(text) ? Number(text) : null;
}
