import { realpathSync } from "node:fs";
import { join } from "node:path";
import { sysfsPciName } from "./topology.js";

/**
 * What lies between a PCI device and the CPU, as sysfs names it, from the host bridge down: ["pci0000:00",
 * "0000:00:01.0", "0000:01:00.0", "0000:02:00.0"] is a host bridge, its root port, and the upstream and the downstream
 * port of a switch. Null where sysfs does not tell: the device is not there, or stands right below the host bridge, where
 * a virtual machine puts it whatever the real machine is like.
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
