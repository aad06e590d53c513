import { groupBy } from "../draw/report.js";
import { counted, listed } from "../draw/words.js";
import type { DeviceRecord } from "../results/schema.js";

/** The innermost part that several devices share on their way to the CPU and its memory. */
interface SharedUpstream {
  what: "PCIe switch" | "PCIe root port" | "PCIe host bridge" | "NUMA node";
  /**
   * Its name in sysfs: the address of a switch's upstream port, of a root port or of a host bridge, or a node's number.
   */
  name: string;
}

/** The known facts on a device's place in the machine. */
export type DevicePlace = Pick<DeviceRecord, "numaNode" | "upstreamPath">;

/** The host bridge comes first, then its root port; everything below belongs to switches. */
const whatByDepth = ["PCIe host bridge", "PCIe root port"] as const;

/** Null if they are on several NUMA nodes and share no bridge, "unknown" if sysfs hides some of them. */
export function sharedUpstream(devices: readonly DevicePlace[]): SharedUpstream | "unknown" | null {
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

interface PlacedDevice extends DevicePlace {
  ordinal: number;
}

type DevicePair = readonly [PlacedDevice, PlacedDevice];

const nothing = "no PCIe bridge and no NUMA node";

/** A virtual machine shows a tree of its own, in which devices may be in other places than in the real one. */
function qualified(text: string, virtualization: string | null): string {
  return virtualization === null ? text : `${text} (as this virtual machine shows it)`;
}

export function namedDevices(ordinals: readonly number[]): string {
  return `${counted(ordinals.length, "device").replace(/^\d+ /, "")} ${listed(ordinals.map(String))}`;
}

function pairsOf(devices: readonly PlacedDevice[]): DevicePair[] {
  return devices.flatMap((one, i) => devices.slice(i + 1).map((other): DevicePair => [one, other]));
}

/** Whether sysfs shows what at least one of the pairs shares. */
function isKnown(pairs: readonly DevicePair[]): boolean {
  return pairs.some((pair) => sharedUpstream(pair) !== "unknown");
}

/**
 * Pairs by the innermost part that they share: its name, such as "PCIe switch 0000:01:00.0", and the ordinals of all of
 * these devices; the fewest devices first. Pairs that share nothing, or are unknown, are left out.
 */
function byShared(pairs: readonly DevicePair[]): { name: string; ordinals: number[] }[] {
  const named = pairs.flatMap((pair) => {
    const shared = sharedUpstream(pair);
    return shared === null || shared === "unknown" ? [] : [{ name: `${shared.what} ${shared.name}`, pair }];
  });
  return [...groupBy(named, ({ name }) => name)]
    .map(([name, members]) => {
      const ordinals = new Set(members.flatMap(({ pair }) => pair.map(({ ordinal }) => ordinal)));
      return { name, ordinals: [...ordinals].sort((a, b) => a - b) };
    })
    .sort((a, b) => a.ordinals.length - b.ordinals.length || a.ordinals[0]! - b.ordinals[0]!);
}

/**
 * What several devices share, as a list: "devices 0 and 1: PCIe switch 0000:01:00.0; devices 0, 1, 2 and 3: NUMA node
 * 0". `virtualization` is that of the host.
 */
export function describeSharedUpstreams(
  devices: readonly PlacedDevice[],
  virtualization: string | null,
): string {
  const pairs = pairsOf(devices);
  if (!isKnown(pairs))
    return "not known: sysfs shows neither a bridge above several of them nor their NUMA nodes";
  const groups = byShared(pairs).map(({ name, ordinals }) => `${namedDevices(ordinals)}: ${name}`);
  return qualified(groups.length === 0 ? nothing : groups.join("; "), virtualization);
}

/**
 * What some devices share with each other and with the rest, as a sentence: "devices 0 and 1 share PCIe switch
 * 0000:01:00.0, and devices 1 and 2 share NUMA node 0".
 */
export function sharingSentence(
  some: readonly PlacedDevice[],
  all: readonly PlacedDevice[],
  virtualization: string | null,
): string {
  const ordinals = some.map(({ ordinal }) => ordinal);
  const pairs = pairsOf(all).filter((pair) => pair.some(({ ordinal }) => ordinals.includes(ordinal)));
  const isAll = some.length === all.length;
  const subject = `${namedDevices(ordinals)} ${some.length === 1 ? "shares" : "share"}`;
  const others = isAll ? "" : " with the others";
  if (!isKnown(pairs)) return `sysfs does not show what ${subject}${others}`;
  const clauses = byShared(pairs).map((group) => `${namedDevices(group.ordinals)} share ${group.name}`);
  return qualified(
    clauses.length === 0 ? `${subject} ${nothing}${others}` : clauses.join(", and "),
    virtualization,
  );
}
