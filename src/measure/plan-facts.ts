import { usableCpuCount } from "../host/cpus.js";
import type { Backend } from "../native/backend.js";
import type { BuildInfo } from "../native/contract.js";
import type { PlanFacts } from "../plan/request.js";
import type { HostRecord } from "../results/schema.js";

/**
 * What the plan is made from: known without opening a device, so that a dry run touches none. Whether a driver
 * really loads the kernels shows when its context is open; cells that it cannot serve are skipped then.
 */
export function planFacts(
  backend: Backend,
  build: BuildInfo,
  host: HostRecord,
  selectedDevices: readonly number[] | "all",
): PlanFacts {
  const { devices, emulated } = backend.facts;
  return {
    devices: devices.map((device) => ({ ...device, freeMemoryBytes: null })),
    selectedDevices: selectedDevices === "all" ? devices.map(({ ordinal }) => ordinal) : selectedDevices,
    cpusUsable: usableCpuCount(),
    lastLevelCacheBytes: host.lastLevelCacheBytes,
    memoryAvailableBytes: host.memoryAvailableBytes,
    emulated,
    kernelsOff: kernelsOff(backend, build),
    eventTimerOff: eventTimerOff(backend),
  };
}

export function kernelsOff({ facts }: Backend, build: BuildInfo): string | null {
  if (facts.emulated || build.kernels) return null;
  return "this build has no kernels: nvcc was not found when it was compiled";
}

export function eventTimerOff({ facts }: Backend): string | null {
  return facts.missingSymbols.includes("cuStreamWaitValue32_v2")
    ? "the driver lacks cuStreamWaitValue32_v2, which holds a stream until all is enqueued"
    : null;
}
