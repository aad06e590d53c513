import type { DeviceFacts } from "../native/contract.js";
import type { Cache, Direction, Memory, Mode, Timer } from "../settings/choices.js";
import type { PresetName } from "../settings/presets.js";
import type { Cell } from "./cell.js";

/**
 * What to measure, as asked. An axis that is not given comes from the preset, or has its default: mode throughput,
 * timer wall, cache cold.
 */
export interface PlanRequest {
  /** "default" where null or absent. */
  preset?: PresetName | null | undefined;
  sizesBytes?: readonly number[] | null | undefined;
  workers?: readonly number[] | null | undefined;
  memory?: readonly Memory[] | null | undefined;
  directions?: readonly Direction[] | null | undefined;
  modes?: readonly Mode[] | null | undefined;
  timers?: readonly Timer[] | null | undefined;
  caches?: readonly Cache[] | null | undefined;
  /** Exactly these, in the plan's own order; axes and selected devices then have no say. */
  cells?: readonly Cell[] | null | undefined;
  /** Relative half-width of the median's interval at which a cell has converged; 0.01 where absent. */
  precision?: number | null | undefined;
  /** Measuring time of the whole sweep; the preset's where absent (8 s, but for quick). */
  budgetNs?: number | null | undefined;
  /** A fixed count instead of precision and budget. */
  samplesPerCell?: number | null | undefined;
  staging?: { chunkBytes?: number | null | undefined; slots?: number | null | undefined } | null | undefined;
  verify?: boolean | null | undefined;
  seed?: number | null | undefined;
  /** Most bytes to pin; a quarter of the available memory where absent. */
  maxPinnedBytes?: number | null | undefined;
}

/** What the plan needs to know of a device. */
export type PlanDevice = Pick<
  DeviceFacts,
  "ordinal" | "name" | "totalMemoryBytes" | "l2CacheBytes" | "canMapHostMemory"
> & {
  /** Null before its session is open; the total then stands in. */
  freeMemoryBytes: number | null;
};

/** What the plan needs to know of the machine. */
export interface PlanFacts {
  /** Every device of the driver. */
  devices: readonly PlanDevice[];
  /** Ordinals of those to measure, unless the request lists its cells. */
  selectedDevices: readonly number[];
  /** CPUs of the affinity mask within the cgroup's quota. */
  cpusUsable: number;
  lastLevelCacheBytes: number;
  /** Within the cgroup's limit. */
  memoryAvailableBytes: number;
  /** Device memory is host memory then, and counts as such. */
  emulated: boolean;
  /** Why mapped cells cannot be measured; null where they can. */
  kernelsOff: string | null;
  /** Why cells with the event timer cannot be measured; null where they can. */
  eventTimerOff: string | null;
}
