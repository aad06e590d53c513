import type { LoadOptions } from "../native/contract.js";
import type { PlannedCell } from "./cells.js";
import type { PlanDevice, PlanFacts } from "./facts.js";
import { threadCount } from "./geometry.js";

/** What a load of the host's memory takes. */
export interface HostLoad extends Pick<LoadOptions, "hostBytes"> {
  /** Threads of the copies beside it, whose CPUs it leaves to them. */
  copyThreads: number;
}

/** What a load may take of the machine, and the number of threads of one on the host's memory. */
export type LoadLimits = Pick<LoadOptions, "hostThreads" | "hostBytes">;

/** No cache may hold what a load works on. */
const cachesPerHostLoad = 4;

/** What a load of the device's memory holds, in sizes of its last cache, and at least (cuda/beside/device_load.cpp). */
const cachesPerDeviceLoad = 8;
const leastDeviceLoadBytes = 64 * 1024 * 1024;

/** Of the largest cell beside it, so that all cells have the same load. */
export function hostLoad(cells: readonly PlannedCell[], facts: PlanFacts): HostLoad {
  const copying = cells.filter(({ beside }) => beside === "host").map(threadCount);
  return {
    copyThreads: Math.max(0, ...copying),
    hostBytes: cachesPerHostLoad * facts.lastLevelCacheBytes,
  };
}

/** What loads of a device's session take, whose threads may run on so many CPUs: those that the copies leave, one at least. */
export function loadLimits({ copyThreads, hostBytes }: HostLoad, threads: number): LoadLimits {
  return { hostThreads: Math.max(1, threads - copyThreads), hostBytes };
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
