import { PinbenchError } from "../errors.js";
import type { LoadOptions } from "../native/contract.js";
import { formatSizeRounded } from "../settings/units.js";
import type { PlanDevice, PlanFacts } from "./facts.js";
import { type MemoryNeed, type PlannedCell, threadCount } from "./geometry.js";

/** Share of the available memory to pin. Other programs cannot use pinned pages, so the default leaves most of it. */
const pinnedShareOfAvailable = 1 / 4;

/** The rest is for the process itself and for others' growth. */
const hostShareOfAvailable = 0.8;
const deviceShareOfFree = 0.9;

/** Why a plan does not fit, as a clause ("it would pin …"), and what to do about it. */
export interface Excess {
  reason: string;
  hint: string;
}

/**
 * The first limit that the plan exceeds, or null. If `maxPinnedBytes` is null, it is a quarter of the available memory.
 */
export function findExcess(
  plan: { devices: readonly PlanDevice[]; need: MemoryNeed },
  facts: PlanFacts,
  maxPinnedBytes: number | null,
): Excess | null {
  return (
    pinnedExcess(plan.need, facts, maxPinnedBytes) ??
    hostExcess(plan.need, facts) ??
    deviceExcess(plan.need, plan.devices)
  );
}

/** Most bytes to pin: the requested limit, or a quarter of the available memory. */
export function pinnedLimitBytes(
  facts: Pick<PlanFacts, "memoryAvailableBytes">,
  requested: number | null,
): number {
  return requested ?? Math.floor(facts.memoryAvailableBytes * pinnedShareOfAvailable);
}

function pinnedExcess(need: MemoryNeed, facts: PlanFacts, requested: number | null): Excess | null {
  const limitBytes = pinnedLimitBytes(facts, requested);
  if (need.pinnedBytes <= limitBytes) return null;
  const origin =
    requested === null
      ? `a quarter of the ${formatSizeRounded(facts.memoryAvailableBytes, Math.floor)} of memory available`
      : "--max-pinned";
  return {
    reason: `it would pin ${formatSizeRounded(need.pinnedBytes, Math.ceil)} of host memory, above the limit of ${formatSizeRounded(limitBytes, Math.floor)} (${origin})`,
    hint: "Ask for smaller sizes, fewer workers or --cache warm, or raise the limit with --max-pinned.",
  };
}

function hostExcess(need: MemoryNeed, facts: PlanFacts): Excess | null {
  const limitBytes = facts.memoryAvailableBytes * hostShareOfAvailable;
  const neededBytes = need.hostBytes + (facts.emulated ? need.devicesAtOnce * need.deviceBytes : 0);
  if (neededBytes <= limitBytes) return null;
  const what = facts.emulated ? "host memory (the emulated device's included)" : "host memory";
  return {
    reason: `it would take ${formatSizeRounded(neededBytes, Math.ceil)} of ${what}, above 80 % of the ${formatSizeRounded(facts.memoryAvailableBytes, Math.floor)} available`,
    hint: "Ask for smaller sizes, fewer workers, fewer memory kinds or --cache warm.",
  };
}

function deviceExcess(need: MemoryNeed, devices: readonly PlanDevice[]): Excess | null {
  for (const device of devices) {
    const freeBytes = device.freeMemoryBytes ?? device.totalMemoryBytes;
    if (need.deviceBytes <= freeBytes * deviceShareOfFree) continue;
    return {
      reason: `it would take ${formatSizeRounded(need.deviceBytes, Math.ceil)} of the memory of ${nameOf(device)}, above 90 % of its ${formatSizeRounded(freeBytes, Math.floor)}`,
      hint: "Ask for smaller sizes, fewer workers or --cache warm.",
    };
  }
  return null;
}

function nameOf(device: PlanDevice): string {
  return `device ${device.ordinal} (${device.name})`;
}

export function doesNotFit({ reason, hint }: Excess): PinbenchError {
  return new PinbenchError("limit", `The plan does not fit this machine: ${reason}.`, { hint });
}

export interface HostLoad extends Pick<LoadOptions, "hostBytes"> {
  copyThreads: number;
}

export type LoadLimits = Pick<LoadOptions, "hostThreads" | "hostBytes">;

/** A load's memory must exceed all caches: this many times the last-level cache. */
const cachesPerHostLoad = 4;

/** Device memory of a load: this many L2 caches, at least 64 MiB (cuda/beside/device_load.cpp). */
const cachesPerDeviceLoad = 8;
const leastDeviceLoadBytes = 64 * 1024 * 1024;

/** Sized for the cell with most threads, so that all cells have the same load. */
export function hostLoad(cells: readonly PlannedCell[], facts: PlanFacts): HostLoad {
  const copying = cells.filter(({ beside }) => beside === "host").map(threadCount);
  return {
    copyThreads: Math.max(0, ...copying),
    hostBytes: cachesPerHostLoad * facts.lastLevelCacheBytes,
  };
}

/** Load resources of a session with this many CPUs: threads on the CPUs that do not copy, at least one. */
export function loadLimits({ copyThreads, hostBytes }: HostLoad, threads: number): LoadLimits {
  return { hostThreads: Math.max(1, threads - copyThreads), hostBytes };
}

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
