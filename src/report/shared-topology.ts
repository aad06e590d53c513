import { listed } from "../draw/words.js";
import type { DeviceRecord } from "../results/schema.js";
import { groupBy } from "../stats/group-by.js";
import { ascending } from "../stats/order-statistics.js";

interface SharedUpstream {
  what: "PCIe switch" | "PCIe root port" | "PCIe host bridge" | "NUMA node";
  /**
   * Its name in sysfs: the address of a switch's upstream port, of a root port or of a host bridge, or a node's number.
   */
  name: string;
}

export type DeviceTopology = Pick<DeviceRecord, "numaNode" | "upstreamPath">;

/** By depth: the host bridge, then its root port; everything below is a switch. */
const whatByDepth = ["PCIe host bridge", "PCIe root port"] as const;

/** Null if the devices are on several NUMA nodes and share no bridge; "unknown" if sysfs hides some. */
export function sharedUpstream(devices: readonly DeviceTopology[]): SharedUpstream | "unknown" | null {
  const paths = devices.flatMap(({ upstreamPath }) => (upstreamPath === null ? [] : [upstreamPath]));
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

interface PlacedDevice extends DeviceTopology {
  ordinal: number;
}

/**
 * What several devices share, fewest devices first: "devices 0 and 1: PCIe switch 0000:01:00.0; devices 0, 1, 2 and 3:
 * NUMA node 0". In a virtual machine (`virtualization`) the tree may differ from the real one.
 */
export function describeSharedUpstreams(
  devices: readonly PlacedDevice[],
  virtualization: string | null,
): string {
  const pairs = devices.flatMap((one, i) =>
    devices.slice(i + 1).map((other) => ({
      ordinals: [one.ordinal, other.ordinal],
      shared: sharedUpstream([one, other]),
    })),
  );
  if (pairs.every(({ shared }) => shared === "unknown"))
    return "not known: sysfs shows neither a bridge above several of them nor their NUMA nodes";
  const named = pairs.flatMap(({ ordinals, shared }) =>
    shared === null || shared === "unknown" ? [] : [{ name: `${shared.what} ${shared.name}`, ordinals }],
  );
  const groups = [...groupBy(named, ({ name }) => name)]
    .map(([name, members]) => ({ name, ordinals: ascending(members.flatMap(({ ordinals }) => ordinals)) }))
    .sort((a, b) => a.ordinals.length - b.ordinals.length || a.ordinals[0]! - b.ordinals[0]!)
    .map(({ name, ordinals }) => `devices ${listed(ordinals.map(String))}: ${name}`);
  const text = groups.length === 0 ? "no PCIe bridge and no NUMA node" : groups.join("; ");
  return virtualization === null ? text : `${text} (as this virtual machine shows it)`;
}
