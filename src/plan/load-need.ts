import type { LoadOptions } from "../native/contract.js";
import type { PlannedCell } from "./cells.js";
import type { PlanDevice, PlanFacts } from "./facts.js";
import { threadCount } from "./geometry.js";

/** Threads that load the host's memory beside copies, and the bytes that they copy to and fro. */
export type HostLoad = Pick<LoadOptions, "hostThreads" | "hostBytes">;

/** No cache may hold what a load works on. */
const cachesPerHostLoad = 4;

/** What a load of the device's memory holds, in sizes of its last cache, and at least (cuda/beside/device_load.cpp). */
const cachesPerDeviceLoad = 8;
const leastDeviceLoadBytes = 64 * 1024 * 1024;

/** The CPUs that the copies leave, one at least. */
export function hostLoad(cells: readonly PlannedCell[], facts: PlanFacts): HostLoad {
  const copying = cells.filter(({ beside }) => beside === "host").map(threadCount);
  const hostThreads = Math.max(1, facts.cpusUsable - Math.max(0, ...copying));
  return { hostThreads, hostBytes: cachesPerHostLoad * facts.lastLevelCacheBytes };
}

/** Memory that the loads of these cells take beside the cells' own; of each device. */
export function loadNeed(
  cells: readonly PlannedCell[],
  devices: readonly PlanDevice[],
  facts: PlanFacts,
): { hostBytes: number; deviceBytes: number } {
  const takes = (load: PlannedCell["beside"]) => cells.some(({ beside }) => beside === load);
  const cacheBytes = Math.max(0, ...devices.map(({ l2CacheBytes }) => l2CacheBytes));
  return {
    hostBytes: takes("host") ? hostLoad(cells, facts).hostBytes : 0,
    deviceBytes: takes("memory") ? Math.max(cachesPerDeviceLoad * cacheBytes, leastDeviceLoadBytes) : 0,
  };
}
