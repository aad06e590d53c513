import type { DeviceRecord } from "./schema.js";

/** What several devices have in common on their way to the CPU and its memory, the innermost that they all share. */
export interface SharedUpstream {
  what: "PCIe switch" | "PCIe root port" | "PCIe host bridge" | "NUMA node";
  /** As sysfs names it: the address of a switch's upstream port, of a root port or of a host bridge, or a node's number. */
  name: string;
}

/** What is known of a device's place in the machine. */
export type DevicePlace = Pick<DeviceRecord, "numaNode" | "upstreamPath">;

/** The host bridge comes first, then its root port; all that is below belongs to switches. */
const whatByDepth = ["PCIe host bridge", "PCIe root port"] as const;

/** Null where they are on several NUMA nodes and share no bridge, "unknown" where sysfs does not tell of all of them. */
export function sharedUpstream(devices: readonly DevicePlace[]): SharedUpstream | "unknown" | null {
  const paths = devices.flatMap(({ upstreamPath }) => (upstreamPath == null ? [] : [upstreamPath]));
  const nodes = devices.flatMap(({ numaNode }) => numaNode ?? []);
  if (paths.length === devices.length) {
    const [first, ...others] = paths as [string[], ...string[][]];
    const end = first.findIndex((part, depth) => others.some((path) => path[depth] !== part));
    const shared = end < 0 ? first : first.slice(0, end);
    const name = shared.at(-1);
    if (name !== undefined) return { what: whatByDepth[shared.length - 1] ?? "PCIe switch", name };
  }
  if (nodes.length < devices.length) return "unknown";
  return nodes.every((node) => node === nodes[0]) ? { what: "NUMA node", name: String(nodes[0]) } : null;
}
