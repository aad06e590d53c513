import { PinbenchError } from "../../src/errors.js";
import { type Plan, plan } from "../../src/plan/plan.js";
import type { PlanDevice, PlanFacts, PlanRequest } from "../../src/plan/request.js";

export const KiB = 1024;
export const MiB = 1024 * KiB;
export const GiB = 1024 * MiB;

export const h200: PlanDevice = {
  ordinal: 0,
  name: "NVIDIA H200",
  totalMemoryBytes: 140 * GiB,
  freeMemoryBytes: 139 * GiB,
  l2CacheBytes: 50 * MiB,
  canMapHostMemory: true,
};

/** A machine on which everything fits, unless a test says otherwise. */
export function facts(changes: Partial<PlanFacts> = {}): PlanFacts {
  return {
    devices: [h200],
    selectedDevices: [0],
    cpusUsable: 16,
    lastLevelCacheBytes: 64 * MiB,
    memoryAvailableBytes: 128 * GiB,
    emulated: false,
    kernelsOff: null,
    eventTimerOff: null,
    ...changes,
  };
}

export function planOf(request: PlanRequest = {}, changes: Partial<PlanFacts> = {}): Plan {
  return plan(request, facts(changes));
}

/** The PinbenchError that `action` throws; anything else fails the test. */
export function errorOf(action: () => unknown): PinbenchError {
  try {
    action();
  } catch (error) {
    if (error instanceof PinbenchError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}
