import { PinbenchError } from "../../src/errors.js";
import type { PlanDevice, PlanFacts } from "../../src/plan/facts.js";
import { type Plan, plan } from "../../src/plan/plan.js";
import type { Requested } from "../../src/settings/setting.js";
import { fillRunSettings } from "../../src/settings/settings.js";
import type { runSettings } from "../../src/settings/table.js";

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
  canRegisterHostMemory: true,
  readsPageable: false,
  peers: [],
};

/** A machine on which everything fits, unless a test says otherwise. */
export function facts(changes: Partial<PlanFacts> = {}): PlanFacts {
  return {
    devices: [h200],
    cpusUsable: 16,
    lastLevelCacheBytes: 64 * MiB,
    memoryAvailableBytes: 128 * GiB,
    emulated: false,
    kernelsOff: null,
    batchCopiesOff: null,
    numaPlacements: [],
    ...changes,
  };
}

/** The plan of these settings, the others at their defaults, on a machine that differs in `changes`. */
export function planOf(values: Requested<typeof runSettings> = {}, changes: Partial<PlanFacts> = {}): Plan {
  return plan(fillRunSettings({ origin: "caller", values }), facts(changes));
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
