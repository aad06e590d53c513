import { PinbenchError } from "../errors.js";
import type { NumaPlacement } from "../host/numa-nodes.js";
import type { DeviceFacts } from "../native/device-contract.js";

export type PlanDevice = Pick<
  DeviceFacts,
  | "ordinal"
  | "name"
  | "totalMemoryBytes"
  | "l2CacheBytes"
  | "canMapHostMemory"
  | "canRegisterHostMemory"
  | "readsPageable"
  | "peers"
> & {
  /** Null until its session is open; the total is used then. */
  freeMemoryBytes: number | null;
};

export interface PlanFacts {
  devices: readonly PlanDevice[];
  /** CPUs of the affinity mask, limited by the cgroup's quota. */
  cpusUsable: number;
  lastLevelCacheBytes: number;
  /** Within the cgroup's limit. */
  memoryAvailableBytes: number;
  /** Device memory is then host memory, and is counted as such. */
  emulated: boolean;
  kernelsOff: string | null;
  /** Why blocks cannot be copied with one driver call; null if they can. */
  batchCopiesOff: string | null;
  /** CPUs and memory on the NUMA nodes; empty if there is nothing to compare. */
  numaPlacements: readonly NumaPlacement[];
}

/** Devices with these ordinals, in the driver's order. Throws "unavailable" for a missing one, or without any. */
export function selectDevices<Device extends Pick<PlanDevice, "ordinal">>(
  { devices }: { devices: readonly Device[] },
  ordinals: readonly number[] | "all",
): Device[] {
  const present = devices.map((device) => device.ordinal);
  const requested = ordinals === "all" ? present : ordinals;
  const missing = requested.find((ordinal) => !present.includes(ordinal));
  if (missing !== undefined) {
    const there = present.length === 0 ? "no device" : `only ${present.join(", ")}`;
    throw new PinbenchError("unavailable", `There is no device ${missing}: the driver reports ${there}.`, {
      hint: "`pinbench devices` lists them.",
    });
  }
  const selected = devices.filter((device) => requested.includes(device.ordinal));
  if (selected.length === 0) throw new PinbenchError("unavailable", "There is no device to measure.");
  return selected;
}

export function beyondCpus(workers: readonly number[], cpusUsable: number): number[] {
  return workers.filter((count) => count > Math.max(1, cpusUsable));
}

export function turnsNote(tooMany: readonly number[], cpusUsable: number): string {
  return `${tooMany.join(", ")} workers: ${describeCpus(cpusUsable)}, so they take turns and their figures suffer.`;
}

export function describeCpus(cpusUsable: number): string {
  return cpusUsable === 1 ? "only 1 CPU is usable" : `only ${cpusUsable} CPUs are usable`;
}
