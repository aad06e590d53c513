import type { Direction, HostMemory } from "./choices.js";
import { KiB, MiB } from "./units.js";

export const presetNames = ["quick", "default", "fleet"] as const;
export type PresetName = (typeof presetNames)[number];

export interface Preset {
  sizesBytes: readonly number[];
  memory: readonly HostMemory[];
  /** Limited to the usable CPUs. */
  workers: readonly number[];
  directions: readonly Direction[];
  budgetNs: number;
  /** All devices by default; absent for the first only. */
  devices?: "all";
  /** With several devices: memory kinds whose throughput is also measured on all at once by default. */
  togetherMemory?: readonly HostMemory[];
  /** Adds latency for these sizes and kinds of memory, unless modes or memory were requested. */
  latency?: { sizesBytes: readonly number[]; memory: readonly HostMemory[] };
}

export const presets: Readonly<Record<PresetName, Preset>> = {
  quick: {
    // bandwidthTest's default size, so that figures are comparable.
    sizesBytes: [32 * MiB],
    memory: ["pageable", "pinned"],
    workers: [1],
    directions: ["h2d", "d2h"],
    // Takes about a second, including context and memory.
    budgetNs: 250e6,
  },
  default: {
    // Larger copies are as fast: on an H200, 256 MiB differ by 0.5 % pinned, otherwise within their intervals.
    sizesBytes: [64 * KiB, MiB, 16 * MiB, 64 * MiB],
    memory: ["pageable", "staged", "pinned"],
    workers: [1, 2, 4],
    directions: ["h2d", "d2h"],
    budgetNs: 8e9,
  },
  /**
   * Finds a slow GPU or node among others of its kind. A node with 8 GPUs takes well below the 60 s that schedulers
   * allow for a health check (HealthCheckProgram of Slurm).
   */
  fleet: {
    sizesBytes: [64 * MiB],
    memory: ["pageable", "pinned"],
    workers: [1],
    directions: ["h2d", "d2h"],
    budgetNs: 10e9,
    devices: "all",
    togetherMemory: ["pinned"],
    latency: { sizesBytes: [4 * KiB], memory: ["pinned"] },
  },
};
