import { type DevicePlace, sharedUpstream } from "../results/shared-upstream.js";
import { groupBy } from "./report-parts.js";
import { counted, listed } from "./wording.js";

/** A device and its place in the machine. */
export interface PlacedDevice extends DevicePlace {
  ordinal: number;
}

const nothing = "no PCIe bridge and no NUMA node";

/** A virtual machine shows a tree of its own, in which devices may stand elsewhere than in the real one. */
function qualified(text: string, virtualization: string | null): string {
  return virtualization === null ? text : `${text} (as this virtual machine shows it)`;
}

/** "device 1", "devices 0 and 1". */
export function namedDevices(ordinals: readonly number[]): string {
  return `${counted(ordinals.length, "device").replace(/^\d+ /, "")} ${listed(ordinals.map(String))}`;
}

/** Pairs by the innermost that they share, such as "PCIe switch 0000:01:00.0"; pairs that share nothing are left out. */
function byShared(pairs: readonly (readonly [PlacedDevice, PlacedDevice])[]): Map<string, number[]> {
  const named = pairs.flatMap(([one, other]) => {
    const shared = sharedUpstream([one, other]);
    return shared === null || shared === "unknown"
      ? []
      : [{ name: `${shared.what} ${shared.name}`, ordinals: [one.ordinal, other.ordinal] }];
  });
  const groups = [...groupBy(named, ({ name }) => name)].map(([name, members]): [string, number[]] => {
    const ordinals = members.flatMap((member) => member.ordinals);
    return [name, [...new Set(ordinals)].sort((a, b) => a - b)];
  });
  return new Map(groups);
}

function isKnown(pairs: readonly (readonly [PlacedDevice, PlacedDevice])[]): boolean {
  return pairs.some(([one, other]) => sharedUpstream([one, other]) !== "unknown");
}

/**
 * What several devices share, as a list: "devices 0 and 1: PCIe switch 0000:01:00.0; devices 0, 1, 2 and 3: NUMA node 0".
 * `virtualization` is the host's.
 */
export function describeSharing(devices: readonly PlacedDevice[], virtualization: string | null): string {
  const pairs = devices.flatMap((one, i) => devices.slice(i + 1).map((other) => [one, other] as const));
  if (!isKnown(pairs))
    return "not known, as sysfs shows neither bridges above the devices nor their NUMA nodes";
  const groups = [...byShared(pairs)].sort(([, a], [, b]) => a.length - b.length || a[0]! - b[0]!);
  const text = groups.map(([name, ordinals]) => `${namedDevices(ordinals)}: ${name}`).join("; ");
  return qualified(text === "" ? nothing : text, virtualization);
}

/**
 * What some of the devices share with each other, or a single one with the others, as a clause: "device 1 shares PCIe
 * switch 0000:01:00.0 with device 0".
 */
export function sharingClause(
  some: readonly PlacedDevice[],
  all: readonly PlacedDevice[],
  virtualization: string | null,
): string {
  const named = namedDevices(some.map(({ ordinal }) => ordinal));
  if (some.length > 1) {
    const shared = sharedUpstream(some);
    if (shared === "unknown") return `sysfs does not tell what ${named} share`;
    const what = shared === null ? nothing : `${shared.what} ${shared.name}`;
    return qualified(`${named} share ${what}`, virtualization);
  }
  const [one] = some as [PlacedDevice];
  const pairs = all.filter(({ ordinal }) => ordinal !== one.ordinal).map((other) => [one, other] as const);
  if (!isKnown(pairs)) return `sysfs does not tell what ${named} shares with the others`;
  const clauses = [...byShared(pairs)]
    .sort(([, a], [, b]) => a.length - b.length)
    .map(
      ([name, ordinals]) => `${name} with ${namedDevices(ordinals.filter((each) => each !== one.ordinal))}`,
    );
  const what = clauses.length === 0 ? `${nothing} with another one` : listed(clauses);
  return qualified(`${named} shares ${what}`, virtualization);
}
